// B, C, D and U as strips with their indices, the cells that the event is about lit.

import { h, s, set, write } from './dom.js';
import { t } from './i18n.js';

/** @typedef {import('./state.js').State} State */
/** @typedef {'B' | 'C' | 'D' | 'U'} Name */

const W = 20;
const H = 20;
const TOP = 13;

/**
 * @param {Name} name
 * @param {number} first the first cell's index
 * @param {number} length
 * @param {string} label
 */
function strip(name, first, length, label) {
  // Where there are many cells, only some of the indices have room.
  const every = length <= 24 ? 1 : 4;
  const cells = Array.from({ length }, (_, at) => {
    const x = at * W;
    const index = s('text', { class: 'index', x: x + W / 2, y: TOP - 4 }, first + at);
    const value = s('text', { class: 'value', x: x + W / 2, y: TOP + H / 2 });
    const cell = s('g', { class: 'cell', 'data-k': first + at }, s('rect', { x: x + 1, y: TOP + 1, width: W - 2, height: H - 2, rx: 3 }), index, value);
    set(cell, 'data-named', at % every === 0 || at === length - 1);
    return { cell, value, shown: -1 };
  });
  const svg = s('svg', { class: `strip ${name}`, viewBox: `0 0 ${length * W} ${TOP + H + 1}`, role: 'img', 'aria-label': label }, ...cells.map(({ cell }) => cell));
  svg.style.width = `${length * 1.6}rem`;
  svg.style.minWidth = `${length * 11}px`; // smaller it could not be read
  return {
    element: h('figure', { class: `array array-${name}` }, h('figcaption', {}, label), svg),
    /** @param {number[]} values @param {number | null} lit the index that the event is about */
    show(values, lit) {
      values.forEach((value, at) => {
        const one = cells[at];
        if (!one) return;
        if (one.shown !== value) {
          one.shown = value;
          write(one.value, value);
          set(one.cell, 'data-taken', name === 'B' ? value > 0 : value === 0);
        }
        set(one.cell, 'data-lit', first + at === lit);
      });
    },
  };
}

/** @param {number} n */
export function arrays(n) {
  const b = strip('B', 1, n, t('watch.arrays.B'));
  const c = strip('C', 1, n, t('watch.arrays.C', { n }));
  const d = strip('D', 2, 2 * n - 1, t('watch.arrays.D', { last: 2 * n }));
  const u = strip('U', 1 - n, 2 * n - 1, t('watch.arrays.U', { first: 1 - n, last: n - 1 }));
  const all = h('div', { class: 'arrays scroll', tabindex: 0, role: 'region', 'aria-label': t('watch.arrays') }, b.element, c.element, d.element, u.element);
  return {
    element: all,
    /** @param {State} state */
    show(state) {
      const event = state.event;
      const square = event && (event.op === 'safe' || event.op === 'record' || event.op === 'move_off') ? event : null;
      b.show(state.b, square && square.op !== 'safe' ? square.row : null);
      c.show(state.c, square && square.column);
      d.show(state.d, square && square.row + square.column);
      u.show(state.u, square && square.row - square.column);
    },
  };
}
