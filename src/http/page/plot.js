// The growth of the counts, on a logarithmic scale.

import { s } from './dom.js';
import { t } from './i18n.js';

/** @typedef {{ n: number, count: number, error: number | null }} Point `error` is relative; null for a published count */

const [WIDTH, HEIGHT, LEFT, BOTTOM, TOP] = [900, 380, 58, 40, 18];

/** @param {Point[]} points */
export function plot(points) {
  const last = Math.max(...points.map(({ n }) => n));
  const top = Math.ceil(Math.log10(Math.max(...points.map(({ count }) => count), 10)));
  const x = (/** @type {number} */ n) => LEFT + ((n - 1) / (last - 1)) * (WIDTH - LEFT - 20);
  const y = (/** @type {number} */ count) => HEIGHT - BOTTOM - (Math.log10(Math.max(count, 1)) / top) * (HEIGHT - BOTTOM - TOP);
  const grid = [];
  for (let power = 0; power <= top; power += 5) {
    const at = y(10 ** power);
    grid.push(s('path', { class: 'grid', d: `M${LEFT} ${at}H${WIDTH - 20}` }), s('text', { x: LEFT - 10, y: at + 4, 'text-anchor': 'end' }, power === 0 ? '1' : `1e${power}`));
  }
  for (let n = 1; n <= last; n += n === 1 ? 3 : 4) grid.push(s('text', { x: x(n), y: HEIGHT - BOTTOM + 20, 'text-anchor': 'middle' }, n));
  grid.push(s('text', { x: WIDTH - 20, y: HEIGHT - 6, 'text-anchor': 'end' }, 'n'));
  const sure = points.filter(({ count, error }) => error === null && count > 0);
  const dots = sure.map(({ n, count }) => s('circle', { cx: x(n), cy: y(count), r: 3 }));
  const guesses = points.filter(({ error }) => error !== null).flatMap(({ n, count, error }) => {
    const spread = Math.min(0.99, 2 * (error ?? 0));
    return [
      s('line', { class: 'estimate', x1: x(n), x2: x(n), y1: y(count * (1 - spread)), y2: y(count * (1 + spread)) }),
      s('circle', { class: 'estimate', cx: x(n), cy: y(count), r: 4 }),
    ];
  });
  return s('svg', { class: 'plot', viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: 'img', 'aria-label': t('counts.plot.about') },
    ...grid,
    s('path', { class: 'published', d: sure.map(({ n, count }, i) => `${i ? 'L' : 'M'}${x(n)} ${y(count)}`).join('') }),
    ...dots, ...guesses,
    s('text', { class: 'published', x: x(12), y: y(1e9) }, t('counts.plot.published')),
    s('text', { class: 'estimate', x: x(last), y: y(1e12), 'text-anchor': 'end' }, guesses.length ? t('counts.plot.estimate') : ''));
}
