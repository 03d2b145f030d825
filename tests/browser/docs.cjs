// The API reader in a real browser that reaches nothing but the service.
// Usage: NODE_PATH=... node tests/browser/docs.cjs ADDRESS
const assert = require('node:assert');
const { chromium } = require('playwright-core');

const address = process.argv[2];

(async () => {
  const browser = await chromium.launch({
    executablePath: '/usr/bin/chromium',
    args: ['--no-sandbox', '--disable-gpu', '--disable-background-networking', '--disable-component-update', '--disable-sync'],
  });
  try {
    const page = await browser.newPage();
    const elsewhere = [];
    const complaints = [];
    await page.route('**', (route) => {
      const url = route.request().url();
      if (url.startsWith(address) || url.startsWith('data:')) return route.continue();
      elsewhere.push(url);
      return route.abort();
    });
    page.on('console', (message) => { if (message.type() === 'error') complaints.push(message.text()); });
    page.on('pageerror', (error) => complaints.push(String(error)));

    await page.goto(`${address}/docs`);
    await page.waitForSelector('.opblock-summary-path');
    const paths = await page.$$eval('.opblock-summary-path', (nodes) => nodes.map((node) => node.dataset.path));
    for (const path of ['/solve/{n}', '/count/{n}', '/healthz']) assert(paths.includes(path), `${path} in ${paths}`);

    // A student's first try: open an operation, fill in n, execute.
    const solve = page.locator('.opblock', { has: page.locator('[data-path="/solve/{n}"]') });
    await solve.locator('.opblock-summary').click();
    await solve.locator('.try-out__btn').click();
    await solve.locator('tr[data-param-name="n"] input').fill('8');
    await solve.locator('.execute').click();
    await solve.locator('.live-responses-table .response-col_status').first().waitFor();
    const shown = await solve.locator('.live-responses-table').first().innerText();
    assert(shown.includes('200') && /"move_off": 105/.test(shown), shown);

    assert.deepStrictEqual(elsewhere, []);
    assert.deepStrictEqual(complaints, []);
  } finally {
    await browser.close();
  }
  console.log('docs: ok');
})().catch((error) => {
  console.error(error);
  process.exit(1);
});
