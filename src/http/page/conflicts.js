// Which queens attack each other, along which line.

/** @typedef {{ line: 'C' | 'D' | 'U', a: [number, number], b: [number, number], k: number }} Conflict */

/**
 * All pairs, by rows.
 * @param {number[]} b
 * @returns {Conflict[]}
 */
export function conflicts(b) {
  /** @type {Conflict[]} */
  const found = [];
  b.forEach((column, i) => {
    for (let k = i + 1; column && k < b.length; k += 1) {
      const other = b[k];
      if (!other) continue;
      /** @type {[number, number]} */ const one = [i + 1, column];
      /** @type {[number, number]} */ const two = [k + 1, other];
      if (other === column) found.push({ line: 'C', a: one, b: two, k: column });
      if (i + column === k + other) found.push({ line: 'D', a: one, b: two, k: i + 1 + column });
      if (i - column === k - other) found.push({ line: 'U', a: one, b: two, k: i + 1 - column });
    }
  });
  return found;
}
