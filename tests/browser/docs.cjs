// The API reader in a real browser that reaches nothing but the service, directly and behind a path prefix.
// Usage: NODE_PATH=... node tests/browser/docs.cjs ADDRESS
const assert = require('node:assert');
const { chromium } = require('playwright-core');
const { proxy } = require('../clients/proxy.cjs');

const address = process.argv[2];

const tryOut = async (page, method, path, n) => {
  const operation = page.locator(`.opblock-${method}`, { has: page.locator(`[data-path="${path}"]`) });
  await operation.locator('.opblock-summary-control').click();
  await operation.locator('.try-out__btn').click();
  await operation.locator('tr[data-param-name="n"] input').fill(String(n));
  await operation.locator('.execute').click();
  const answer = operation.locator('.live-responses-table').first();
  await answer.locator('.response-col_status').first().waitFor();
  return answer.innerText();
};

const look = async (browser, base) => {
  const page = await browser.newPage();
  const elsewhere = [];
  const complaints = [];
  const sent = [];
  await page.route('**', (route) => {
    const url = route.request().url();
    if (url.startsWith(`${base}/`) || url.startsWith('data:')) return route.continue();
    elsewhere.push(url);
    return route.abort();
  });
  page.on('console', (message) => { if (message.type() === 'error') complaints.push(message.text()); });
  page.on('pageerror', (error) => complaints.push(String(error)));
  page.on('request', (request) => sent.push(request));

  await page.goto(`${base}/docs`);
  await page.waitForSelector('.opblock-summary-path');
  const paths = await page.$$eval('.opblock-summary-path', (nodes) => nodes.map((node) => node.dataset.path));
  for (const path of ['/solve/{n}', '/count/{n}', '/healthz']) assert(paths.includes(path), `${path} in ${paths}`);

  // A student's first try: open an operation, fill in n, execute.
  const shown = await tryOut(page, 'get', '/solve/{n}', 8);
  assert(shown.includes('200') && /"move_off": 105/.test(shown), shown);
  assert.strictEqual(sent.at(-1).url(), `${base}/solve/8`);

  // Who has the token tells it once.
  await page.locator('.auth-wrapper .authorize').click();
  await page.locator('.auth-container input').fill('s3cret');
  await page.locator('.auth-btn-wrapper .authorize').click();
  await page.locator('.auth-btn-wrapper .btn-done').click();
  await tryOut(page, 'put', '/jobs/{n}', 9);
  assert.strictEqual((await sent.at(-1).allHeaders()).authorization, 'Bearer s3cret');
  assert.strictEqual(await page.locator('.opblock-get .authorization__btn').count(), 0, 'looking takes no token');

  assert.deepStrictEqual(elsewhere, []);
  assert.deepStrictEqual(complaints, []);
  await page.close();
};

(async () => {
  const browser = await chromium.launch({
    executablePath: '/usr/bin/chromium',
    args: ['--no-sandbox', '--disable-gpu', '--disable-background-networking', '--disable-component-update', '--disable-sync'],
  });
  const front = await proxy(address);
  try {
    for (const base of [address, `${front.address}/nq`]) await look(browser, base);
  } finally {
    await browser.close();
    front.close();
  }
  console.log('docs: ok');
})().catch((error) => {
  console.error(error);
  process.exit(1);
});
