// Every view of the page in both languages and both colour schemes: axe-core finds nothing, nothing is wider than the
// screen, and the first view weighs little.
// Usage: NODE_PATH=... node tests/browser/page/axe.cjs ADDRESS
const { readFileSync } = require('node:fs');
const { address, assert, run, visit } = require('./common.cjs');

const axe = readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8');
const VIEWS = {
  '#/watch/8/100': '.call',
  '#/watch/29/start': '.overview',
  '#/try/1,2,0,0,5,0,0,0/6.6': '.attacks li',
  '#/solutions/6': '.thumbs button',
  '#/counts': '.plot circle.estimate',
  '#/watch/99/1': '.complaint',
};
const FIRST = 150_000;

run('page, axe', {
  async 'no violation on any view'(browser) {
    for (const [hash, ready] of Object.entries(VIEWS)) {
      for (const lang of ['en', 'zh']) {
        for (const colorScheme of ['light', 'dark']) {
          const { page, end } = await visit(browser, `?lang=${lang}${hash}`, { colorScheme, reducedMotion: 'reduce' });
          await page.locator(ready).first().waitFor();
          await page.locator('h1').waitFor(); // a complaint stands before its view does
          if (hash.includes('solutions')) { await page.locator('.thumbs button').first().click(); await page.locator('.orbit li').first().waitFor(); }
          await page.evaluate(axe);
          const { violations } = await page.evaluate(() => window.axe.run());
          const told = violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html, failureSummary }) => `${html} ${failureSummary}`).join('\n')}`);
          assert.deepStrictEqual(told, [], `${hash} ${lang} ${colorScheme}`);
          await end();
        }
      }
    }
  },

  async 'nothing is wider than the screen'(browser) {
    for (const hash of Object.keys(VIEWS)) {
      for (const lang of ['en', 'zh']) {
        for (const width of [360, 800, 1280, 1920]) {
          const { page, end } = await visit(browser, `?lang=${lang}${hash}`, { viewport: { width, height: 800 } });
          await page.locator(VIEWS[hash]).first().waitFor({ state: 'attached' });
          for (const large of [false, true]) {
            if (large) await page.locator('.size').click();
            const wide = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
            assert.strictEqual(wide, 0, `${hash} ${lang} ${width}, large: ${large}`);
          }
          await end();
        }
      }
    }
  },

  async 'a phone shows the numbers of the table whole'(browser) {
    const { page, end } = await visit(browser, '?lang=en#/counts', { viewport: { width: 360, height: 800 } });
    await page.locator('.plot circle.estimate').first().waitFor({ state: 'attached' });
    const cut = await page.evaluate(() => {
      const wrap = /** @type {HTMLElement} */ (document.querySelector('.table-wrap'));
      const right = wrap.getBoundingClientRect().right;
      const cells = [...wrap.querySelectorAll('td')].filter((cell) => cell.getBoundingClientRect().right > right + 0.5);
      return { cut: cells.map((cell) => cell.textContent), scrolls: wrap.scrollWidth > wrap.clientWidth };
    });
    assert.deepStrictEqual(cut, { cut: [], scrolls: false });
    await end();
  },

  async 'the first view weighs little'(browser) {
    const { page, end } = await visit(browser, 'healthz');
    let weight = 0;
    const parts = [];
    page.on('response', (response) => parts.push(response.body().then((body) => { weight += body.length; })));
    await page.goto(`${address}/`);
    await page.locator('.call').first().waitFor();
    await Promise.all(parts);
    console.log(`page, axe: the first view loads ${weight} bytes in ${parts.length} answers`);
    assert(parts.length > 10 && weight < FIRST, `${weight}`);
    await end();
  },
});
