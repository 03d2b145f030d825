// What is taken out of the page: text to the clipboard, a board as a file.

import { CROWN } from './board.js';
import { s } from './dom.js';

/**
 * Copies text; `false` where the browser does not let it. Over plain http from another machine browsers have no
 * clipboard interface, but still the older command.
 * @param {string} text
 */
export async function copy(text) {
  if (window.isSecureContext && navigator.clipboard) {
    try {
      await navigator.clipboard.writeText(text);
      return true;
    } catch {
      // not allowed: the older way may be
    }
  }
  const focused = document.activeElement;
  const area = document.createElement('textarea');
  area.value = text;
  area.readOnly = true;
  area.className = 'visually-hidden';
  document.body.append(area);
  area.select();
  let copied = false;
  try {
    copied = document.execCommand('copy');
  } catch {
    // told by the answer
  }
  area.remove();
  if (focused instanceof HTMLElement || focused instanceof SVGElement) focused.focus();
  return copied;
}

/**
 * Offers a board as an SVG file that stands alone.
 * @param {number[]} b
 * @param {[number, number][]} blocked
 */
export function download(b, blocked) {
  const url = URL.createObjectURL(new Blob([picture(b, blocked)], { type: 'image/svg+xml' }));
  const link = document.createElement('a');
  link.href = url;
  link.download = `queens-${b.length}.svg`;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

/**
 * @param {number[]} b
 * @param {[number, number][]} blocked
 */
export function picture(b, blocked) {
  const n = b.length;
  const at = (/** @type {number} */ row, /** @type {number} */ column) => [(column - 1) * 10, (n - row) * 10];
  const squares = [];
  for (let row = 1; row <= n; row += 1) {
    for (let column = 1; column <= n; column += 1) {
      const [x, y] = at(row, column);
      squares.push(s('rect', { x, y, width: 10, height: 10, fill: (row + column) % 2 ? '#f4eddd' : '#dccfae' }));
    }
  }
  const crosses = blocked.map(([row, column]) => {
    const [x = 0, y = 0] = at(row, column);
    return s('path', { d: `M${x + 2.5} ${y + 2.5}l5 5m0-5l-5 5`, stroke: '#566073', 'stroke-width': 1.1 });
  });
  const queens = b.flatMap((column, i) => {
    const [x, y] = at(i + 1, column);
    return column ? [s('path', { d: CROWN, transform: `translate(${x} ${y})`, fill: '#1c2433' })] : [];
  });
  const title = s('title', {}, `B = ${b.join(', ')}; row 1 at the bottom`);
  const svg = s('svg', { viewBox: `0 0 ${n * 10} ${n * 10}`, width: n * 40, height: n * 40 }, title, ...squares, ...crosses, ...queens);
  return new XMLSerializer().serializeToString(svg);
}
