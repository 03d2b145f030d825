// Calls every operation of a running service with openapi-fetch and the types that openapi-typescript makes of its
// document.
// Usage: node openapi_typescript.js ADDRESS TOKEN
import assert from 'node:assert';
import createClient from 'openapi-fetch';
import type { paths } from './schema.js';

const [address, token] = process.argv.slice(2);
// Where an answer has several formats, the types have to be told which is meant.
const client = createClient<paths, 'application/json' | 'application/problem+json'>({ baseUrl: address, headers: { Authorization: `Bearer ${token}` } });
const called = new Set<string>();
client.use({ onRequest: ({ request, schemaPath }) => { called.add(`${request.method.toLowerCase()} ${schemaPath}`); } });

const solve = await client.GET('/solve/{n}', { params: { path: { n: 8 } } });
assert(solve.data?.steps?.try === 113, JSON.stringify(solve));
const drawn = await client.GET('/solve/{n}', { params: { path: { n: 4 }, query: { format: 'text' } }, parseAs: 'text' });
assert(drawn.data?.startsWith('4 . . Q .\n'));
const verified = await client.POST('/verify', { body: { b: [2, 4, 1, 3] } });
assert(verified.data?.symmetry?.orbit === 2);
const completed = await client.POST('/complete', { body: { b: [2, 0, 0, 0] } });
assert.deepStrictEqual(completed.data?.solutions, [[2, 4, 1, 3]]);
const traced = await client.GET('/trace/{n}', { params: { path: { n: 4 }, query: { limit: 2, arrays: true } } });
assert(traced.data?.next === 2);

const n = { path: { n: 22 } };
const put = await client.PUT('/jobs/{n}', { params: n });
assert(put.response.status === 202 && (put.data?.state === 'queued' || put.data?.state === 'running'));
const got = await client.GET('/jobs/{n}', { params: { ...n, query: { wait: 1 } } });
assert(got.data?.state === 'queued' || got.data?.state === 'running');
const cancelled = await client.DELETE('/jobs/{n}', { params: n });
assert(cancelled.data?.state === 'cancelled');
const events = await client.GET('/jobs/{n}/events', { params: n, parseAs: 'text' });
assert(events.data?.startsWith('id: cancelled\ndata: {'));
const over = await client.GET('/jobs/{n}/events', { params: { ...n, query: { lastEventId: 'cancelled' } } });
assert(over.response.status === 204);
const missing = await client.DELETE('/jobs/{n}', { params: { path: { n: 21 } } });
assert(missing.error?.type === 'urn:nqueens:problem:no-such-job');

// The rest takes a size, or what the document gives as an example.
type Parameter = { name: string; in: string; example?: string };
type Operation = { parameters?: Parameter[] };
const document = await (await fetch(`${address}/openapi.json`)).json() as { paths: Record<string, Record<string, Operation>> };
let operations = 0;
for (const [path, item] of Object.entries(document.paths)) {
  for (const [method, { parameters = [] }] of Object.entries(item)) {
    operations += 1;
    if (called.has(`${method} ${path}`)) continue;
    assert(method === 'get', `${method} ${path} needs a call of its own`);
    const inPath = parameters.filter((parameter) => parameter.in === 'path').map(({ name, example }) => [name, example ?? 8]);
    const answer = await client.GET(path as '/solve/{n}', { params: { path: Object.fromEntries(inPath) }, parseAs: 'text' });
    assert(answer.response.ok, path);
  }
}
console.log(`openapi-typescript: ${operations} operations`);
