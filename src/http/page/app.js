// The page's frame: which view is open, in which language.

import * as address from './address.js';
import { CROWN } from './board.js';
import { icon } from './controls.js';
import { h, s, set, write } from './dom.js';
import { language, load, t, wanted } from './i18n.js';
import * as trouble from './trouble.js';

/**
 * A view that is open. `go` moves it to another place without opening it anew, if it can.
 * @typedef {{ element: HTMLElement, close(): void, go?(place: address.Place): boolean, key?(event: KeyboardEvent): boolean }} View
 */

/** @type {Record<address.Place['view'], () => Promise<{ open(place: any): View }>>} */
const VIEWS = {
  watch: () => import('./watch.js'),
  try: () => import('./try.js'),
  solutions: () => import('./solutions.js'),
  counts: () => import('./counts.js'),
};

/** @type {View | null} */
let view = null;
let opened = 0;
const root = /** @type {HTMLElement} */ (document.getElementById('app'));
const main = h('main', { id: 'main', tabindex: -1 });
const complaints = h('div', { class: 'complaints' });
const troubles = h('div');

/** @param {address.Complaint | null} complaint */
function complain(complaint) {
  if (!complaint) return complaints.replaceChildren();
  const close = h('button', { type: 'button', click: () => complaints.replaceChildren() }, t('dismiss'));
  complaints.replaceChildren(h('div', { class: 'complaint', role: 'status' }, h('p', {}, t(complaint.key, complaint.values)), close));
}

/** Opens what the address names. */
async function route() {
  address.arrived();
  const { place, complaint } = address.parse(location.hash);
  complain(complaint);
  if (complaint) address.note(place);
  mark(place);
  trouble.clear(troubles);
  if (view?.go?.(place)) return;
  const turn = ++opened;
  try {
    const { open } = await VIEWS[place.view]();
    if (turn !== opened) return;
    view?.close();
    view = open(place);
    main.replaceChildren(view.element);
    main.dataset.view = place.view;
  } catch (error) {
    trouble.show(troubles, error, route);
  }
}

/** @param {address.Place} place */
function mark(place) {
  for (const link of root.querySelectorAll('nav a[data-view]')) {
    set(link, 'aria-current', link instanceof HTMLElement && link.dataset.view === place.view ? 'page' : null);
  }
}

function toggleSize() {
  const large = document.documentElement.classList.toggle('large');
  set(/** @type {Element} */ (root.querySelector('.size')), 'aria-pressed', String(large));
}

async function switchLanguage() {
  const other = language() === 'en' ? 'zh' : 'en';
  const url = new URL(location.href);
  url.searchParams.set('lang', other);
  await load(other);
  address.flush();
  url.hash = location.hash;
  history.replaceState(null, '', url);
  frame();
  view?.close();
  view = null;
  await route();
  /** @type {HTMLElement | null} */ (root.querySelector('.language'))?.focus();
}

function frame() {
  const link = (/** @type {address.Place['view']} */ name, /** @type {import('./i18n.js').Key} */ text) =>
    h('a', { href: name === 'watch' ? '#/watch/8/start' : `#/${name}`, 'data-view': name }, t(text));
  const crown = s('svg', { class: 'logo', viewBox: '0 0 10 10', 'aria-hidden': 'true' }, s('path', { d: CROWN }));
  const other = t('language.other');
  root.replaceChildren(
    h('a', { class: 'skip', href: '#main', click: (event) => { event.preventDefault(); main.focus(); } }, t('skip')),
    h('header', {},
      h('a', { class: 'brand', href: '#/watch/8/start' }, crown, 'nqueens'),
      h('nav', { 'aria-label': t('nav') },
        link('watch', 'nav.watch'), link('try', 'nav.try'), link('solutions', 'nav.solutions'), link('counts', 'nav.counts')),
      h('div', { class: 'settings' },
        h('a', { class: 'reference', href: 'docs/' }, t('nav.reference')),
        h('button', { type: 'button', class: 'size icon-button', 'aria-pressed': String(document.documentElement.classList.contains('large')), 'aria-label': t('size'), title: t('size'), click: toggleSize }, icon('size')),
        h('button', { type: 'button', class: 'language', lang: language() === 'en' ? 'zh-Hans' : 'en', click: () => void switchLanguage() }, other))),
    complaints, troubles, main,
  );
}

/** @param {KeyboardEvent} event */
function key(event) {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const target = /** @type {Element} */ (event.target);
  if (target.matches('input:not([type=range]):not([type=checkbox]):not([type=radio]), select, textarea, dialog *')) return;
  if (event.key === 'p') toggleSize();
  else if (!view?.key?.(event)) return;
  event.preventDefault();
}

async function begin() {
  try {
    await load(wanted());
  } catch {
    write(root, 'The page could not be loaded. 页面无法载入。');
    return;
  }
  frame();
  addEventListener('hashchange', () => void route());
  addEventListener('keydown', key);
  addEventListener('pagehide', address.flush);
  await route();
}

void begin();
