// The token that a service may want for starting and cancelling jobs: asked for once, kept in memory only.

import { Trouble, ask } from './api.js';
import { h } from './dom.js';
import { t } from './i18n.js';

let token = '';

/**
 * Asks the service, with the token where it wants one.
 * @param {string} path
 * @param {string} method
 * @returns {Promise<unknown>} null where nobody gave a token
 */
export async function askWithToken(path, method) {
  for (;;) {
    try {
      return await ask(path, { method, token });
    } catch (error) {
      if (!(error instanceof Trouble) || error.status !== 401) throw error;
      token = await asked();
      if (!token) return null;
    }
  }
}

/** @returns {Promise<string>} */
function asked() {
  const field = h('input', { type: 'password', autocomplete: 'off', required: true });
  const given = h('button', { type: 'submit', class: 'primary' }, t('counts.token.ok'));
  const left = h('button', { type: 'button', click: () => dialog.close('') }, t('counts.token.cancel'));
  const form = h('form', { submit: (event) => { event.preventDefault(); dialog.close(field.value.trim()); } },
    h('h2', { id: 'token-title' }, t('counts.token')),
    h('label', { class: 'field' }, h('span', {}, t('counts.token.label')), field),
    h('p', { class: 'hint' }, t('counts.token.hint')),
    h('div', { class: 'buttons' }, given, left));
  const dialog = h('dialog', { 'aria-labelledby': 'token-title' }, form);
  document.body.append(dialog);
  dialog.showModal();
  return new Promise((resolve) => {
    dialog.addEventListener('close', () => {
      dialog.remove();
      resolve(dialog.returnValue);
    });
  });
}
