// The page's other views: boards to try, solutions, counts and jobs; languages, and what happens when things go wrong.
// The service must take jobs of n = 20.
// Usage: NODE_PATH=... node tests/browser/page-views.cjs ADDRESS
const { networkInterfaces } = require('node:os');
const { join } = require('node:path');
const { address, assert, at, json, run, visit } = require('./common.cjs');

const strings = async (language) =>
  (await import(`data:text/javascript,${encodeURIComponent(require('node:fs').readFileSync(join(__dirname, `../../../src/http/page/${language}.js`), 'utf8'))}`)).default;

const square = (page, row, column) => page.locator(`.square[data-square="${row},${column}"]`);
const queens = (page) => page.$$eval('.queen[data-square]', (all) => all.map((one) => one.dataset.square));

/** Everything that is said on a page, seen or read aloud. */
const words = (page) => page.evaluate(() => {
  const found = [document.title];
  for (const element of document.querySelectorAll('body *')) {
    if (element.closest('.language, script, noscript, .detail')) continue;
    for (const name of ['aria-label', 'title', 'aria-valuetext']) if (element.hasAttribute(name)) found.push(element.getAttribute(name));
    for (const node of element.childNodes) if (node.nodeType === Node.TEXT_NODE && node.data.trim()) found.push(node.data.trim());
  }
  return found;
});

