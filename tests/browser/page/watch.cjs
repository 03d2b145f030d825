// The page's view of the search, against an independent replay of /trace.
// Usage: NODE_PATH=... node tests/browser/page-watch.cjs ADDRESS
const { address, assert, at, json, run, visit } = require('./common.cjs');

/** The states after each event by the routine's own rules, from the events alone; the first is before all of them. */
function replay(n, events) {
  const states = [];
  const queens = []; // [row, column]
  const open = []; // { row, j, q }
  const steps = { try: 0, safe: 0, record: 0, move_off: 0, solutions: 0 };
  const line = { try: 'Try(s):', safe: 'if Safe(s, j):', record: 'Record(s, j)', move_off: 'if q = 0: Move-Off(s, j)', return: 'return q' };
  const free = (on) => (queens.some(([i, j]) => on(i, j)) ? 0 : 1);
  const note = (lit) => {
    const range = (from, to) => Array.from({ length: to - from + 1 }, (_, k) => from + k);
    states.push(JSON.parse(JSON.stringify({
      b: range(1, n).map((row) => queens.find(([i]) => i === row)?.[1] ?? 0),
      c: range(1, n).map((k) => free((i, j) => j === k)),
      d: range(2, 2 * n).map((k) => free((i, j) => i + j === k)),
      u: range(1 - n, n - 1).map((k) => free((i, j) => i - j === k)),
      stack: open.map(({ row, j, q }) => [`Try(${row})`, j, q]).reverse(),
      steps, lit,
    })));
  };
  note('');
  for (const { op, row, column, ok } of events) {
    if (op in steps) steps[op] += 1;
    if (op === 'try') open.push({ row, j: 0, q: 0 });
    if (op === 'safe') open.at(-1).j = column;
    if (op === 'record') queens.push([row, column]);
    if (op === 'move_off') queens.pop();
    if (op === 'solution') { steps.solutions += 1; open.at(-1).q = 1; }
    if (op === 'return') { open.pop(); if (ok && open.length) open.at(-1).q = 1; }
    note(op === 'solution' ? 'if s = n: q ← 1, output B' : line[op]);
  }
  return states;
}

/** What the page shows; runs in the page. */
function look() {
  const all = (selector) => [...document.querySelectorAll(selector)];
  const n = all('.strip.B .cell').length;
  const values = (name) => all(`.strip.${name} .cell .value`).map((cell) => Number(cell.textContent));
  const b = Array(n).fill(0);
  for (const queen of all('.queen[data-square]')) {
    const [row, column] = queen.dataset.square.split(',').map(Number);
    // Where it is drawn, row 1 at the bottom.
    const [, x, y] = /translate\((\S+) (\S+)\)/.exec(queen.getAttribute('transform')).map(Number);
    if (x !== (column - 1) * 10 || y !== (n - row) * 10) throw new Error(`queen of row ${row} at ${x}, ${y}`);
    b[row - 1] = column;
  }
  if (values('B').join() !== b.join()) throw new Error('strip B and board differ');
  return {
    b, c: values('C'), d: values('D'), u: values('U'),
    stack: all('.stack tbody tr:not([hidden])').map((row) => [row.cells[0].textContent, Number(row.cells[1].textContent), Number(row.cells[2].textContent)]),
    steps: Object.fromEntries(all('[data-step]').map((one) => [one.dataset.step, Number(one.textContent.replaceAll(',', ''))])),
    lit: all('.code [aria-current]').map((line) => line.textContent.trim()).join(),
  };
}

/** What the page shows after each press of a key, which leads to the events in turn. */
function walk(page, key, events) {
  return page.evaluate(`(async () => {
    const look = ${look};
    const view = document.querySelector('.watch');
    const seen = [];
    for (const i of ${JSON.stringify(events)}) {
      document.body.dispatchEvent(new KeyboardEvent('keydown', { key: '${key}', bubbles: true }));
      while (view.dataset.at !== String(i)) await new Promise((resolve) => setTimeout(resolve));
      seen.push(look());
    }
    return seen;
  })()`);
}

/** Does something to the page and waits for the event that it leads to. */
async function to(page, i, act) {
  await act();
  await at(page, i);
}

