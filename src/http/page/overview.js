// How deep the search was over its whole length, and where in it one is.

import { s, set } from './dom.js';

/** @typedef {import('./search.js').Profile} Profile */

const WIDTH = 1000;
const HEIGHT = 100;

/**
 * @param {number} n
 * @param {Profile} profile
 * @param {string} label
 * @param {(i: number) => void} go
 */
export function overview(n, profile, label, go) {
  const { events, buckets } = profile;
  const x = (/** @type {number} */ i) => (i / events) * WIDTH;
  const unit = HEIGHT / n;
  /** @type {string[]} */ const deep = [];
  /** @type {string[]} */ const solutions = [];
  buckets.forEach((bucket, k) => {
    const [from, to] = [x(bucket.from), x(buckets[k + 1]?.from ?? events)];
    const [low, high] = bucket.rows;
    deep.push(`M${round(from)} ${round(HEIGHT - high * unit)}H${round(to)}V${round(HEIGHT - (low - 1) * unit)}H${round(from)}z`);
    if (bucket.solutions) solutions.push(`M${round((from + to) / 2)} 0V9`);
  });
  const cursor = s('line', { class: 'cursor', y1: 0, y2: HEIGHT });
  const past = s('rect', { class: 'past', x: 0, y: 0, height: HEIGHT });
  const element = s(
    'svg',
    {
      class: 'overview', viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: 'none', role: 'img', 'aria-label': label,
      /** @param {MouseEvent} event */
      click(event) {
        const box = element.getBoundingClientRect();
        const part = (event.clientX - box.left) / box.width;
        go(Math.min(events - 1, Math.max(0, Math.floor(part * events))));
      },
    },
    past,
    s('path', { class: 'deep', d: deep.join('') }),
    s('path', { class: 'solutions', d: solutions.join('') }),
    cursor,
  );
  return {
    element,
    /** @param {number} i */
    show(i) {
      const at = round(x(i + 1));
      set(cursor, 'x1', at);
      set(cursor, 'x2', at);
      set(past, 'width', at);
    },
  };
}

/** @param {number} value */
function round(value) {
  return Math.round(value * 100) / 100;
}
