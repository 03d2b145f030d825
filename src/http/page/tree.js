// The tree of calls, as it grows.

import { s, set } from './dom.js';

/** @typedef {import('./state.js').TraceEvent} TraceEvent */
/** @typedef {{ begin: number, end: number, ok: boolean, depth: number, parent: Call | null, x: number, children: Call[], element: SVGElement | null }} Call */

/** So many calls are drawn at most. */
export const MOST = 520;
const GAP = 8;
const LEVEL = 22;

/**
 * @param {TraceEvent[]} events the calls and returns in order
 * @returns {Call[]}
 */
function calls(events) {
  /** @type {Call[]} */
  const all = [];
  /** @type {Call | null} */
  let open = null;
  for (const { i, op, row, ok } of events) {
    if (op === 'try') {
      /** @type {Call} */
      const call = { begin: i, end: Infinity, ok: false, depth: row - 1, parent: open, x: 0, children: [], element: null };
      open?.children.push(call);
      all.push(call);
      open = call;
    } else if (open) {
      open.end = i;
      open.ok = Boolean(ok);
      open = open.parent;
    }
  }
  // Leaves side by side, and each call over the middle of those that it made.
  let leaves = 0;
  for (const call of all.slice().reverse()) {
    const [first, last] = [call.children[0], call.children[call.children.length - 1]];
    call.x = first && last ? (first.x + last.x) / 2 : -(leaves += 1);
  }
  for (const call of all) call.x = (call.x + leaves) * GAP + GAP / 2;
  return all;
}

/**
 * @param {TraceEvent[]} events
 * @param {string} label
 * @param {(i: number) => void} go
 */
export function tree(events, label, go) {
  const all = calls(events);
  const width = Math.max(...all.map((call) => call.x)) + GAP / 2;
  const depth = Math.max(...all.map((call) => call.depth)) + 1;
  const y = (/** @type {Call} */ call) => call.depth * LEVEL + LEVEL / 2;
  const pad = Math.max(0, 120 - width) / 2;
  const element = s('svg', { class: 'tree', viewBox: `${-pad} 0 ${width + 2 * pad} ${depth * LEVEL}`, role: 'img', 'aria-label': label, preserveAspectRatio: 'xMidYMin' });
  for (const call of all) {
    const up = call.parent;
    const edge = up && s('path', { d: `M${up.x} ${y(up)}C${up.x} ${y(up) + LEVEL / 2} ${call.x} ${y(call) - LEVEL / 2} ${call.x} ${y(call)}` });
    const dot = s('circle', { cx: call.x, cy: y(call), r: 3 });
    call.element = s('g', { class: 'call', 'data-begin': call.begin, click: () => go(call.begin) }, edge, dot);
    element.append(call.element);
  }
  return {
    element,
    /** @param {number} i */
    show(i) {
      for (const call of all) {
        const state = call.begin > i ? 'ahead' : call.end > i || call.ok ? 'path' : 'dead';
        if (call.element) set(call.element, 'data-state', state);
      }
    },
  };
}
