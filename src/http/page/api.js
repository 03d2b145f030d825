// What the page asks of the service, by addresses relative to the page's own.

/** A question that has no answer: the service could not be reached, or said why not. */
export class Trouble extends Error {
  /**
   * @param {number} status 0 where the service could not be reached
   * @param {string} detail the service's own words
   * @param {number} retryAfter seconds; 0 where it said nothing
   */
  constructor(status, detail, retryAfter = 0) {
    super(detail);
    this.status = status;
    this.detail = detail;
    this.retryAfter = retryAfter;
  }
}

/**
 * @param {string} path
 * @param {{ method?: string, body?: unknown, signal?: AbortSignal, token?: string }} [options]
 * @returns {Promise<any>}
 */
export async function ask(path, { method = 'GET', body, signal, token } = {}) {
  /** @type {Record<string, string>} */
  const headers = { accept: 'application/json' };
  if (body !== undefined) headers['content-type'] = 'application/json';
  if (token) headers.authorization = `Bearer ${token}`;
  let response;
  try {
    response = await fetch(path, { method, headers, signal, body: body === undefined ? undefined : JSON.stringify(body) });
    if (response.ok) return await response.json();
  } catch (error) {
    if (signal?.aborted) throw error;
    throw new Trouble(0, '');
  }
  const problem = await response.json().catch(() => ({}));
  const detail = typeof problem.detail === 'string' ? problem.detail : String(response.status);
  throw new Trouble(response.status, detail, Number(response.headers.get('retry-after')) || 0);
}
