// The address says what is seen, so that it can be sent to someone, reloaded and gone back to.
//
//   #/watch/N/I  #/watch/N/all/I   right after event I; `start` is before the first
//   #/try/B      #/try/B/SQUARES   a board as columns with commas between, and blocked squares as row.column
//   #/solutions/N                  #/solutions/N/fundamental
//   #/counts

/** @typedef {{ view: 'watch', n: number, all: boolean, i: number }} WatchPlace */
/** @typedef {{ view: 'try', b: number[], blocked: [number, number][] }} TryPlace */
/** @typedef {{ view: 'solutions', n: number, fundamental: boolean }} SolutionsPlace */
/** @typedef {{ view: 'counts' }} CountsPlace */
/** @typedef {WatchPlace | TryPlace | SolutionsPlace | CountsPlace} Place */
/** @typedef {{ key: import('./i18n.js').Key, values?: Record<string, string | number> }} Complaint */

export const WATCH_MAX = 29;
export const ALL_MAX = 12;
export const TRY_MAX = 30;
export const LIST_MAX = 32;
const N = 8;

/**
 * The place that an address names, or the nearest there is and what is wrong with the address.
 * @param {string} hash
 * @returns {{ place: Place, complaint: Complaint | null }}
 */
export function parse(hash) {
  const parts = hash.replace(/^#?\/?/, '').split('/').map(decoded);
  /** @type {Complaint | null} */
  let complaint = null;
  /** @param {string} text @param {number} max @returns {number} */
  const size = (text, max) => {
    const n = whole(text, 1, max);
    if (n !== null) return n;
    complaint = { key: 'bad.n', values: { text: text.slice(0, 20), max } };
    return /^[1-9]\d*$/.test(text) ? max : text === '0' ? 1 : N;
  };
  switch (parts[0]) {
    case '':
      return { place: { view: 'watch', n: N, all: false, i: -1 }, complaint };
    case 'watch': {
      const all = parts[2] === 'all';
      const n = size(parts[1] ?? String(N), all ? ALL_MAX : WATCH_MAX);
      const text = parts[all ? 3 : 2] ?? 'start';
      let i = text === 'start' ? -1 : whole(text, 0, Number.MAX_SAFE_INTEGER);
      if (i === null) {
        complaint = { key: 'bad.event', values: { text: text.slice(0, 20) } };
        i = /^\d+$/.test(text) ? Number.MAX_SAFE_INTEGER : -1;
      }
      return { place: { view: 'watch', n, all, i }, complaint };
    }
    case 'try': {
      const columns = (parts[1] ?? Array(N).fill(0).join(',')).split(',');
      const wrong = columns.length > TRY_MAX ? columns[TRY_MAX] : columns.find((text) => whole(text, 0, columns.length) === null);
      if (wrong !== undefined) complaint = { key: 'bad.board', values: { text: wrong.slice(0, 20), max: TRY_MAX } };
      const n = Math.min(columns.length, TRY_MAX);
      const b = columns.slice(0, n).map((text) => whole(text, 0, n) ?? 0);
      /** @type {[number, number][]} */
      const blocked = [];
      for (const square of (parts[2] ?? '').split(',').filter(Boolean)) {
        const [row, column] = square.split('.').map((text) => whole(text, 1, n));
        if (row && column && square.split('.').length === 2) blocked.push([row, column]);
        else complaint = { key: 'bad.square', values: { text: square.slice(0, 20) } };
      }
      return { place: { view: 'try', b, blocked }, complaint };
    }
    case 'solutions': {
      const n = size(parts[1] ?? String(N), LIST_MAX);
      return { place: { view: 'solutions', n, fundamental: parts[2] === 'fundamental' }, complaint };
    }
    case 'counts':
      return { place: { view: 'counts' }, complaint };
    default:
      complaint = { key: 'bad.view', values: { text: (parts[0] ?? '').slice(0, 20) } };
      return { place: { view: 'watch', n: N, all: false, i: -1 }, complaint };
  }
}

/** @param {string} text */
function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/**
 * @param {string} text
 * @param {number} min
 * @param {number} max
 */
function whole(text, min, max) {
  if (!/^(0|[1-9]\d*)$/.test(text)) return null;
  const value = Number(text);
  return value >= min && value <= max ? value : null;
}

/**
 * @param {Place} place
 * @returns {string}
 */
export function format(place) {
  switch (place.view) {
    case 'watch':
      return `#/watch/${place.n}/${place.all ? 'all/' : ''}${place.i < 0 ? 'start' : place.i}`;
    case 'try': {
      const squares = place.blocked.map(([row, column]) => `${row}.${column}`).join(',');
      return `#/try/${place.b.join(',')}${squares && `/${squares}`}`;
    }
    case 'solutions':
      return `#/solutions/${place.n}${place.fundamental ? '/fundamental' : ''}`;
    case 'counts':
      return '#/counts';
  }
}

let due = '';
let timer = 0;
let last = -Infinity;
/** The address as it was last seen or written. */
let known = '';

/**
 * Writes the place into the address without new history: soon where one stays, else at most once a second. Browsers
 * refuse more than a few a second.
 * @param {Place} place
 * @param {boolean} [stays]
 */
export function note(place, stays = true) {
  due = format(place);
  if (stays) {
    clearTimeout(timer);
    timer = 0;
  }
  if (!timer) timer = window.setTimeout(flush, Math.max(0, last + (stays ? 200 : 1000) - performance.now()));
}

/** To be told when the address has become another place's: what was due for the last one is left unwritten. */
export function arrived() {
  clearTimeout(timer);
  timer = 0;
  due = '';
  known = location.hash;
}

/** Writes what is due now. */
export function flush() {
  clearTimeout(timer);
  timer = 0;
  // Whoever goes elsewhere changes the address before that is told.
  if (due && due !== known && known === location.hash) {
    known = due;
    history.replaceState(null, '', location.pathname + location.search + due);
    last = performance.now();
  }
  due = '';
}

/**
 * Goes to a place, as new history.
 * @param {Place} place
 */
export function visit(place) {
  flush();
  location.hash = format(place);
}
