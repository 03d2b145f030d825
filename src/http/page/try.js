// The view where one puts queens oneself.

import { TRY_MAX, note, visit } from './address.js';
import { ask } from './api.js';
import { Board } from './board.js';
import { conflicts } from './conflicts.js';
import { sizes } from './controls.js';
import { h, s, set, write } from './dom.js';
import { number, t } from './i18n.js';
import { copy, download } from './share.js';
import * as trouble from './trouble.js';

/** @typedef {import('./address.js').TryPlace} TryPlace */
/** @typedef {{ b: number[], blocked: [number, number][] }} Position */

const LISTED = 12;

/**
 * @param {TryPlace} place
 * @returns {import('./app.js').View}
 */
export function open(place) {
  const n = place.b.length;
  /** @type {Position} */
  let now = { b: place.b, blocked: place.blocked };
  /** @type {Position[]} */
  const before = [];
  /** Completions of the position that was last completed, and which of them is shown. */
  let completions = /** @type {number[][]} */ ([]);
  let shown = 0;
  const end = new AbortController();
  let asked = 0;
  /** Where the keys are. */
  let row = 1;
  let column = 1;

  const board = new Board(n, t('try.board', { n }));
  board.element.classList.add('editable');
  set(board.element, 'role', 'grid');
  const squares = Array.from(board.squares.children);
  grid();

  const troubles = h('div');
  const verdict = h('p', { class: 'verdict', role: 'status' });
  const attacks = h('ul', { class: 'attacks' });
  const text = h('p', { class: 'b-text' });
  const copied = h('p', { class: 'notice', role: 'status' });
  const given = h('textarea', { rows: 4, readonly: true, hidden: true, 'aria-label': t('try.notcopied') });
  const other = h('button', { type: 'button', class: 'other', hidden: true, click: another }, t('try.other'));
  const undoing = h('button', { type: 'button', class: 'undo', click: undo }, t('try.undo'));
  const tool = (/** @type {string} */ value, /** @type {import('./i18n.js').Key} */ name) => {
    const radio = h('input', { type: 'radio', name: 'tool', value, checked: value === 'queen' });
    return { radio, label: h('label', { class: 'check' }, radio, h('span', {}, t(name))) };
  };
  const queenTool = tool('queen', 'try.tool.queen');
  const blockTool = tool('block', 'try.tool.block');

  const element = h('section', { class: 'try' },
    h('div', { class: 'intro' },
      h('h1', {}, t('try.heading')),
      h('p', { class: 'lead' }, t('try.lead')),
      h('div', { class: 'setup' }, sizes(t('n'), TRY_MAX, n, (size) => visit({ view: 'try', b: Array(size).fill(0), blocked: [] })))),
    troubles,
    h('div', { class: 'two' },
      h('div', { class: 'stage' }, board.element),
      h('div', { class: 'side' },
        h('section', { class: 'panel' }, h('h2', {}, t('try.status')), verdict, attacks),
        h('fieldset', { class: 'tools' }, h('legend', {}, t('try.tool')), queenTool.label, blockTool.label),
        h('div', { class: 'buttons' },
          h('button', { type: 'button', class: 'primary complete', click: () => void complete() }, t('try.complete')),
          other, undoing,
          h('button', { type: 'button', class: 'clear', click: () => change({ b: Array(n).fill(0), blocked: [] }) }, t('try.clear'))),
        h('section', { class: 'panel' }, h('h2', {}, t('try.b')), text,
          h('div', { class: 'buttons' },
            h('button', { type: 'button', class: 'copy-b', click: () => void take(`[${now.b.join(',')}]`) }, t('try.copy.b')),
            h('button', { type: 'button', class: 'copy-curl', click: () => void take(curl()) }, t('try.copy.curl')),
            h('button', { type: 'button', class: 'download', click: () => download(now.b, now.blocked) }, t('try.download'))),
          copied, given),
        h('p', { class: 'hint' }, t('try.keys')))));

  render();
  return {
    element,
    close: () => end.abort(),
    go(to) {
      if (to.view !== 'try' || to.b.length !== n) return false;
      now = { b: to.b, blocked: to.blocked };
      before.length = 0;
      settle();
      return true;
    },
    key,
  };

  /** Makes rows of the squares, each with a name, so that keys and screen readers find their way. */
  function grid() {
    for (let i = 1; i <= n; i += 1) {
      const group = s('g', { role: 'row' });
      for (let j = 1; j <= n; j += 1) {
        const square = at(i, j);
        square.classList.add('square');
        set(square, 'role', 'gridcell');
        set(square, 'data-square', `${i},${j}`);
        square.addEventListener('click', () => {
          [row, column] = [i, j];
          if (blockTool.radio.checked) block(i, j);
          else put(i, j);
        });
        group.append(square);
      }
      board.squares.append(group);
    }
  }

  /** @param {number} i @param {number} j */
  function at(i, j) {
    return /** @type {SVGElement} */ (squares[(i - 1) * n + j - 1]);
  }

  /** @param {Position} position */
  function change(position) {
    before.push(now);
    now = position;
    settle();
  }

  /** After the board became another one. */
  function settle() {
    asked += 1;
    completions = [];
    trouble.clear(troubles);
    write(copied, '');
    given.hidden = true;
    render();
    note({ view: 'try', ...now });
  }

  /** @param {number} i @param {number} j */
  function put(i, j) {
    if (isBlocked(i, j)) return;
    const b = now.b.slice();
    b[i - 1] = b[i - 1] === j ? 0 : j;
    change({ ...now, b });
  }

  /** @param {number} i @param {number} j */
  function block(i, j) {
    if (now.b[i - 1] === j) return;
    const others = now.blocked.filter((one) => one[0] !== i || one[1] !== j);
    change({ ...now, blocked: others.length < now.blocked.length ? others : [...others, [i, j]] });
  }

  /** @param {number} i @param {number} j */
  function isBlocked(i, j) {
    return now.blocked.some((one) => one[0] === i && one[1] === j);
  }

  function undo() {
    const last = before.pop();
    if (!last) return;
    now = last;
    settle();
  }

  async function complete() {
    if (conflicts(now.b).length) return say(t('try.attacked'), 'bad');
    const mine = ++asked;
    trouble.clear(troubles);
    try {
      const answer = await ask('complete?limit=2', { method: 'POST', body: now, signal: end.signal });
      if (mine !== asked) return;
      if (answer.status === 'no_solution') return say(t('try.none'), 'bad');
      const found = /** @type {number[][]} */ (answer.solutions);
      change({ ...now, b: found[0] ?? now.b });
      [completions, shown] = [found, 0];
      render();
      say(t(found.length > 1 ? 'try.more' : 'try.only'), 'good');
    } catch (error) {
      if (mine === asked) trouble.show(troubles, error, () => void complete());
    }
  }

  function another() {
    const found = completions;
    shown = (shown + 1) % found.length;
    const b = found[shown];
    if (!b) return;
    change({ ...now, b });
    completions = found;
    render();
  }

  function curl() {
    const url = new URL('complete', document.baseURI);
    return `curl -H 'Content-Type: application/json' -d '${JSON.stringify(now)}' '${url.origin}${url.pathname}'`;
  }

  /** @param {string} what */
  async function take(what) {
    const done = await copy(what);
    write(copied, t(done ? 'try.copied' : 'try.notcopied'));
    given.hidden = done;
    given.value = done ? '' : what;
  }

  /** @param {string} words @param {'good' | 'bad' | ''} kind */
  function say(words, kind) {
    verdict.className = `verdict ${kind}`;
    write(verdict, words);
  }

  function render() {
    board.show(now.b);
    board.clear();
    for (const [i, j] of now.blocked) board.mark('blocked', i, j);
    const found = conflicts(now.b);
    for (const { line, a, b } of found) board.pair(line, a, b);
    const queens = now.b.filter(Boolean).length;
    if (found.length) say(t('try.attacks', { count: number(found.length) }), 'bad');
    else if (queens === 0) say(t('try.empty'), '');
    else if (queens === n) say(t('try.solved', { n }), 'good');
    else say(t('try.free', { queens, n }), '');
    attacks.replaceChildren(...found.slice(0, LISTED).map(({ line, a, b, k }) =>
      h('li', { class: line }, t(`try.attack.${line}`, { a: a[0], b: b[0], k }))));
    write(text, `[${now.b.join(', ')}]`);
    undoing.disabled = before.length === 0;
    other.hidden = completions.length < 2;
    for (let i = 1; i <= n; i += 1) {
      for (let j = 1; j <= n; j += 1) {
        const square = at(i, j);
        const name = now.b[i - 1] === j ? 'try.square.queen' : isBlocked(i, j) ? 'try.square.blocked' : 'try.square';
        set(square, 'aria-label', t(name, { row: i, column: j }));
        set(square, 'tabindex', i === row && j === column ? 0 : -1);
      }
    }
  }

  /** @param {KeyboardEvent} event */
  function key(event) {
    const target = /** @type {Element} */ (event.target);
    if (event.key.toLowerCase() === 'u') {
      undo();
      return true;
    }
    if (!target.matches('.square')) return false;
    const steps = /** @type {Record<string, [number, number]>} */ ({ ArrowUp: [1, 0], ArrowDown: [-1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] });
    const step = steps[event.key];
    if (step) {
      row = Math.min(n, Math.max(1, row + step[0]));
      column = Math.min(n, Math.max(1, column + step[1]));
      for (const square of squares) set(square, 'tabindex', -1);
      set(at(row, column), 'tabindex', 0);
      at(row, column).focus();
    } else if (event.key === 'Enter' || event.key === ' ') put(row, column);
    else if (event.key.toLowerCase() === 'b') block(row, column);
    else return false;
    return true;
  }
}
