// The view of counts: what this service has counted, what is published, and its jobs.

import { ask } from './api.js';
import { h, set, write } from './dom.js';
import { duration, language, number, t } from './i18n.js';
import { plot } from './plot.js';
import { askWithToken } from './token.js';
import * as trouble from './trouble.js';

/** @typedef {{ n: number, state: 'queued' | 'running' | 'done' | 'failed' | 'cancelled', progress: number, eta_seconds: number | null, reason: string | null, started_at?: string | null, finished_at?: string | null, cpu_seconds?: number | null, count_text: string | null }} Job */
/** @typedef {{ n: number, count_text: string, fundamental_text: string, symmetric: { half_turn: number, quarter_turn: number }, source: { name: string, url: string, note: string } }} Published */
/** @typedef {ReturnType<typeof row>} Row */

const PUBLISHED = 27;
const ESTIMATED = 34;
const PROBES = 20_000;
const EVERY = 1000;

/** @returns {import('./app.js').View} */
export function open() {
  const end = new AbortController();
  const { signal } = end;
  let timer = 0;
  let asking = false;
  const troubles = h('div');
  const refused = h('div');
  const rows = Array.from({ length: PUBLISHED }, (_, i) => row(i + 1, change));
  const source = h('p', { class: 'hint' });
  const picture = h('div', { class: 'scroll', tabindex: 0, role: 'region', 'aria-label': t('counts.plot') }, h('p', { class: 'hint' }, t('loading')));
  const heads = /** @type {const} */ (['counts.here', 'counts.published', 'counts.fundamental', 'counts.half', 'counts.quarter']);
  const element = h('section', { class: 'counts' },
    h('div', { class: 'intro' }, h('h1', {}, t('counts.heading')), h('p', { class: 'lead' }, t('counts.lead'))),
    troubles, refused,
    h('section', { class: 'panel' },
      h('div', { class: 'table-wrap', tabindex: 0, role: 'region', 'aria-label': t('counts.table') },
        h('table', { class: 'counts-table' },
          h('thead', {}, h('tr', {}, h('th', { scope: 'col' }, 'n'), h('th', { scope: 'col', class: 'job-head' }, t('counts.job')),
            ...heads.map((key) => h('th', { scope: 'col' }, t(key))))),
          h('tbody', {}, ...rows.map((one) => one.element)))),
      source),
    h('section', { class: 'panel timeline' }, h('h2', {}, t('counts.plot')), picture));

  document.addEventListener('visibilitychange', poll);
  poll();
  void publish();
  void limit();
  return {
    element,
    close() {
      end.abort();
      clearTimeout(timer);
      document.removeEventListener('visibilitychange', poll);
    },
  };

  /** Asks for all jobs, and again a second later, as long as the page is seen. */
  function poll() {
    clearTimeout(timer);
    if (document.visibilityState !== 'visible' || asking || signal.aborted) return;
    asking = true;
    ask('jobs', { signal }).then(
      (answer) => {
        trouble.clear(troubles);
        show(answer.jobs);
      },
      (error) => { if (!signal.aborted) trouble.show(troubles, error, poll); },
    ).finally(() => {
      asking = false;
      if (!signal.aborted) timer = window.setTimeout(poll, EVERY);
    });
  }

  /** @param {Job[]} jobs */
  function show(jobs) {
    rows.forEach((one, i) => one.show(jobs.find((job) => job.n === i + 1) ?? null));
    element.dataset.asked = String(Number(element.dataset.asked ?? 0) + 1);
  }

  /**
   * Starts or cancels a job.
   * @param {number} n
   * @param {'PUT' | 'DELETE'} method
   */
  async function change(n, method) {
    trouble.clear(refused);
    try {
      await askWithToken(`jobs/${n}`, method);
      poll();
    } catch (error) {
      if (!signal.aborted) trouble.show(refused, error, () => void change(n, method));
    }
  }

  /** Offers only what the service takes. Where that is not known, it says so itself. */
  async function limit() {
    const document = await ask('openapi.json', { signal }).catch(() => null);
    const parameters = document?.paths?.['/jobs/{n}']?.put?.parameters ?? [];
    const max = parameters.find((/** @type {{ name: string }} */ one) => one.name === 'n')?.schema?.maximum;
    if (typeof max === 'number') rows.forEach((one, i) => one.offer(i + 1 <= max));
  }

  async function publish() {
    try {
      /** @type {Published[]} */
      const published = await Promise.all(rows.map((_, i) => ask(`count/${i + 1}?method=published`, { signal })));
      published.forEach((one, i) => rows[i]?.publish(one));
      const names = [...new Map(published.map((one) => [one.source.name, one.source.url])).keys()];
      write(source, t('counts.source', { name: names.join(', ') }));
      /** @type {import('./plot.js').Point[]} */
      const points = published.map((one) => ({ n: one.n, count: Number(one.count_text), error: null }));
      picture.replaceChildren(plot(points));
      for (let n = PUBLISHED + 1; n <= ESTIMATED; n += 1) {
        const guess = await ask(`estimate/${n}?probes=${PROBES}`, { signal });
        points.push({ n, count: guess.count, error: guess.relative_error ?? 0 });
      }
      picture.replaceChildren(plot(points));
    } catch (error) {
      if (!signal.aborted) trouble.show(refused, error, () => void publish());
    }
  }
}

