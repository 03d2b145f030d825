// What the tests of the page share: a browser that reaches nothing but the service, and notes every complaint.
const assert = require('node:assert');
const { chromium } = require('playwright-core');

const address = process.argv[2];
/** Generous, for machines whose cores are all busy. */
const LONG = 60_000;

async function launch() {
  return chromium.launch({
    executablePath: '/usr/bin/chromium',
    args: ['--no-sandbox', '--disable-gpu', '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync'],
  });
}

/** A page in a context of its own. What it complains of is in `complaints`, what it wanted from elsewhere in `elsewhere`. */
async function visit(browser, where, options = {}) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, locale: 'en-GB', ...options });
  context.setDefaultTimeout(LONG);
  const page = await context.newPage();
  const [complaints, elsewhere] = [[], []];
  await context.route('**', (route) => {
    const url = route.request().url();
    if (url.startsWith(`${options.address ?? address}/`) || url.startsWith('data:') || url.startsWith('blob:')) return route.continue();
    elsewhere.push(url);
    return route.abort();
  });
  page.on('console', (message) => {
    if (message.type() === 'error' || message.type() === 'warning') complaints.push(message.text());
  });
  page.on('pageerror', (error) => complaints.push(String(error)));
  await page.goto(`${options.address ?? address}/${where}`);
  return {
    page,
    complaints,
    elsewhere,
    async end() {
      assert.deepStrictEqual({ complaints, elsewhere }, { complaints: [], elsewhere: [] });
      await context.close();
    },
  };
}

/** Waits until the watch view shows the state after an event, and knows the whole search. */
async function at(page, i) {
  await page.locator(`.watch[data-at="${i}"]`).waitFor();
  await page.locator('.overview').waitFor();
}

async function json(path) {
  const response = await fetch(`${address}/${path}`);
  assert(response.ok, `${path}: ${response.status}`);
  return response.json();
}

/** Runs the parts of a test, one after the other. */
function run(name, parts) {
  (async () => {
    const browser = await launch();
    try {
      for (const [part, test] of Object.entries(parts)) {
        const begin = Date.now();
        await test(browser);
        console.log(`${name}: ${part}: ok (${((Date.now() - begin) / 1000).toFixed(1)} s)`);
      }
    } finally {
      await browser.close();
    }
  })().catch((error) => {
    console.error(error);
    process.exit(1);
  });
}

module.exports = { address, assert, at, json, run, visit };
