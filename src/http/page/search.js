// One search as the service tells it: events in blocks, loaded when they are needed, and the state after any of them.

import { ask } from './api.js';
import { State } from './state.js';

/** @typedef {import('./state.js').TraceEvent} TraceEvent */
/** @typedef {import('./state.js').Op} Op */
/** @typedef {{ from: number, rows: [number, number], solutions: number }} Bucket */
/** @typedef {{ events: number, buckets: Bucket[] }} Profile */
/** @typedef {{ before: State, events: TraceEvent[] }} Block */

export const BLOCK = 512;
const KEPT = 40;
const BUCKETS = 300;

export class Search {
  /** @type {Map<number, Promise<Block>>} */
  #asked = new Map();
  /** @type {Map<number, Block>} */
  #blocks = new Map();
  #end = new AbortController();

  /**
   * @param {number} n
   * @param {boolean} all
   */
  constructor(n, all) {
    this.n = n;
    this.all = all;
  }

  /** Gives up all questions under way. */
  close() {
    this.#end.abort();
  }

  /** @param {string} what */
  #ask(what) {
    return ask(`trace/${this.n}${what}${this.all ? '&all=true' : ''}`, { signal: this.#end.signal });
  }

  /** @returns {Promise<Profile>} */
  profile() {
    return this.#ask(`/profile?buckets=${BUCKETS}`);
  }

  /**
   * The calls and returns, if there are no more than `most`.
   * @param {number} most
   * @returns {Promise<TraceEvent[] | null>}
   */
  async calls(most) {
    const answer = await this.#ask(`?op=try,return&limit=${2 * most}`);
    return answer.next === null ? answer.events : null;
  }

  /**
   * The first event of a kind from a number on; null if there is none.
   * @param {Op} op
   * @param {number} from
   * @returns {Promise<number | null>}
   */
  async next(op, from) {
    const answer = await this.#ask(`?op=${op}&from=${from}&limit=1`);
    return answer.events[0]?.i ?? null;
  }

  /**
   * The last event of a kind before a number; null if there is none. Solutions can be far back, so these are looked for
   * by the profile.
   * @param {Op} op
   * @param {number} before
   * @param {Profile} profile
   * @returns {Promise<number | null>}
   */
  async previous(op, before, profile) {
    if (op === 'solution') {
      for (const bucket of profile.buckets.filter((one) => one.from < before && one.solutions > 0).reverse()) {
        const answer = await this.#ask(`?op=solution&from=${bucket.from}&limit=${bucket.solutions}`);
        const found = answer.events.filter((/** @type {TraceEvent} */ event) => event.i < before).pop();
        if (found) return found.i;
      }
      return null;
    }
    for (let block = Math.floor((before - 1) / BLOCK); block >= 0; block -= 1) {
      const { events } = await this.#block(block);
      const found = events.filter((event) => event.op === op && event.i < before).pop();
      if (found) return found.i;
    }
    return null;
  }

  /**
   * The state right after event i; -1 is before the first.
   * @param {number} i
   * @returns {Promise<State>}
   */
  async at(i) {
    if (i < 0) return new State(this.n, this.all);
    const block = await this.#block(Math.floor(i / BLOCK));
    return replayed(block, i % BLOCK);
  }

  /**
   * The same, where it is at hand.
   * @param {number} i
   * @returns {State | null}
   */
  now(i) {
    if (i < 0) return new State(this.n, this.all);
    const block = this.#blocks.get(Math.floor(i / BLOCK));
    return block ? replayed(block, i % BLOCK) : null;
  }

  /**
   * Event i, where it is at hand.
   * @param {number} i
   * @returns {TraceEvent | null}
   */
  event(i) {
    return this.#blocks.get(Math.floor(i / BLOCK))?.events[i % BLOCK] ?? null;
  }

  /**
   * Loads the block of event i.
   * @param {number} i
   * @returns {Promise<unknown>}
   */
  load(i) {
    return this.#block(Math.floor(i / BLOCK));
  }

  /**
   * @param {number} k
   * @returns {Promise<Block>}
   */
  #block(k) {
    const asked = this.#asked.get(k);
    if (asked) return asked;
    const block = this.#loaded(k);
    this.#asked.set(k, block);
    block.then(
      (loaded) => {
        this.#blocks.set(k, loaded);
        for (const old of this.#asked.keys()) {
          if (this.#asked.size <= KEPT) break;
          this.#asked.delete(old);
          this.#blocks.delete(old);
        }
      },
      () => this.#asked.delete(k), // to be asked for again
    );
    return block;
  }

  /**
   * @param {number} k
   * @returns {Promise<Block>}
   */
  async #loaded(k) {
    const events = this.#ask(`?from=${k * BLOCK}&limit=${BLOCK}`);
    const previous = this.#blocks.get(k - 1);
    if (k === 0) return { before: new State(this.n, this.all), events: (await events).events };
    if (previous) return { before: replayed(previous, BLOCK - 1), events: (await events).events };
    const state = this.#ask(`?from=${k * BLOCK}&limit=1&arrays=true`);
    const [window, first] = await Promise.all([events, state]);
    // Past the end there is nothing, and no state that anyone asks for.
    if (!first.events[0]) return { before: new State(this.n, this.all), events: [] };
    return { before: State.before(this.n, this.all, first.before, first.events[0]), events: window.events };
  }
}

/**
 * @param {Block} block
 * @param {number} place
 */
function replayed(block, place) {
  const state = block.before.copy();
  for (let i = 0; i <= place; i += 1) {
    const event = block.events[i];
    if (event) state.apply(event);
  }
  return state;
}
