// A hundred random walks of keys and clicks over the page. Nothing may go wrong in it, whatever is done.
// Usage: NODE_PATH=... node tests/browser/page-walks.cjs ADDRESS [SEED]
const { assert, run, visit } = require('./common.cjs');

const WALKS = 100;
const STEPS = 25;
const seed = Number(process.argv[3] ?? 1);

/** Mulberry32: the same numbers for the same seed. */
function random(state) {
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}

const KEYS = ['ArrowRight', 'ArrowLeft', 'ArrowUp', 'ArrowDown', 'Home', 'End', ' ', 'Enter', 'Tab', 'Shift+Tab', 'r', 'm', 's', 'R', 'M', 'S', '+', '-', 'p', 'b', 'u', 'Escape', 'PageDown'];
const PLACES = ['#/watch/8/start', '#/watch/5/all/100', '#/watch/12/all/9999999', '#/watch/20/4000000', '#/try/0,0,0,0,0,0', '#/try/9,9', '#/solutions/7', '#/solutions/2/fundamental', '#/counts', '#/what', '#/watch/0/x', '#/try/%zz'];

run('page, walks', {
  async [`${WALKS} walks from seed ${seed}`](browser) {
    const { page, complaints, elsewhere, end } = await visit(browser, '');
    await page.addInitScript(() => {
      window.gone_wrong = [];
      // The link to the API's reader would leave the page.
      addEventListener('click', (event) => { if (event.target.closest?.('.reference')) event.preventDefault(); }, true);
      addEventListener('unhandledrejection', (event) => window.gone_wrong.push(`rejection: ${event.reason}`));
      addEventListener('securitypolicyviolation', (event) => window.gone_wrong.push(`policy: ${event.violatedDirective} ${event.blockedURI}`));
    });
    await page.reload();
    for (let walk = 0; walk < WALKS; walk += 1) {
      const next = random(seed * 1000 + walk);
      const one = (list) => list[Math.floor(next() * list.length)];
      const done = [one(PLACES)];
      await page.evaluate((hash) => { location.hash = hash; }, done[0]);
      for (let step = 0; step < STEPS; step += 1) {
        if (next() < 0.5) {
          const key = one(KEYS);
          done.push(key);
          await page.keyboard.press(key);
        } else {
          // Whatever can be clicked, seen or not; not what leaves the page, nor what starts a count.
          done.push(await page.evaluate((part) => {
            const all = [...document.querySelectorAll('button:not(.start), a:not(.reference), select, input, summary, .square, .call, .overview')];
            const target = all[Math.floor(part * all.length)];
            if (!target) return 'nothing';
            if (target instanceof HTMLSelectElement) {
              target.selectedIndex = Math.floor(part * 997 * target.length) % target.length;
              target.dispatchEvent(new Event('change'));
            } else target.dispatchEvent(new MouseEvent('click', { bubbles: true, cancelable: true, clientX: part * 1000 }));
            return target.className || target.tagName;
          }, next()));
        }
      }
      const wrong = await page.evaluate(() => window.gone_wrong);
      const lines = complaints.filter((line) => !/^Failed to load resource: the server responded with a status of (4|503)/.test(line));
      assert.deepStrictEqual({ wrong, lines, elsewhere }, { wrong: [], lines: [], elsewhere: [] }, `walk ${walk}: ${done.join(', ')}`);
    }
    complaints.length = 0;
    await end();
  },
});