run('page, watch', {
  async 'event by event, forwards and backwards'(browser) {
    for (const n of [4, 6, 8]) {
      const { events } = await json(`trace/${n}?limit=10000`);
      const states = replay(n, events);
      const { page, end } = await visit(browser, `#/watch/${n}/start`);
      await at(page, -1);
      assert.deepStrictEqual(await page.evaluate(look), states[0]);
      const on = events.map(({ i }) => i);
      assert.deepStrictEqual(await walk(page, 'ArrowRight', on), states.slice(1), `n = ${n}, forwards`);
      const back = [-1, ...on.slice(0, -1)].reverse();
      assert.deepStrictEqual(await walk(page, 'ArrowLeft', back), states.slice(0, -1).reverse(), `n = ${n}, backwards`);
      await end();
    }
  },

  async 'a sentence says why a square was refused, and lines show it'(browser) {
    const { page, end } = await visit(browser, '#/watch/8/start');
    const { events } = await json('trace/8?limit=400');
    const { i, row, column, refused_by: by } = events.find((event) => event.refused_by?.join() === 'D');
    await page.goto(`${address}/#/watch/8/${i}`);
    await at(page, i);
    const text = await page.locator('.sentence').innerText();
    assert(text.startsWith(`Safe(${row}, ${column}): refused by D, the down diagonal ${row + column} is taken by the queen of row `), text);
    assert.deepStrictEqual(by, ['D']);
    assert.strictEqual(await page.locator('.board .line.taken.D').count(), 1);
    assert.strictEqual(await page.locator('.board .line.free').count(), 2);
    assert.deepStrictEqual(await page.$$eval('.strip .cell[data-lit]', (cells) => cells.map((cell) => Number(cell.dataset.k))), [column, row + column, row - column]);
    await end();
  },

  async 'a moment far into a search opens and steps both ways'(browser) {
    const { page, end } = await visit(browser, '#/watch/20/4000000');
    await at(page, 4_000_000);
    const check = async (i) => {
      const { events } = await json(`trace/20?from=${i}&limit=1&arrays=true`);
      const { b, c, d, u } = await page.evaluate(look);
      assert.deepStrictEqual({ b, c, d, u }, { b: events[0].b, c: events[0].c, d: events[0].d, u: events[0].u });
    };
    await check(4_000_000);
    await to(page, 4_000_001, () => page.keyboard.press('ArrowRight'));
    await check(4_000_001);
    for (const i of [4_000_000, 3_999_999, 3_999_998]) await to(page, i, () => page.keyboard.press('ArrowLeft'));
    await check(3_999_998);
    await end();
  },

  async 'next and previous of a kind, start and end'(browser) {
    const { events } = await json('trace/6?all=true&limit=10000');
    const { page, end } = await visit(browser, '#/watch/6/all/700');
    await at(page, 700);
    let now = 700;
    for (const [name, op] of [['r', 'record'], ['m', 'move_off'], ['s', 'solution']]) {
      const next = events.find((event) => event.i > now && event.op === op).i;
      await to(page, next, () => page.keyboard.press(name));
      const previous = events.filter((event) => event.i < next && event.op === op).pop().i;
      await to(page, previous, () => page.keyboard.press(`Shift+${name.toUpperCase()}`));
      now = previous;
    }
    await to(page, events.length - 1, () => page.keyboard.press('End'));
    assert.strictEqual(await page.locator('[data-step=solutions]').innerText(), '4');
    await to(page, -1, () => page.keyboard.press('Home'));
    await end();
  },

  async 'all solutions of n = 6 are four, played to the end'(browser) {
    const { page, end } = await visit(browser, '#/watch/6/all/start');
    await at(page, -1);
    await page.locator('.speed').fill('14');
    await page.keyboard.press('Space');
    await at(page, 1499);
    assert.strictEqual(await page.locator('[data-step=solutions]').innerText(), '4');
    await page.locator('.play', { hasText: 'Play' }).waitFor();
    await end();
  },

  async 'another n in the middle of a run leaves nothing running'(browser) {
    const { page, end } = await visit(browser, '#/watch/8/start');
    await at(page, -1);
    await page.evaluate(() => {
      window.frames_asked = 0;
      const ask = window.requestAnimationFrame.bind(window);
      window.requestAnimationFrame = (then) => { window.frames_asked += 1; return ask(then); };
    });
    await page.keyboard.press('Space');
    await page.waitForFunction(() => window.frames_asked > 3);
    await page.locator('select.n').selectOption('5');
    await at(page, -1);
    assert.strictEqual(await page.locator('.strip.B .cell').count(), 5);
    // A frame that still ran would ask for the next one before this one is over.
    const left = await page.evaluate(() => new Promise((resolve) => {
      const before = window.frames_asked;
      setTimeout(() => resolve(window.frames_asked - before), 500);
    }));
    assert.strictEqual(left, 0);
    assert.strictEqual(await page.locator('.watch').getAttribute('data-at'), '-1');
    await page.goBack();
    await page.locator('.strip.B .cell:nth-child(8)').waitFor();
    await end();
  },

  async 'clicks on the strip and on the tree land on their event'(browser) {
    const { page, end } = await visit(browser, '#/watch/7/all/start');
    await at(page, -1);
    const { events } = await json('trace/7/profile?all=true');
    const box = await page.locator('.overview').boundingBox();
    await page.locator('.overview').click({ position: { x: box.width / 2, y: box.height / 2 } });
    await page.locator('.watch:not([data-at="-1"])').waitFor();
    const landed = Number(await page.locator('.watch').getAttribute('data-at'));
    assert(Math.abs(landed - events / 2) <= events / box.width + 1, `${landed} of ${events}`);
    await page.locator('.call').first().waitFor();
    assert.strictEqual(await page.locator('.call').count(), 512);
    const call = page.locator('.call').nth(200);
    const begin = Number(await call.getAttribute('data-begin'));
    await to(page, begin, () => call.locator('circle').click());
    assert.strictEqual(await call.getAttribute('data-state'), 'path');
    await end();
  },

  async 'the address follows, and a reload keeps the view'(browser) {
    const { page, end } = await visit(browser, '#/watch/8/17');
    await at(page, 17);
    await to(page, 18, () => page.keyboard.press('ArrowRight'));
    await page.waitForFunction(() => location.hash === '#/watch/8/18');
    const length = await page.evaluate(() => history.length);
    await to(page, 19, () => page.keyboard.press('ArrowRight'));
    await page.waitForFunction(() => location.hash === '#/watch/8/19');
    await page.reload();
    await at(page, 19);
    assert.strictEqual(await page.evaluate(() => history.length), length);
    await end();
  },

  async 'who leaves at once after a step does not take the address along'(browser) {
    const { page, end } = await visit(browser, '#/watch/8/17');
    await at(page, 17);
    await page.evaluate(() => {
      for (let i = 0; i < 5; i += 1) document.body.dispatchEvent(new KeyboardEvent('keydown', { key: 'ArrowRight', bubbles: true }));
      document.querySelector('a[data-view=try]').click();
    });
    await page.locator('.try').waitFor();
    // Longer than an address waits to be written.
    assert.strictEqual(await page.evaluate(() => new Promise((resolve) => setTimeout(() => resolve(location.hash), 1500))), '#/try');
    await end();
  },

  async 'what is wrong with an address is said, and the nearest view shown'(browser) {
    for (const [hash, i, n, word] of [
      ['#/watch/99/5', 5, 29, '99'], ['#/watch/x/5', 5, 8, 'x'], ['#/watch/8/99999', 1320, 8, '99999'], ['#/watch/8/-3', -1, 8, '-3'],
      ['#/watch/13/all/1', 1, 12, '13'], ['#/nonsense', -1, 8, 'nonsense'],
      ['#/watch/<img src=x onerror=alert(1)>/1', 1, 8, '<img'],
    ]) {
      const { page, end } = await visit(browser, hash);
      await at(page, i);
      assert.strictEqual(await page.locator('.strip.B .cell').count(), n, hash);
      const said = (await page.locator('.complaint p, .notice').allInnerTexts()).join();
      assert(said.includes(word), `${hash}: ${said}`);
      assert.strictEqual(await page.locator('img').count(), 0);
      await end();
    }
  },
});
