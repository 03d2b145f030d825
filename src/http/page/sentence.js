// Each event in plain words.

import { t } from './i18n.js';

/** @typedef {import('./state.js').State} State */

/**
 * What the event that led to a state did.
 * @param {State} state
 */
export function sentence(state) {
  const { event } = state;
  if (!event) return t('say.start');
  const { op, row, column } = event;
  const place = { row, column, d: row + column, u: row - column };
  switch (op) {
    case 'try':
      return t('say.try', place);
    case 'safe':
      return event.ok ? t('say.ok', place) : t('say.refused', { ...place, why: reasons(state).join(t('say.and')) });
    case 'record':
      return t('say.record', place);
    case 'move_off':
      return t('say.move_off', place);
    case 'solution':
      return t('say.solution', { k: state.solutions });
    case 'return':
      return t(event.ok ? 'say.return.ok' : 'say.return.no', place);
  }
}

/** @param {State} state */
function reasons({ b, event }) {
  if (!event) return [];
  const { row, column } = event;
  const k = { C: column, D: row + column, U: row - column };
  const on = {
    C: (/** @type {number} */ _, /** @type {number} */ j) => j === k.C,
    D: (/** @type {number} */ i, /** @type {number} */ j) => i + j === k.D,
    U: (/** @type {number} */ i, /** @type {number} */ j) => i - j === k.U,
  };
  return (event.refused_by ?? []).map((line) => {
    const by = b.findIndex((j, i) => j > 0 && on[line](i + 1, j)) + 1;
    return t(`say.refused.${line}`, { k: k[line], by });
  });
}
