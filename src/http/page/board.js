// A board as SVG: row 1 at the bottom, rows and columns labelled, queens, and lines over it.

import { s, set } from './dom.js';

export const CROWN = 'M1.4 2.9 3.2 5.6 5 1.9l1.8 3.7 1.8-2.7-.9 4.4H2.3zM2.3 7.8h5.4v.9H2.3z';
const CELL = 10;

/** @typedef {'C' | 'D' | 'U'} Line */

export class Board {
  /** @type {number[]} */
  #shown = [];

  /**
   * @param {number} n
   * @param {string} label what a screen reader calls it
   */
  constructor(n, label) {
    this.n = n;
    const size = n * CELL;
    // On large boards only some of the labels have room, and need to be larger.
    const scale = Math.max(1, n / 14);
    const edge = 6 * scale;
    const every = n > 22 ? 4 : n > 14 ? 2 : 1;
    this.squares = s('g', { class: 'squares' });
    this.lines = s('g', { class: 'lines', 'aria-hidden': 'true' });
    this.queens = s('g', { class: 'queens', 'aria-hidden': 'true' });
    this.marks = s('g', { class: 'marks', 'aria-hidden': 'true' });
    const labels = s('g', { class: 'labels', 'aria-hidden': 'true', 'font-size': 3.4 * scale });
    for (let row = 1; row <= n; row += 1) {
      if (row === 1 || row % every === 0) {
        labels.append(s('text', { x: -edge / 2, y: this.y(row) + CELL / 2 }, row));
        labels.append(s('text', { x: this.x(row) + CELL / 2, y: size + edge / 2 }, row));
      }
      for (let column = 1; column <= n; column += 1) {
        const dark = (row + column) % 2 === 0;
        this.squares.append(
          s('rect', { x: this.x(column), y: this.y(row), width: CELL, height: CELL, class: dark ? 'dark' : 'light' }),
        );
      }
    }
    /** @type {SVGGElement[]} */
    this.crowns = [];
    for (let row = 1; row <= n; row += 1) {
      const crown = s('g', { class: 'queen' }, s('path', { d: CROWN }));
      this.crowns.push(crown);
      this.queens.append(crown);
      set(crown, 'visibility', 'hidden');
    }
    const frame = s('rect', { class: 'frame', x: 0, y: 0, width: size, height: size });
    this.element = s(
      'svg',
      { class: 'board', viewBox: `${-edge} -1 ${size + edge + 1} ${size + edge + 1}`, role: 'img', 'aria-label': label },
      this.squares, frame, this.lines, this.queens, this.marks, labels,
    );
  }

  /** @param {number} column */
  x(column) {
    return (column - 1) * CELL;
  }

  /** @param {number} row */
  y(row) {
    return (this.n - row) * CELL;
  }

  /**
   * Shows the queens of B.
   * @param {number[]} b
   */
  show(b) {
    b.forEach((column, i) => {
      const crown = this.crowns[i];
      if (!crown || this.#shown[i] === column) return;
      this.#shown[i] = column;
      set(crown, 'visibility', column ? null : 'hidden');
      set(crown, 'data-square', column ? `${i + 1},${column}` : null);
      if (column) set(crown, 'transform', `translate(${this.x(column)} ${this.y(i + 1)})`);
    });
  }

  clear() {
    this.lines.replaceChildren();
    this.marks.replaceChildren();
  }

  /**
   * Draws the whole line of a kind through a square.
   * @param {Line} line
   * @param {number} row
   * @param {number} column
   * @param {boolean} taken
   */
  line(line, row, column, taken) {
    const [[r1, c1], [r2, c2]] = ends(this.n, line, row, column);
    this.lines.append(this.#segment(line, r1, c1, r2, c2, taken));
  }

  /**
   * Draws the line between two squares.
   * @param {Line} line
   * @param {[number, number]} from
   * @param {[number, number]} to
   */
  pair(line, from, to) {
    this.lines.append(this.#segment(line, from[0], from[1], to[0], to[1], true));
  }

  /**
   * @param {Line} line
   * @param {number} r1
   * @param {number} c1
   * @param {number} r2
   * @param {number} c2
   * @param {boolean} taken
   */
  #segment(line, r1, c1, r2, c2, taken) {
    const [x1, y1, x2, y2] = [this.x(c1), this.y(r1), this.x(c2), this.y(r2)].map((at) => at + CELL / 2);
    return s('line', { class: `line ${line} ${taken ? 'taken' : 'free'}`, x1, y1, x2, y2 });
  }

  /**
   * Marks a square.
   * @param {'ok' | 'refused' | 'blocked' | 'at'} kind
   * @param {number} row
   * @param {number} column
   */
  mark(kind, row, column) {
    const [x, y] = [this.x(column), this.y(row)];
    if (kind === 'refused' || kind === 'blocked') {
      const d = `M${x + 2.5} ${y + 2.5}l5 5m0-5l-5 5`;
      this.marks.append(s('path', { class: kind, d }));
    } else this.marks.append(s('rect', { class: kind, x: x + 0.6, y: y + 0.6, width: CELL - 1.2, height: CELL - 1.2, rx: 1 }));
  }

  /**
   * Tints a row.
   * @param {number} row
   */
  row(row) {
    this.lines.append(s('rect', { class: 'row', x: 0, y: this.y(row), width: this.n * CELL, height: CELL }));
  }
}

/**
 * The first and the last square of a line.
 * @param {number} n
 * @param {Line} line
 * @param {number} row
 * @param {number} column
 * @returns {[[number, number], [number, number]]}
 */
function ends(n, line, row, column) {
  if (line === 'C') return [[1, column], [n, column]];
  // Down: row + column is the same everywhere. Up: row - column is.
  const back = line === 'D' ? Math.min(row - 1, n - column) : Math.min(row, column) - 1;
  const on = line === 'D' ? Math.min(n - row, column - 1) : n - Math.max(row, column);
  const step = line === 'D' ? -1 : 1;
  return [[row - back, column - step * back], [row + on, column + step * on]];
}

/**
 * A small board without labels.
 * @param {number[]} b
 */
export function thumbnail(b) {
  const n = b.length;
  const squares = [];
  for (let row = 0; row < n; row += 1) for (let column = row % 2; column < n; column += 2) squares.push(`M${column} ${n - 1 - row}h1v1h-1z`);
  return s(
    'svg',
    { class: 'thumbnail', viewBox: `0 0 ${n} ${n}`, 'aria-hidden': 'true' },
    s('rect', { class: 'light', width: n, height: n }),
    s('path', { class: 'dark', d: squares.join('') }),
    ...b.map((column, i) => (column ? s('circle', { cx: column - 0.5, cy: n - i - 0.5, r: 0.36 }) : null)),
  );
}
