// The lecture's routine with the line at hand lit, and the stack of its open calls.

import { h, set, write } from './dom.js';
import { t } from './i18n.js';

/** @typedef {import('./state.js').State} State */

/** The line of the routine that each kind of event happens in. */
export const LINES = { try: 0, safe: 4, record: 5, solution: 6, return: 9, move_off: 8 };

/** @param {boolean} all */
export function code(all) {
  const put = t('watch.output');
  const lines = [
    'Try(s):',
    '  j ← 0, q ← 0',
    '  while q = 0 and j < n:',
    '    j ← j + 1',
    '    if Safe(s, j):',
    '      Record(s, j)',
    all ? `      if s = n: ${put}` : `      if s = n: q ← 1, ${put}`,
    '      else: q ← Try(s + 1)',
    '      if q = 0: Move-Off(s, j)',
    '  return q',
  ].map((text) => h('li', {}, h('code', {}, text)));
  const element = h('ol', { class: 'code scroll', tabindex: 0, 'aria-label': t('watch.code') }, ...lines);
  return {
    element,
    /** @param {State} state */
    show(state) {
      const lit = state.event ? LINES[state.event.op] : -1;
      lines.forEach((line, i) => set(line, 'aria-current', i === lit ? 'step' : null));
    },
  };
}

/** The innermost call comes first. @param {number} n */
export function stack(n) {
  const rows = Array.from({ length: n }, (_, i) => {
    const [j, q] = [h('td'), h('td')];
    return { j, q, element: h('tr', { hidden: true }, h('th', { scope: 'row' }, `Try(${i + 1})`), j, q) };
  });
  const none = h('p', { class: 'hint' }, t('watch.stack.none'));
  const head = h('tr', {}, h('th', { scope: 'col' }, t('watch.stack.call')), h('th', { scope: 'col' }, 'j'), h('th', { scope: 'col' }, 'q'));
  const table = h('table', { class: 'stack' }, h('thead', {}, head), h('tbody', {}, ...rows.map((row) => row.element).reverse()));
  const element = h('div', { class: 'scroll', tabindex: 0, role: 'region', 'aria-label': t('watch.stack') }, table, none);
  return {
    element,
    /** @param {State} state */
    show(state) {
      const depth = state.stack.length;
      none.hidden = depth > 0;
      table.hidden = depth === 0;
      rows.forEach((row, i) => {
        const frame = state.stack[i];
        row.element.hidden = !frame;
        if (!frame) return;
        write(row.j, frame.j);
        write(row.q, frame.q);
        set(row.element, 'aria-current', i === depth - 1 ? 'true' : null);
      });
    },
  };
}