run('page, views', {
  async 'attacking queens show the pair'(browser) {
    const { page, end } = await visit(browser, '#/try/0,0,0,0,0,0,0,0');
    await square(page, 1, 1).click();
    await square(page, 3, 3).click();
    await page.locator('.attacks .U').waitFor();
    assert.strictEqual(await page.locator('.attacks li').innerText(), 'The queens of rows 1 and 3 attack each other along the up diagonal 0.');
    assert.strictEqual(await page.locator('.board .line.U').count(), 1);
    await square(page, 3, 1).click();
    assert.strictEqual(await page.locator('.attacks li').innerText(), 'The queens of rows 1 and 3 attack each other along column 1.');
    await page.locator('.undo').click();
    await page.locator('.attacks .U').waitFor();
    await square(page, 3, 3).click();
    assert.strictEqual(await page.locator('.attacks li').count(), 0);
    await page.waitForFunction(() => location.hash === '#/try/1,0,0,0,0,0,0,0');
    await page.reload();
    await page.locator('.queen[data-square="1,1"]').waitFor();
    assert.deepStrictEqual(await queens(page), ['1,1']);
    await end();
  },

  async 'keys place, block and take back'(browser) {
    const { page, end } = await visit(browser, '#/try/0,0,0,0');
    await square(page, 1, 1).focus();
    for (const key of ['ArrowUp', 'ArrowRight', 'Enter']) await page.keyboard.press(key);
    assert.deepStrictEqual(await queens(page), ['2,2']);
    await page.keyboard.press('ArrowUp');
    await page.keyboard.press('b');
    assert.strictEqual(await square(page, 3, 2).getAttribute('aria-label'), 'row 3, column 2, blocked');
    await page.keyboard.press('u');
    await page.keyboard.press('u');
    assert.deepStrictEqual(await queens(page), []);
    await end();
  },

  async 'blocked squares and completion'(browser) {
    const { page, end } = await visit(browser, '#/try/0,0,0,0');
    await page.locator('.complete').click();
    await page.locator('.verdict', { hasText: 'There is another one.' }).waitFor();
    const first = await queens(page);
    await page.locator('.other').click();
    const second = await queens(page);
    assert.deepStrictEqual([first, second].map((one) => one.join(' ')).sort(), ['1,2 2,4 3,1 4,3', '1,3 2,1 3,4 4,2']);
    await page.locator('.clear').click();
    await page.locator('input[value=block]').check();
    await square(page, 1, 2).click();
    await page.locator('.complete').click();
    await page.locator('.verdict', { hasText: 'the only completion' }).waitFor();
    assert.deepStrictEqual(await queens(page), ['1,3', '2,1', '3,4', '4,2']);
    await page.locator('.undo').click();
    await square(page, 1, 3).click();
    await page.locator('.complete').click();
    await page.locator('.verdict', { hasText: 'no completion' }).waitFor();
    await page.goto(`${address}/#/try/1,1,0,0`);
    await page.locator('.attacks .C').waitFor();
    await page.locator('.complete').click();
    await page.locator('.verdict', { hasText: 'cannot be completed' }).waitFor();
    await page.goto(`${address}/#/try/1,9,0,x`);
    await page.locator('.complaint', { hasText: '9' }).waitFor();
    await page.locator('.attacks li').waitFor({ state: 'detached' });
    assert.deepStrictEqual(await queens(page), ['1,1']);
    await end();
  },

  async 'a board is copied and downloaded, by the host\'s address too'(browser) {
    const host = Object.values(networkInterfaces()).flat().find((one) => one.family === 'IPv4' && !one.internal);
    const addresses = [address, ...(host ? [address.replace('127.0.0.1', host.address)] : [])];
    for (const from of addresses) {
      const { page, end } = await visit(browser, '#/try/2,4,1,3', { address: from, permissions: [] });
      assert.strictEqual(await page.evaluate(() => window.isSecureContext), from === address);
      for (const [button, text] of [['.copy-b', '[2,4,1,3]'], ['.copy-curl', `curl -H 'Content-Type: application/json' -d '{"b":[2,4,1,3],"blocked":[]}' '${from}/complete'`]]) {
        await page.locator(button).click();
        await page.locator('.notice', { hasText: 'Copied.' }).waitFor();
        await page.evaluate(() => {
          const area = document.createElement('textarea');
          area.id = 'pasted';
          document.body.append(area);
          area.focus();
        });
        await page.keyboard.press('Control+v');
        assert.strictEqual(await page.locator('#pasted').inputValue(), text);
        await page.evaluate(() => document.getElementById('pasted').remove());
      }
      const [file] = await Promise.all([page.waitForEvent('download'), page.locator('.download').click()]);
      assert.strictEqual(file.suggestedFilename(), 'queens-4.svg');
      const svg = require('node:fs').readFileSync(await file.path(), 'utf8');
      assert(svg.startsWith('<svg xmlns="http://www.w3.org/2000/svg"') && svg.split('translate(').length === 5, svg);
      await end();
    }
  },

  async 'solutions come as one scrolls, with their symmetry, and open elsewhere'(browser) {
    const { page, end } = await visit(browser, '#/solutions/8');
    await page.locator('.thumbs li').nth(59).waitFor();
    await page.locator('.list-end').scrollIntoViewIfNeeded();
    await page.locator('.told', { hasText: 'These are all: 92.' }).waitFor();
    assert.strictEqual(await page.locator('.thumbs li').count(), 92);
    const { events } = await json('trace/8?all=true&op=solution');
    const k = events.findIndex(({ b }) => b.join() === '3,5,2,8,1,7,4,6');
    await page.locator('.thumbs button').nth(k).click();
    await page.locator('.about', { hasText: 'Half a turn leaves it as it is.' }).waitFor();
    assert.strictEqual(await page.locator('.orbit li').count(), 4);
    await page.locator('.to-watch').click();
    await at(page, events[k].i);
    assert.strictEqual(await page.locator('[data-step=solutions]').innerText(), String(k + 1));
    await page.goBack();
    await page.locator('.thumbs button').nth(1).click();
    await page.locator('.to-try').click();
    await page.locator('.verdict', { hasText: 'Solved' }).waitFor();
    await page.goto(`${address}/#/solutions/8/fundamental`);
    await page.locator('.told', { hasText: 'These are all: 12.' }).waitFor();
    await page.goto(`${address}/#/solutions/3`);
    await page.locator('.told', { hasText: 'There is no solution for n = 3.' }).waitFor();
    await end();
  },

  async 'a job is started, its bar moves, it is cancelled, and seven pages watch'(browser) {
    const { page, end } = await visit(browser, '#/counts');
    const row = (where, n) => where.locator(`tr[data-n="${n}"]`);
    await row(page, 20).locator('.start').click();
    await row(page, 19).locator('.start').click();
    for (const n of [19, 20]) await page.locator(`tr[data-n="${n}"][data-state]`).waitFor();
    const others = [];
    const context = page.context();
    for (let i = 0; i < 6; i += 1) {
      const other = await context.newPage();
      await other.goto(`${address}/#/counts`);
      others.push(other);
    }
    const moves = async (where) => {
      await where.bringToFront();
      await where.locator('.plot circle.estimate').last().waitFor();
      const asked = await where.locator('.counts').getAttribute('data-asked');
      await where.waitForFunction((before) => document.querySelector('.counts').dataset.asked !== before, asked);
      // Of two jobs one goes after the other, or one is done already.
      await where.waitForFunction(() => [...document.querySelectorAll('tr[data-n="19"], tr[data-n="20"]')].some((one) =>
        one.dataset.state === 'done' || one.querySelector('progress').value > 0));
    };
    for (const where of [page, ...others]) await moves(where);
    for (const other of others) await other.close();
    await page.bringToFront();
    const bar = (n) => page.$eval(`tr[data-n="${n}"]`, (one) => (one.dataset.state === 'done' ? 1 : one.querySelector('progress').value));
    const before = [await bar(19), await bar(20)];
    await page.waitForFunction(([a, b]) => {
      const value = (n) => { const one = document.querySelector(`tr[data-n="${n}"]`); return one.dataset.state === 'done' ? 1 : one.querySelector('progress').value; };
      return value(19) > a || value(20) > b;
    }, before);
    for (const n of [19, 20]) {
      const cancel = row(page, n).locator('.cancel');
      if (await cancel.isVisible()) await cancel.click();
      await page.locator(`tr[data-n="${n}"][data-state=cancelled], tr[data-n="${n}"][data-state=done]`).waitFor();
    }
    assert.strictEqual(await row(page, 27).locator('.start').isVisible(), false);
    assert.strictEqual(await row(page, 8).locator('td').nth(2).innerText(), '92');
    await end();
  },

  async 'a token is asked for once and kept in memory only'(browser) {
    const { page, complaints, end } = await visit(browser, '#/counts');
    const given = [];
    await page.route('**/jobs/13', (route) => {
      const { authorization } = route.request().headers();
      given.push(authorization);
      if (authorization === 'Bearer open sesame') return route.fulfill({ status: 202, contentType: 'application/json', body: '{}' });
      return route.fulfill({ status: 401, contentType: 'application/problem+json', body: '{"detail":"A token is needed."}' });
    });
    const start = page.locator('tr[data-n="13"] .start');
    await start.click();
    await page.locator('dialog input').fill('open sesame');
    await page.keyboard.press('Enter');
    await page.locator('dialog').waitFor({ state: 'detached' });
    await Promise.all([page.waitForResponse('**/jobs/13'), start.click()]);
    assert.deepStrictEqual(given, [undefined, 'Bearer open sesame', 'Bearer open sesame']);
    assert.strictEqual(await page.evaluate(() => localStorage.length + sessionStorage.length + document.cookie.length), 0);
    assert(complaints.every((line) => /status of 401/.test(line)), complaints.join());
    complaints.length = 0;
    await end();
  },

  async 'everything works behind a path prefix'(browser) {
    const http = require('node:http');
    const proxy = http.createServer((question, answer) => {
      if (!question.url.startsWith('/nqueens/')) {
        answer.writeHead(404);
        return answer.end();
      }
      const { hostname, port } = new URL(address);
      const on = http.request({ hostname, port, path: question.url.slice('/nqueens'.length), method: question.method, headers: question.headers }, (got) => {
        answer.writeHead(got.statusCode, got.headers);
        got.pipe(answer);
      });
      on.on('error', () => answer.destroy());
      return question.pipe(on);
    });
    await new Promise((resolve) => { proxy.listen(0, '127.0.0.1', resolve); });
    const { page, end } = await visit(browser, '#/watch/6/10', { address: `http://127.0.0.1:${proxy.address().port}/nqueens` });
    await at(page, 10);
    await page.goto(`${page.url().split('#')[0]}#/try/0,0,0,0`);
    await page.locator('.complete').click();
    await page.locator('.verdict.good').waitFor();
    await page.goto(`${page.url().split('#')[0]}#/counts`);
    await page.locator('.counts[data-asked]').waitFor();
    await end();
    proxy.close();
    proxy.closeAllConnections();
  },

  async 'both languages are whole, and neither is in the other'(browser) {
    const [en, zh] = [await strings('en'), await strings('zh')];
    assert.deepStrictEqual(Object.keys(zh), Object.keys(en));
    for (const key of Object.keys(en)) {
      const fields = (text) => [...new Set(text.match(/\{\w+\}/g) ?? [])].sort();
      assert.deepStrictEqual(fields(zh[key]), fields(en[key]), key);
    }
    const code = /Try|Safe|and|Record|Move-Off|while|if|else|return|Enter|Space|Home|End|Shift|curl|SVG|OEIS|nqueens/g;
    for (const hash of ['#/watch/8/40', '#/watch/4/all/60', '#/try/1,1,0,0,0', '#/solutions/5', '#/counts', '#/watch/77/3']) {
      for (const lang of ['en', 'zh']) {
        const { page, end } = await visit(browser, `?lang=${lang}${hash}`);
        if (hash.includes('watch')) await page.locator('.call').first().waitFor({ timeout: 20_000 }).catch(() => undefined);
        if (hash.includes('solutions')) { await page.locator('.thumbs button').first().click(); await page.locator('.orbit li').first().waitFor(); }
        if (hash.includes('counts')) await page.locator('.plot circle.estimate').last().waitFor();
        const said = await words(page);
        const foreign = lang === 'en'
          ? said.filter((text) => /[\u3400-\u9fff]/.test(text))
          : said.filter((text) => /[A-Za-z]{3,}/.test(text.replaceAll(code, '')));
        assert.deepStrictEqual(foreign, [], `${lang} ${hash}`);
        await end();
      }
    }
    const { page, end } = await visit(browser, '#/watch/8/17', { locale: 'zh-CN' });
    await at(page, 17);
    assert.strictEqual(await page.getAttribute('html', 'lang'), 'zh-Hans');
    await page.locator('.language').click();
    await page.locator('h1', { hasText: en['watch.heading'] }).waitFor();
    await page.reload();
    await at(page, 17);
    assert.strictEqual(await page.getAttribute('html', 'lang'), 'en');
    await end();
  },

  async 'a service that cannot be reached or is busy is told, with a way to try again'(browser) {
    const { page, complaints, end } = await visit(browser, '#/watch/6/3');
    await at(page, 3);
    let how = (route) => route.abort();
    await page.route('**/trace/7**', (route) => how(route));
    await page.locator('select.n').selectOption('7');
    await page.locator('.trouble', { hasText: 'cannot be reached' }).waitFor();
    how = (route) => route.fulfill({ status: 503, contentType: 'application/problem+json', headers: { 'retry-after': '1' }, body: '{"detail":"The line is full."}' });
    await page.locator('.trouble button').click();
    await page.locator('.trouble', { hasText: 'busy' }).waitFor();
    assert((await page.locator('.trouble').innerText()).includes('The line is full.'));
    how = (route) => route.continue();
    await page.locator('.trouble button').click();
    await at(page, -1);
    await page.locator('.trouble').waitFor({ state: 'detached' });
    // The browser's own lines about what was refused on purpose.
    assert(complaints.every((line) => /^Failed to load resource/.test(line)), complaints.join('\n'));
    complaints.length = 0;
    await end();
  },
});
