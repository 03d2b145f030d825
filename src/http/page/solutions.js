// The view that lists solutions as small boards.

import { ALL_MAX, LIST_MAX, TRY_MAX, visit } from './address.js';
import { ask } from './api.js';
import { Board, thumbnail } from './board.js';
import { choice, sizes } from './controls.js';
import { h, set, write } from './dom.js';
import { number, t } from './i18n.js';
import * as trouble from './trouble.js';

/** @typedef {import('./address.js').SolutionsPlace} SolutionsPlace */

const PAGE = 60;

/**
 * @param {SolutionsPlace} place
 * @returns {import('./app.js').View}
 */
export function open({ n, fundamental }) {
  const end = new AbortController();
  const { signal } = end;
  /** Where the next page begins; null when there is none. @type {string | null | undefined} */
  let next;
  let count = 0;
  let loading = false;
  let chosen = 0;

  const troubles = h('div');
  const list = h('ol', { class: 'thumbs' });
  const told = h('p', { class: 'told', role: 'status' });
  const more = h('button', { type: 'button', click: () => void load(), hidden: true }, t('solutions.more'));
  const foot = h('div', { class: 'list-end' }, told, more);
  const detail = h('section', { class: 'panel detail-panel' }, h('p', { class: 'hint' }, t('solutions.choose')));
  const watcher = new IntersectionObserver((entries) => {
    if (entries.some((entry) => entry.isIntersecting)) void load();
  }, { rootMargin: '400px' });

  const element = h('section', { class: 'solutions' },
    h('div', { class: 'intro' },
      h('h1', {}, t('solutions.heading')),
      h('p', { class: 'lead' }, t('solutions.lead')),
      h('div', { class: 'setup' },
        sizes(t('n'), LIST_MAX, n, (other) => visit({ view: 'solutions', n: other, fundamental })),
        choice(t('solutions.show'), [['all', t('solutions.all')], ['fundamental', t('solutions.fundamental')]], fundamental ? 'fundamental' : 'all',
          (value) => visit({ view: 'solutions', n, fundamental: value === 'fundamental' })))),
    troubles,
    h('div', { class: 'two' }, h('div', {}, list, foot), detail));
  void load().then(() => { if (!signal.aborted) watcher.observe(foot); });
  return {
    element,
    close() {
      end.abort();
      watcher.disconnect();
    },
  };

  async function load() {
    if (loading || next === null) return;
    loading = true;
    write(told, t('loading'));
    try {
      const after = next ? `&after=${next}` : '';
      const page = await ask(`solutions/${n}?limit=${PAGE}&fundamental=${fundamental}${after}`, { signal });
      for (const b of page.solutions) add(b);
      next = page.next;
      more.hidden = next === null;
      const total = number(count);
      write(told, count === 0 ? t('solutions.none', { n }) : t(next === null ? 'solutions.end' : 'solutions.shown', { count: total }));
      // Seen again if there is still room below.
      watcher.unobserve(foot);
      if (next !== null) setTimeout(() => { if (!signal.aborted) watcher.observe(foot); });
    } catch (error) {
      write(told, '');
      watcher.unobserve(foot);
      trouble.show(troubles, error, () => void load());
    } finally {
      loading = false;
    }
  }

  /** @param {number[]} b */
  function add(b) {
    const k = ++count;
    const button = h('button', {
      type: 'button', 'aria-pressed': 'false', 'aria-label': t('solutions.item', { k, b: b.join(', ') }),
      click() {
        for (const one of list.querySelectorAll('[aria-pressed=true]')) set(one, 'aria-pressed', 'false');
        set(button, 'aria-pressed', 'true');
        void choose(k, b);
      },
    }, thumbnail(b), h('span', { class: 'k' }, k));
    list.append(h('li', {}, button));
  }

  /** @param {number} k @param {number[]} b */
  async function choose(k, b) {
    const mine = ++chosen;
    const board = new Board(n, t('solutions.item', { k, b: b.join(', ') }));
    board.show(b);
    const about = h('div', { class: 'about' });
    const buttons = h('div', { class: 'buttons' },
      n <= TRY_MAX && h('button', { type: 'button', class: 'to-try', click: () => visit({ view: 'try', b, blocked: [] }) }, t('solutions.try')),
      n <= ALL_MAX && h('button', { type: 'button', class: 'to-watch', click: () => void watch(b) }, t('solutions.watch')));
    detail.replaceChildren(h('h2', {}, t('solutions.detail', { k: number(k) })), board.element, h('p', { class: 'b-text' }, `[${b.join(', ')}]`), about, buttons);
    try {
      const { symmetry } = await ask('verify', { method: 'POST', body: { b }, signal });
      if (mine !== chosen) return;
      const key = /** @type {import('./i18n.js').Key} */ (`solutions.class.${symmetry.class}`);
      const images = orbit(b).map((image) => h('li', {}, thumbnail(image)));
      about.replaceChildren(h('p', {}, t(key)), h('p', {}, t('solutions.orbit', { orbit: symmetry.orbit })), h('ul', { class: 'orbit' }, ...images));
    } catch (error) {
      if (mine === chosen) trouble.show(troubles, error, () => void choose(k, b));
    }
  }

  /** Goes to the event where a board was found. @param {number[]} b */
  async function watch(b) {
    const mine = chosen;
    const text = b.join();
    try {
      for (let from = 0; ;) {
        const page = await ask(`trace/${n}?all=true&op=solution&limit=10000&from=${from}`, { signal });
        if (mine !== chosen) return;
        const found = page.events.find((/** @type {{ b: number[] }} */ event) => event.b.join() === text);
        if (found) return visit({ view: 'watch', n, all: true, i: found.i });
        if (page.next === null) return;
        from = page.next;
      }
    } catch (error) {
      trouble.show(troubles, error, () => void watch(b));
    }
  }
}

/**
 * The different boards by turning and mirroring.
 * @param {number[]} b
 * @returns {number[][]}
 */
function orbit(b) {
  const n = b.length;
  const mirrored = (/** @type {number[]} */ one) => one.map((j) => n + 1 - j);
  const turned = (/** @type {number[]} */ one) => {
    const image = /** @type {number[]} */ (Array(n).fill(0));
    one.forEach((j, i) => { image[n - j] = i + 1; });
    return image;
  };
  /** @type {Map<string, number[]>} */
  const images = new Map();
  for (let image = b, turn = 0; turn < 4; turn += 1, image = turned(image)) {
    for (const one of [image, mirrored(image)]) images.set(one.join(), one);
  }
  return [...images.values()];
}
