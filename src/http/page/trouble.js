// What went wrong, in the page's words and the service's, with a way to try again.

import { Trouble } from './api.js';
import { h } from './dom.js';
import { t } from './i18n.js';

/**
 * Shows a trouble in a place of its own until the next one, or nothing.
 * @param {HTMLElement} area
 * @param {unknown} error
 * @param {() => void} [retry]
 */
export function show(area, error, retry) {
  if (error instanceof DOMException && error.name === 'AbortError') return; // given up on purpose
  const button = retry && h('button', { type: 'button', click: () => { clear(area); retry(); } }, t('retry'));
  area.replaceChildren(h('div', { class: 'trouble', role: 'alert' }, h('p', {}, ...words(error)), button));
}

/** @param {HTMLElement} area */
export function clear(area) {
  area.replaceChildren();
}

/**
 * @param {unknown} error
 * @returns {(string | HTMLElement)[]}
 */
function words(error) {
  if (!(error instanceof Trouble)) return [t('trouble.other')];
  if (error.status === 0) return [t('trouble.unreachable')];
  const detail = h('span', { class: 'detail', lang: 'en' }, error.detail);
  return [t(error.status === 503 ? 'trouble.busy' : 'trouble.refused'), ' ', detail];
}
