// The search's state, from its events: what the lecture's routine has in its arrays and on its stack.

/** @typedef {'try' | 'safe' | 'record' | 'move_off' | 'solution' | 'return'} Op */
/** @typedef {'C' | 'D' | 'U'} Line */
/** @typedef {{ i: number, op: Op, row: number, column: number, ok?: boolean, refused_by?: Line[], b?: number[] }} TraceEvent */
/** @typedef {{ s: number, j: number, q: number }} Frame */
/** @typedef {{ b: number[], c: number[], d: number[], u: number[], steps: Steps, solutions: number }} Before */
/** @typedef {{ try: number, safe: number, record: number, move_off: number }} Steps */

/** @param {number} length @param {number} value */
const list = (length, value) => /** @type {number[]} */ (Array(length).fill(value));

export class State {
  /**
   * Before the first event.
   * @param {number} n
   * @param {boolean} all
   */
  constructor(n, all) {
    this.n = n;
    this.all = all;
    this.b = list(n, 0);
    this.c = list(n, 1);
    this.d = list(2 * n - 1, 1);
    this.u = list(2 * n - 1, 1);
    /** @type {Frame[]} */
    this.stack = [];
    /** @type {Steps} */
    this.steps = { try: 0, safe: 0, record: 0, move_off: 0 };
    this.solutions = 0;
    /** The event that led here. @type {TraceEvent | null} */
    this.event = null;
  }

  /**
   * As the service tells it, before an event; the stack follows from the board and that event.
   * @param {number} n
   * @param {boolean} all
   * @param {Before} before
   * @param {TraceEvent} first
   */
  static before(n, all, before, first) {
    const state = new State(n, all);
    Object.assign(state, { b: before.b, c: before.c, d: before.d, u: before.u, solutions: before.solutions });
    state.steps = { ...before.steps };
    const row = first.op === 'solution' ? n : first.op === 'try' ? first.row - 1 : first.row;
    state.stack = before.b.slice(0, row).map((j, i) => ({ s: i + 1, j, q: 0 }));
    const top = state.stack[row - 1];
    if (top) {
      if (first.op === 'safe') top.j = first.column - 1;
      if (first.op === 'record' || first.op === 'move_off') top.j = first.column;
      if (first.op === 'return' && !first.ok) top.j = n;
      if (first.op === 'return' && first.ok) top.q = 1;
    }
    return state;
  }

  copy() {
    const state = new State(this.n, this.all);
    Object.assign(state, { b: this.b.slice(), c: this.c.slice(), d: this.d.slice(), u: this.u.slice() });
    state.stack = this.stack.map((frame) => ({ ...frame }));
    state.steps = { ...this.steps };
    state.solutions = this.solutions;
    state.event = this.event;
    return state;
  }

  /** @param {TraceEvent} event */
  apply(event) {
    const { op, row, column } = event;
    this.event = event;
    if (op === 'try' || op === 'safe' || op === 'record' || op === 'move_off') this.steps[op] += 1;
    const top = this.stack[this.stack.length - 1];
    switch (op) {
      case 'try':
        this.stack.push({ s: row, j: 0, q: 0 });
        break;
      case 'safe':
        if (top) top.j = column;
        break;
      case 'record':
        this.#put(row, column, column, 0);
        break;
      case 'move_off':
        this.#put(row, column, 0, 1);
        break;
      case 'solution':
        this.solutions += 1;
        if (top && !this.all) top.q = 1;
        break;
      case 'return': {
        this.stack.pop();
        const below = this.stack[this.stack.length - 1];
        if (below && event.ok) below.q = 1;
        break;
      }
    }
  }

  /** @param {number} row @param {number} column @param {number} queen @param {number} free */
  #put(row, column, queen, free) {
    this.b[row - 1] = queen;
    this.c[column - 1] = free;
    this.d[row + column - 2] = free;
    this.u[row - column + this.n - 1] = free;
  }
}
