// The usual clients of server-sent events, behind a proxy that cuts the stream once: each comes back, says which event
// it saw last, gets the final state, and then leaves for good.
// Usage: NODE_PATH=... node tests/clients/events.cjs ADDRESS
const assert = require('node:assert');
const { EventSourcePolyfill } = require('event-source-polyfill');
const { EventSource } = require('eventsource');
const { proxy } = require('./proxy.cjs');

const address = process.argv[2];
const complain = console.error;
console.error = () => {}; // the polyfill tells each cut at length
const job = '/jobs/22';

// Of the interface that browsers have; settled when the client has left.
const browserLike = (Client, leaves) => (url, onEvent) => new Promise((left) => {
  const source = new Client(url);
  source.onmessage = ({ lastEventId, data }) => {
    onEvent(lastEventId, data);
    if (leaves || lastEventId === 'running') return;
    source.close();
    left();
  };
  source.onerror = () => { if (source.readyState === Client.CLOSED) left(); };
});

const clients = {
  // It takes a 204 for a fault and comes back for ever, so its user has to close it at the final state.
  'event-source-polyfill': browserLike(EventSourcePolyfill, false),
  // It leaves by itself when it comes back and is told 204.
  eventsource: browserLike(EventSource, true),
  // Made for browsers' windows; it leaves where the stream ends in order.
  'fetch-event-source': (url, onEvent) => {
    globalThis.window = globalThis;
    globalThis.document = { hidden: false, addEventListener() {}, removeEventListener() {} };
    const { fetchEventSource } = require('@microsoft/fetch-event-source');
    return fetchEventSource(url, { onmessage: (message) => onEvent(message.id, message.data) });
  },
};

(async () => {
  for (const [name, client] of Object.entries(clients)) {
    assert.strictEqual((await fetch(address + job, { method: 'PUT' })).status, 202);
    const front = await proxy(address, { cutting: true });
    const seen = [];
    await client(`${front.address}/nq${job}/events`, (id, data) => {
      seen.push({ id, state: JSON.parse(data).state });
      // The second event is the first after the cut.
      if (seen.length === 2) fetch(address + job, { method: 'DELETE' });
    });
    front.close();
    assert.deepStrictEqual(seen.at(-1), { id: 'cancelled', state: 'cancelled' }, name);
    assert(seen.slice(0, -1).every(({ id }) => id === 'running'), name);
    const told = front.requests.map(({ url, headers }) =>
      new URL(url, address).searchParams.get('lastEventId') ?? headers['last-event-id']);
    assert.deepStrictEqual(told.slice(0, 2), [undefined, 'running'], name);
    if (told.length > 2) assert.deepStrictEqual(told.slice(2), ['cancelled'], name);
    console.log(`${name}: ok, ${seen.length} events in ${told.length} requests`);
  }
})().catch((error) => {
  complain(error);
  process.exit(1);
});
