// Small controls that several views have.

import { h, s } from './dom.js';

/** @typedef {keyof typeof ICONS} Icon */

const ICONS = {
  play: 'M4 2.5v11l9-5.5z',
  pause: 'M4 2.5h3v11H4zM9 2.5h3v11H9z',
  step: 'M4 3v10l6-5zM11 3h2v10h-2z',
  back: 'M12 3v10L6 8zM3 3h2v10H3z',
  end: 'M2 3v10l5-5zM7.5 3v10l5-5zM13 3h1.6v10H13z',
  start: 'M14 3v10L9 8zM8.5 3v10l-5-5zM1.4 3H3v10H1.4z',
  size: 'M1 12.5 4.8 3h1.6l3.8 9.5H8.5l-.9-2.4H3.6l-.9 2.4zM4.1 8.7h3L5.6 4.8zM12 2.5h1.4v2.1h2.1V6h-2.1v2.1H12V6H9.9V4.6H12z',
  next: 'M5.5 3 11 8l-5.5 5-1.2-1.3L8.4 8 4.3 4.3z',
  previous: 'M10.5 3 5 8l5.5 5 1.2-1.3L7.6 8l4.1-3.7z',
};

/** @param {Icon} name */
export function icon(name) {
  return s('svg', { class: 'icon', viewBox: '0 0 16 16', 'aria-hidden': 'true' }, s('path', { d: ICONS[name] }));
}

/**
 * A button with an icon alone.
 * @param {Icon} name
 * @param {string} label
 * @param {() => void} click
 */
export function iconButton(name, label, click) {
  return h('button', { type: 'button', class: 'icon-button', 'aria-label': label, title: label, click }, icon(name));
}

/**
 * A labelled choice of sizes.
 * @param {string} label
 * @param {number} max
 * @param {number} n
 * @param {(n: number) => void} change
 */
export function sizes(label, max, n, change) {
  const options = Array.from({ length: max }, (_, i) => h('option', { value: i + 1, selected: i + 1 === n }, i + 1));
  const select = h('select', { class: 'n', change: () => change(Number(select.value)) }, ...options);
  return h('label', { class: 'field' }, h('span', {}, label), select);
}

/**
 * A labelled choice.
 * @param {string} label
 * @param {[string, string, boolean?][]} choices value, text, whether it cannot be chosen
 * @param {string} value
 * @param {(value: string) => void} change
 */
export function choice(label, choices, value, change) {
  const options = choices.map(([one, text, disabled]) => h('option', { value: one, selected: one === value, disabled: Boolean(disabled) }, text));
  const select = h('select', { change: () => change(select.value) }, ...options);
  return h('label', { class: 'field' }, h('span', {}, label), select);
}
