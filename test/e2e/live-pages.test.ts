import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runsPage } from '../../src/web/pages/runs/runs-pages.ts';
import { browserNote, runsBrowser } from '../support/browser/chromium.ts';
import { type RedisServer, redisAvailable, startRedis } from '../support/servers/redis.ts';
import { createProductsWorld, PRODUCTS } from '../support/worlds/daemon-world.ts';
import { openDashboard, type WatchedDashboard } from './support/watched-page.ts';

/** A page with the script of the dashboard and with content from the test, so that the test knows each change. */
const pageOf = (part: string, renewableInMs = 0) => `<!doctype html><html lang="en"><head><title>x</title>
<${'script'} src="/assets/live.js" defer></${'script'}></head>
<body><p id="outside">outside</p><div id="part" data-live data-renewable-in="${renewableInMs}">${part}</div></body></html>`;

const box = (value: string) => `<tr><td><input type="checkbox" name="key" value="${value}"></td><td>${value}</td></tr>`;

describe.skipIf(!runsBrowser)(`a page that renews itself${browserNote}`, () => {
  let web: WatchedDashboard;
  let page: Page;
  let content = '';

  beforeAll(async () => {
    web = await openDashboard(await createProductsWorld());
    ({ page } = web);
    await web.logIn();
    await page.route(`${web.url}/example`, (route) =>
      route.fulfill({ contentType: 'text/html', body: pageOf(content) }),
    );
  });
  afterAll(() => web.remove());

  const change = () => web.daemon.runtime.bus.emit({ type: 'run_ended', source: 'erp', result: 'complete' });
  async function show(part: string): Promise<void> {
    content = part;
    const stream = page.waitForResponse(`${web.url}/live`);
    await page.goto(`${web.url}/example`);
    await stream;
    await page.locator('#outside').evaluate((element) => element.setAttribute('data-mark', 'kept'));
  }
  async function renewTo(part: string, shown = 'renewed'): Promise<void> {
    content = `${part}<i>renewed</i>`;
    change();
    await page.getByText(shown).waitFor();
    // The mark shows that the page was not loaded again.
    expect(await page.getAttribute('#outside', 'data-mark')).toBe('kept');
  }

  it('a live page shows a run of the daemon without being loaded again', async () => {
    const stream = page.waitForResponse(`${web.url}/live`);
    await page.goto(`${web.url}/`);
    await stream;
    await page.locator('body').evaluate((element) => element.setAttribute('data-mark', 'kept'));
    await web.daemon.startRun('erp', 'schedule');
    await page.getByText('is not a valid choice').first().waitFor();
    expect(await page.getAttribute('body', 'data-mark')).toBe('kept');
  });

  it('a live page of the queues has the failed jobs that its counts have', async () => {
    await web.daemon.startRun('erp', 'schedule');
    await expect.poll(() => web.daemon.runtime.queues.failed('deliver')).toHaveLength(1);
    const stream = page.waitForResponse(`${web.url}/live`);
    await page.goto(`${web.url}/queues`);
    await stream;
    await page.click('button[aria-label^="Retry product.create"]', { trial: true });
    await page.locator('body').evaluate((element) => element.setAttribute('data-mark', 'kept'));
    web.world.write('status.csv', PRODUCTS.fixed['status.csv']);
    await web.daemon.startRun('erp', 'schedule');
    await page.getByText('No job has failed.').waitFor();
    expect(await page.locator('button[aria-label^="Retry product.create"]').count()).toBe(0);
    expect(await page.getAttribute('body', 'data-mark')).toBe('kept');
  });

  it('a live page of the queues has what changes in a queue without an event', async () => {
    const stream = page.waitForResponse(`${web.url}/live`);
    await page.goto(`${web.url}/queues`);
    await stream;
    await page.locator('body').evaluate((element) => element.setAttribute('data-mark', 'kept'));
    await web.daemon.runtime.queues.setPaused('map', true);
    await page.getByRole('button', { name: 'Resume Mapping' }).waitFor();
    await web.daemon.runtime.queues.setPaused('map', false);
    await page.getByRole('button', { name: 'Pause Mapping' }).waitFor();
    expect(await page.getAttribute('body', 'data-mark')).toBe('kept');
  });

  it('a live page loads a part again that was made of kept counts, without a change', async () => {
    // The request for the stream of changes never gets an answer.
    await page.route(`${web.url}/live`, () => {});
    await page.route(`${web.url}/kept`, (route) =>
      route.fulfill({ contentType: 'text/html', body: pageOf(content, 200) }),
    );
    content = 'old counts';
    await page.goto(`${web.url}/kept`);
    await page.getByText('old counts').waitFor();
    content = 'new counts';
    await page.getByText('new counts').waitFor();
    await page.unroute(`${web.url}/live`);
  });

  it.each([
    ['dpp-sync does not answer', 502],
    ['dpp-sync does not answer', null],
    ['What this page shows is not there any more', 404],
    ['The page could not be renewed', 503],
  ])('a live page says that its figures are old, and why: %s (%s), until it is renewed', async (why, status) => {
    let answers = true;
    const at = `${web.url}/lost`;
    const note = '<p id="lost" hidden></p>';
    await page.route(at, (route) => {
      if (answers)
        return route.fulfill({ contentType: 'text/html', body: pageOf(content).replace('<p ', `${note}<p `) });
      return status === null ? route.abort() : route.fulfill({ status, contentType: 'text/html', body: '' });
    });
    content = 'figures';
    const stream = page.waitForResponse(`${web.url}/live`);
    await page.goto(at);
    await stream;
    expect(await page.locator('#lost').isVisible()).toBe(false);
    answers = false;
    change();
    await expect.poll(() => page.textContent('#lost')).toContain(`${why}, since `);
    answers = true;
    content = 'renewed figures';
    await expect.poll(() => (change(), page.locator('#lost').isVisible())).toBe(false);
    await page.getByText('renewed figures').waitFor();
    await page.unroute(at);
  });

  it('a live page writes times within sentences in the zone of the browser, and leaves keys, names and values as they are', async () => {
    const kept = 'LOT since 2026-05-01T10:00:00Z';
    await show('<p>first</p>');
    await renewTo('<p>asked to wait until 2026-05-01 10:00 UTC.</p><p>LOT/2026-05-01T10:00:00Z</p>');
    const zone = new Date('2026-05-01T10:00:00Z');
    const shown = await page.evaluate((at) => {
      const time = new Date(at);
      const two = (number: number) => String(number).padStart(2, '0');
      return `2026-05-01 ${two(time.getHours())}:${two(time.getMinutes())}`;
    }, zone.toISOString());
    const text = (await page.textContent('#part')) ?? '';
    expect(text).toContain(`asked to wait until ${shown}.`);
    expect(text).toContain('LOT/2026-05-01T10:00:00Z');
    await show(
      `<h1>${kept}</h1><p class="lead">${kept}</p><dl><dd>${kept}</dd></dl><p><a href="/x">${kept}</a></p><p class="note">${kept}</p><table><tr><td>${kept}</td></tr></table>`,
    );
    expect(((await page.textContent('#part')) ?? '').split(kept)).toHaveLength(7);
  });

  it('a live page keeps a tick with its own row when rows come before it', async () => {
    await show(`<table><tbody>${box('B')}${box('C')}</tbody></table>`);
    await page.check('[value=C]');
    await page.focus('[value=C]');
    await renewTo(`<table><tbody>${box('A')}${box('B')}${box('C')}</tbody></table>`);
    const state = await page.$$eval('input', (boxes) => boxes.map(({ value, checked }) => [value, checked]));
    expect(state).toEqual([
      ['A', false],
      ['B', false],
      ['C', true],
    ]);
    expect(await page.evaluate('document.activeElement.value')).toBe('C');
  });

  it('a live page keeps the chosen source of the list of sources to run when another source begins to run', async () => {
    const sources = Array.from({ length: 12 }, (_, at) => ({ id: `plant-${at}`, streams: [] }));
    const listed = { rows: [], next: null, total: { count: 0, atLeast: false } };
    const view = { sources, csrf: 'c', now: 5000, listed, operates: true, query: new URLSearchParams() };
    const runs = (running: [string, number][]) => runsPage({ ...view, running: new Map(running) }).markup;
    await show(runs([]));
    await page.getByLabel('The source to run').selectOption('plant-5');
    await renewTo(runs([['plant-2', 1]]));
    const list = page.getByLabel('The source to run');
    expect([await list.inputValue(), await list.locator('option').count()]).toEqual(['plant-5', 11]);
  });

  it('a live page ticks nothing in the place of a row that has gone', async () => {
    await show(`<table><tbody>${box('A')}${box('B')}</tbody></table>`);
    await page.check('[value=A]');
    await renewTo(`<table><tbody>${box('B')}${box('C')}</tbody></table>`);
    expect(await page.$$eval('input:checked', (boxes) => boxes.length)).toBe(0);
  });

  it('a live page keeps details open, the text in a field, and the cursor in it', async () => {
    const fields = (text: string) =>
      `<p>${text}</p><details><summary>More</summary>text</details><input name="note" value="">`;
    await show(fields('before'));
    await page.click('summary');
    await page.fill('[name=note]', 'half a sente');
    await page.focus('[name=note]');
    await renewTo(fields('after'));
    await page.getByText('after').waitFor();
    await page.keyboard.type('nce');
    expect(await page.inputValue('[name=note]')).toBe('half a sentence');
    expect(await page.$eval('details', (details) => details.open)).toBe(true);
  });

  it('a live page keeps a form in which a person has typed, whatever comes, goes or changes around it', async () => {
    const form = (noted: number) =>
      `<form action="/note"><input type="hidden" name="noted" value="${noted}"><textarea name="note"></textarea></form>`;
    await show(`<p>one</p><p>two</p>${form(1)}`);
    await page.fill('[name=note]', 'half a sentence');
    await renewTo(`<b>second</b>${form(2)}`, 'second');
    await renewTo(`<p>third</p><div>new</div>${form(3)}`, 'third');
    await renewTo('<p>fourth, without the form</p>', 'fourth');
    expect(await page.inputValue('[name=note]')).toBe('half a sentence');
    // The form is about what the person has seen.
    expect(await page.inputValue('[name=noted]')).toBe('1');
    await page.fill('[name=note]', '');
    await renewTo(`<p>fifth</p>${form(5)}`, 'fifth');
    expect(await page.inputValue('[name=noted]')).toBe('5');
  });

  it('a live page whose login is over stays while a person has typed something, and says so', async () => {
    const at = `${web.url}/over`;
    let isOver = false;
    const part = '<form action="/note"><textarea name="note"></textarea></form>';
    await page.route(at, (route) => {
      if (isOver) return route.fulfill({ status: 303, headers: { location: '/login' } });
      const body = pageOf(part).replace('<p ', '<p id="lost" hidden></p><p ');
      return route.fulfill({ contentType: 'text/html', body });
    });
    const stream = page.waitForResponse(`${web.url}/live`);
    await page.goto(at);
    await stream;
    await page.fill('[name=note]', 'half a sentence');
    isOver = true;
    change();
    await expect.poll(() => page.textContent('#lost')).toContain('Your login is over. What you have typed is kept');
    expect(await page.inputValue('[name=note]')).toBe('half a sentence');
    await page.fill('[name=note]', '');
    change();
    await page.waitForURL(`${web.url}/login**`);
    await page.unroute(at);
    await web.logIn();
  });

  it('a live page leaves a text alone that is being marked, and renews it afterwards', async () => {
    await show('<p id="text">before</p>');
    await page.evaluate('getSelection().selectAllChildren(document.querySelector("#text"))');
    content = '<p id="text">after</p>';
    const loaded = page.waitForResponse(`${web.url}/example`);
    change();
    await loaded;
    expect(await page.evaluate('String(getSelection())')).toBe('before');
    await page.evaluate('getSelection().removeAllRanges()');
    await page.getByText('after').waitFor();
  });

  it('a live page writes times in the zone of the browser', async () => {
    await show(
      '<time datetime="2026-07-01T10:00:00.000Z" title="2026-07-01T10:00:00.000Z">2026-07-01 10:00 UTC</time>',
    );
    const shown = await page.textContent('time');
    const hour = await page.evaluate(() => new Date('2026-07-01T10:00:00.000Z').getHours());
    expect(shown).toBe(`2026-07-01 ${String(hour).padStart(2, '0')}:00`);
    expect(await page.getAttribute('time', 'title')).toBe('2026-07-01T10:00:00.000Z');
  });

  it('a live page leads to the login when the session has ended', async () => {
    await page.unroute(`${web.url}/example`);
    const stream = page.waitForResponse(`${web.url}/live`);
    await page.goto(`${web.url}/tasks`);
    await stream;
    await web.browser.context.clearCookies();
    change();
    await page.waitForURL(/\/login\?next=%2Ftasks/);
  });

  it('the browser complains of nothing on a live page', () => {
    expect(web.complaints.filter((one) => !one.includes('/lost: Failed to load resource'))).toEqual([]);
  });
});

describe.skipIf(!runsBrowser || !redisAvailable)(`an open page of the queues${browserNote}`, () => {
  let redis: RedisServer;
  let web: WatchedDashboard;

  beforeAll(async () => {
    redis = await startRedis();
    web = await openDashboard(await createProductsWorld({ queue: redis.url }));
    await web.logIn();
  });
  afterAll(async () => {
    await web.remove();
    await redis.stop();
  });

  it('an open page of the queues says that the queue is out of reach, and has its jobs again when it is back', async () => {
    const { page } = web;
    await page.goto(`${web.url}/queues`);
    await page.getByText('No job has failed.').waitFor();
    await page.locator('body').evaluate((element) => element.setAttribute('data-mark', 'kept'));
    await redis.kill();
    await page.getByText('The queue is out of reach.').waitFor();
    expect(await page.getByText('No job has failed.').count()).toBe(0);
    await redis.restart();
    await page.getByText('No job has failed.').waitFor();
    await page.getByRole('button', { name: 'Pause Deliveries' }).waitFor();
    expect(await page.getByText('The queue is out of reach.').count()).toBe(0);
    expect(await page.getAttribute('body', 'data-mark')).toBe('kept');
  });
});