/**
 * @param {number} n
 * @param {(n: number, method: 'PUT' | 'DELETE') => void} change
 */
function row(n, change) {
  const here = cell('here');
  const [published, fundamental, half, quarter] = [cell('published'), cell('fundamental'), cell('half'), cell('quarter')];
  const state = h('span', { class: 'state' });
  const bar = h('progress', { max: 1, value: 0, 'aria-label': t('counts.progress', { n }) });
  const left = h('span', { class: 'note left' });
  const record = h('span', { class: 'note record' });
  const start = h('button', { type: 'button', class: 'start', click: () => change(n, 'PUT') });
  const cancel = h('button', { type: 'button', class: 'cancel', 'aria-label': t('counts.cancel', { n }), click: () => change(n, 'DELETE') }, t('counts.cancel.short'));
  const job = h('td', { class: 'job' }, h('div', {}, state, bar, left, start, cancel, record));
  const element = h('tr', { 'data-n': n }, h('th', { scope: 'row' }, n), job, here, published, fundamental, half, quarter);
  /** @type {Job | null} */
  let last = null;
  let offered = true;
  show(null);
  return {
    element,
    show,
    /** @param {boolean} may whether a job of this size may be started */
    offer(may) {
      offered = may;
      show(last);
    },
    /** @param {Published} one */
    publish(one) {
      write(published, number(one.count_text));
      write(fundamental, number(one.fundamental_text));
      write(half, number(one.symmetric.half_turn));
      write(quarter, number(one.symmetric.quarter_turn));
    },
  };

  /** @param {Job | null} known */
  function show(known) {
    last = known;
    const name = known?.state ?? null;
    const under = name === 'running' || name === 'queued';
    set(element, 'data-state', name);
    write(here, known?.count_text ? number(known.count_text) : '');
    write(state, name ? t(`counts.${name}`) : '');
    bar.hidden = !known || name === 'done';
    bar.value = known?.progress ?? 0;
    const eta = under ? known?.eta_seconds : null;
    write(left, eta === null || eta === undefined ? '' : t('counts.left', { time: duration(eta) }));
    start.hidden = under || name === 'done' || !offered;
    write(start, t(name ? 'counts.again.short' : 'counts.start.short'));
    set(start, 'aria-label', t(name ? 'counts.again' : 'counts.start', { n }));
    cancel.hidden = !under;
    const told = [];
    if (known?.started_at) told.push(t('counts.begun', { time: moment(known.started_at) }));
    if (known?.finished_at) told.push(t('counts.ended', { time: moment(known.finished_at) }));
    if (typeof known?.cpu_seconds === 'number') told.push(t('counts.cpu', { time: duration(known.cpu_seconds) }));
    write(record, told.join(' · '));
  }
}

/**
 * A cell that names its column, for screens that are too narrow for columns.
 * @param {'here' | 'published' | 'fundamental' | 'half' | 'quarter'} column
 */
function cell(column) {
  return h('td', { class: column, 'data-label': t(`counts.${column}`) });
}

/** @param {string} text */
function moment(text) {
  return new Date(text).toLocaleString(language() === 'zh' ? 'zh-CN' : 'en-GB', { dateStyle: 'medium', timeStyle: 'short' });
}
