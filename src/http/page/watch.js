// The view that shows the search, event by event.

import { ALL_MAX, WATCH_MAX, note, visit } from './address.js';
import { arrays } from './arrays.js';
import { Board } from './board.js';
import { code, stack } from './code.js';
import { choice, icon, iconButton, sizes } from './controls.js';
import { h, set, write } from './dom.js';
import { number, t } from './i18n.js';
import { overview } from './overview.js';
import { Player, SPEEDS } from './player.js';
import { BLOCK, Search } from './search.js';
import { sentence } from './sentence.js';
import { State } from './state.js';
import { MOST, tree } from './tree.js';
import * as trouble from './trouble.js';

/** @typedef {import('./address.js').WatchPlace} WatchPlace */
/** @typedef {import('./search.js').Profile} Profile */

const KINDS = /** @type {const} */ (['record', 'move_off', 'solution']);
const OPS = /** @type {const} */ ({ record: 'watch.op.record', move_off: 'watch.op.move_off', solution: 'watch.op.solution' });
/** Milliseconds from one event that is read aloud to the next. */
const ALOUD = 2000;

/**
 * @param {WatchPlace} place
 * @returns {import('./app.js').View}
 */
export function open({ n, all, i: wantedEvent }) {
  const search = new Search(n, all);
  let state = new State(n, all);
  /** The number of the event that led to the state. */
  let at = -1;
  /** What is gone to: only the last one asked for counts. */
  let turn = 0;
  let closed = false;
  let spoken = 0;
  /** @type {Profile | null} */
  let profile = null;
  /** @type {{ show(i: number): void }[]} */
  const places = [];

  const board = new Board(n, t('watch.board', { n }));
  const parts = [code(all), stack(n), arrays(n)];
  const [routine, calls, strips] = parts;
  const player = new Player(advance);

  const troubles = h('div');
  const notice = h('p', { class: 'notice', role: 'status' });
  const says = h('p', { class: 'sentence' });
  const aloud = h('p', { class: 'visually-hidden', 'aria-live': 'polite' });
  const position = h('output', { class: 'position' });
  const slider = h('input', {
    type: 'range', class: 'slider', min: -1, max: -1, step: 1, value: -1, disabled: true, 'aria-label': t('watch.position'),
    input: () => { player.pause(); void go(Number(slider.value)); },
  });
  const counters = Object.fromEntries(['try', 'safe', 'record', 'move_off', 'solutions'].map((name) => [name, h('dd', { 'data-step': name }, '0')]));

  const playing = h('span');
  const playIcon = h('span', { class: 'icon-place' });
  const play = h('button', { type: 'button', class: 'play primary', click: toggle }, playIcon, playing);
  const speedText = h('output', { class: 'speed-text' });
  const speed = h('input', {
    type: 'range', min: 0, max: SPEEDS.length - 1, step: 1, value: player.speed, 'aria-label': t('watch.speed'), class: 'speed',
    input: () => setSpeed(Number(speed.value)),
  });
  const readAloud = h('input', { type: 'checkbox', checked: true, change: () => { if (!readAloud.checked) write(aloud, ''); } });

  const whole = h('div', { class: 'whole' }, h('p', { class: 'hint walking' }, t('watch.walking')));
  const treePanel = h('section', { class: 'panel tree-panel', hidden: true });

  const jumps = KINDS.map((op) => {
    const name = t(OPS[op]);
    return h('div', { class: 'jump', role: 'group', 'aria-label': name },
      iconButton('previous', t('watch.previous', { op: name }), () => void jump(op, false)),
      h('span', { 'aria-hidden': 'true' }, name),
      iconButton('next', t('watch.next', { op: name }), () => void jump(op, true)));
  });

  const element = h('section', { class: 'watch' },
    h('div', { class: 'intro' },
      h('h1', {}, t('watch.heading')),
      h('p', { class: 'lead' }, t('watch.lead')),
      h('div', { class: 'setup' },
        sizes(t('n'), WATCH_MAX, n, (other) => visit({ view: 'watch', n: other, all: all && other <= ALL_MAX, i: -1 })),
        choice(t('watch.until'), [['first', t('watch.first')], ['all', t('watch.all'), n > ALL_MAX]], all ? 'all' : 'first',
          (value) => visit({ view: 'watch', n, all: value === 'all', i: -1 })))),
    troubles,
    h('div', { class: 'desk' },
      h('div', { class: 'stage' }, board.element),
      h('div', { class: 'talk' },
        says, aloud,
        h('div', { class: 'transport' },
          iconButton('start', t('watch.start'), () => leap(-1)),
          iconButton('back', t('watch.back'), () => leap(at - 1)),
          play,
          iconButton('step', t('watch.step'), () => leap(at + 1)),
          iconButton('end', t('watch.end'), end),
          h('label', { class: 'speed-field' }, h('span', { class: 'visually-hidden' }, t('watch.speed')), speed, speedText)),
        h('div', { class: 'jumps', role: 'group', 'aria-label': t('watch.jump') }, ...jumps),
        notice),
      h('section', { class: 'panel steps-panel' }, h('h2', {}, t('watch.steps')),
        h('dl', { class: 'steps' }, ...counterList(counters))),
      h('section', { class: 'panel code-panel' }, h('h2', {}, t('watch.code')), routine?.element),
      h('section', { class: 'panel stack-panel' }, h('h2', {}, t('watch.stack')), calls?.element),
      h('section', { class: 'panel arrays-panel' },
        h('h2', {}, t('watch.arrays')), h('p', { class: 'hint' }, t('watch.arrays.hint')), strips?.element)),
    h('section', { class: 'panel timeline' },
      h('div', { class: 'head' }, h('h2', {}, t('watch.whole')), position),
      whole, slider, h('p', { class: 'hint' }, t('watch.whole.hint'))),
    treePanel,
    h('div', { class: 'foot' },
      h('label', { class: 'check' }, readAloud, h('span', {}, t('watch.announce'))),
      h('details', { class: 'keys' }, h('summary', {}, t('watch.keys')), keys())));

  setSpeed(player.speed);
  render(true);
  void begin();
  return {
    element,
    close() {
      closed = true;
      player.pause();
      search.close();
    },
    go(place) {
      if (place.view !== 'watch' || place.n !== n || place.all !== all) return false;
      player.pause();
      void go(place.i);
      return true;
    },
    key,
  };

  async function begin() {
    const first = go(wantedEvent);
    try {
      profile = await search.profile();
    } catch (error) {
      if (!closed) trouble.show(troubles, error, () => void begin());
      return;
    }
    if (closed) return;
    const { events } = profile;
    const strip = overview(n, profile, t('watch.whole.hint'), leap);
    places.push(strip);
    whole.replaceChildren(strip.element);
    set(slider, 'max', events - 1);
    slider.disabled = false;
    await first;
    if (wantedEvent >= events) {
      write(notice, t('bad.event', { text: String(wantedEvent) }));
      await go(events - 1);
    }
    render(!player.playing);
    const called = await search.calls(MOST).catch(() => null);
    if (!called || closed) return;
    const drawn = tree(called, t('watch.tree.hint'), leap);
    places.push(drawn);
    treePanel.append(h('h2', {}, t('watch.tree')), h('div', { class: 'scroll', tabindex: 0, role: 'region', 'aria-label': t('watch.tree') }, drawn.element), h('p', { class: 'hint' }, t('watch.tree.hint')));
    treePanel.hidden = false;
    render(!player.playing);
  }

  /**
   * Goes to the state right after event i, as near as there is one.
   * @param {number} i
   */
  async function go(i) {
    const to = Math.max(-1, profile ? Math.min(i, profile.events - 1) : i);
    const mine = ++turn;
    try {
      const found = search.now(to) ?? (await search.at(to));
      if (closed || mine !== turn) return;
      if (to >= 0 && found.event?.i !== to) return; // past the end, which is not known yet
      state = found;
      at = to;
      render(!player.playing);
      void search.load(Math.max(0, at + 1)).catch(() => undefined); // to be at hand; who needs it hears of trouble
    } catch (error) {
      if (!closed && mine === turn) trouble.show(troubles, error, () => void go(i));
    }
  }

  /** @param {number} i */
  function leap(i) {
    player.pause();
    write(notice, '');
    void go(i);
  }

  function end() {
    if (profile) leap(profile.events - 1);
  }

  /** Takes so many events as are at hand. @param {number} most */
  function advance(most) {
    const mine = turn;
    for (let taken = 0; taken < most; taken += 1) {
      const event = search.event(at + 1);
      if (!event) break;
      state.apply(event);
      at += 1;
    }
    if (profile && at >= profile.events - 1) player.pause();
    else {
      for (const ahead of [1, BLOCK, 2 * BLOCK]) {
        if (profile && at + ahead >= profile.events) break;
        search.load(at + ahead).catch((error) => {
          if (closed || mine !== turn || !player.playing) return;
          player.pause();
          render(true);
          trouble.show(troubles, error, toggle);
        });
      }
    }
    render(!player.playing);
  }

  function toggle() {
    if (player.playing) player.pause();
    else {
      turn += 1; // whatever was gone to does not come in between
      write(notice, '');
      state = state.copy();
      if (profile && at >= profile.events - 1) {
        state = new State(n, all);
        at = -1;
      }
      player.play();
    }
    render(!player.playing);
  }

  /**
   * @param {'record' | 'move_off' | 'solution'} op
   * @param {boolean} forwards
   */
  async function jump(op, forwards) {
    player.pause();
    write(notice, '');
    if (!profile) return;
    const mine = ++turn;
    try {
      const found = forwards ? await search.next(op, at + 1) : await search.previous(op, at, profile);
      if (closed || mine !== turn) return;
      if (found === null) write(notice, t('watch.none'));
      else await go(found);
    } catch (error) {
      if (!closed) trouble.show(troubles, error, () => void jump(op, forwards));
    }
  }

  /** @param {number} value */
  function setSpeed(value) {
    player.speed = Math.min(SPEEDS.length - 1, Math.max(0, value));
    speed.value = String(player.speed);
    const rate = SPEEDS[player.speed] ?? 1;
    const text = rate < 1 ? t('watch.speed.slow', { x: 1 / rate }) : t('watch.speed.fast', { x: number(rate) });
    write(speedText, text);
    set(speed, 'aria-valuetext', text);
  }

  /** @param {boolean} still whether it stands still, so that it is worth an address and being read aloud */
  function render(still) {
    board.show(state.b);
    mark();
    for (const part of parts) part.show(state);
    for (const part of places) part.show(at);
    for (const [name, place] of Object.entries(counters)) {
      const value = name === 'solutions' ? state.solutions : state.steps[/** @type {'try'} */ (name)];
      write(place, number(value));
    }
    const text = sentence(state);
    write(says, text);
    element.dataset.at = String(at);
    if (profile) {
      const events = number(profile.events);
      write(position, at < 0 ? t('watch.atstart', { events }) : t('watch.at', { i: number(at), events }));
      slider.value = String(at);
      set(slider, 'aria-valuetext', position.textContent);
    }
    const label = t(player.playing ? 'watch.pause' : 'watch.play');
    if (playing.textContent !== label) {
      write(playing, label);
      playIcon.replaceChildren(icon(player.playing ? 'pause' : 'play'));
    }
    if (readAloud.checked && (still || performance.now() - spoken > ALOUD)) {
      spoken = performance.now();
      write(aloud, text);
    }
    if (at === wantedEvent || profile) note({ view: 'watch', n, all, i: at }, still);
  }

  /** What the event is about, on the board. */
  function mark() {
    board.clear();
    const { event } = state;
    if (!event) return;
    if (event.op === 'try' || event.op === 'return') return board.row(event.row);
    if (event.op === 'solution') return;
    const { row, column } = event;
    for (const line of /** @type {const} */ (['C', 'D', 'U'])) {
      const taken = event.op === 'safe' ? Boolean(event.refused_by?.includes(line)) : event.op === 'record';
      board.line(line, row, column, taken);
    }
    board.mark(event.op === 'safe' ? (event.ok ? 'ok' : 'refused') : 'at', row, column);
  }

  /** @param {KeyboardEvent} event */
  function key(event) {
    const target = /** @type {Element} */ (event.target);
    const moves = /^(Arrow|Home|End|Page)/.test(event.key);
    if (moves && target.matches('input, .scroll')) return false;
    if ((event.key === ' ' || event.key === 'Enter') && target.matches('button, a, summary, input:not([type=range])')) return false;
    switch (event.key) {
      case ' ':
        toggle();
        break;
      case 'ArrowRight':
        leap(at + 1);
        break;
      case 'ArrowLeft':
        leap(at - 1);
        break;
      case 'Home':
        leap(-1);
        break;
      case 'End':
        end();
        break;
      case '+':
      case '=':
        setSpeed(player.speed + 1);
        break;
      case '-':
        setSpeed(player.speed - 1);
        break;
      default: {
        const op = KINDS.find((kind) => kind[0] === event.key.toLowerCase());
        if (!op) return false;
        void jump(op, !event.shiftKey);
      }
    }
    return true;
  }
}

/** @param {Record<string, HTMLElement>} counters */
function counterList(counters) {
  const names = { try: 'Try', safe: 'Safe', record: 'Record', move_off: 'Move-Off', solutions: t('watch.solutions') };
  return Object.entries(names).map(([name, label]) => h('div', {}, h('dt', {}, label), counters[name]));
}

function keys() {
  /** @type {[string, import('./i18n.js').Key][]} */
  const list = [
    ['Space', 'watch.keys.play'], ['← →', 'watch.keys.step'], ['Home End', 'watch.keys.ends'], ['R', 'watch.keys.record'],
    ['M', 'watch.keys.move_off'], ['S', 'watch.keys.solution'], ['− +', 'watch.keys.speed'], ['P', 'watch.keys.size'],
  ];
  return h('dl', {}, ...list.map(([name, about]) =>
    h('div', {}, h('dt', {}, ...name.split(' ').map((one) => h('kbd', {}, one))), h('dd', {}, t(about)))));
}
