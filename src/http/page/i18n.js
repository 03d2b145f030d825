// The page's words. Each language is a file of strings with the same keys; only the one in use is loaded.

/** @typedef {typeof import('./en.js').default} Strings */
/** @typedef {keyof Strings} Key */
/** @typedef {'en' | 'zh'} Language */

/** @type {Strings} */
let strings;
/** @type {Language} */
let current = 'en';

/** @returns {Language} */
export function language() {
  return current;
}

/**
 * The language that the address or the browser asks for.
 * @returns {Language}
 */
export function wanted() {
  const asked = new URLSearchParams(location.search).get('lang');
  if (asked === 'en' || asked === 'zh') return asked;
  const known = navigator.languages.map((name) => name.slice(0, 2).toLowerCase());
  return known.find((name) => name === 'zh' || name === 'en') === 'zh' ? 'zh' : 'en';
}

/** @param {Language} name */
export async function load(name) {
  const file = name === 'zh' ? await import('./zh.js') : await import('./en.js');
  strings = file.default;
  current = name;
  document.documentElement.lang = name === 'zh' ? 'zh-Hans' : 'en';
  document.title = t('title');
}

/**
 * The string under a key, with what stands in braces filled in.
 * @param {Key} key
 * @param {Record<string, string | number>} [values]
 */
export function t(key, values = {}) {
  return strings[key].replace(/\{(\w+)\}/g, (_, name) => String(values[name] ?? ''));
}

/**
 * A whole number with its thousands apart.
 * @param {number | string | bigint} value
 */
export function number(value) {
  return String(value).replace(/\B(?=(\d{3})+$)/g, ',');
}

/**
 * A length of time in plain words.
 * @param {number} seconds
 */
export function duration(seconds) {
  if (seconds < 90) return t('time.seconds', { x: seconds < 10 ? Math.round(seconds * 10) / 10 : Math.round(seconds) });
  if (seconds < 5400) return t('time.minutes', { x: Math.round(seconds / 60) });
  if (seconds < 172800) return t('time.hours', { x: Math.round(seconds / 360) / 10 });
  return t('time.days', { x: Math.round(seconds / 8640) / 10 });
}
