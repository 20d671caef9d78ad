import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { ITEM_KINDS } from '../../src/domain/item.ts';
import { BOARD_PATH } from '../../src/web/board.ts';
import type { ServedRoute } from '../../src/web/web-server.ts';
import { browserNote, runsBrowser, startBrowser, type TestBrowser } from '../support/browser/chromium.ts';
import { type GuardedWeb, openGuardedWeb, pathOf } from '../support/browser/guarded-web.ts';
import { WAIT_MS } from '../support/runner/limits.ts';
import { WEB_TOKEN } from '../support/worlds/daemon-world.ts';

const RUN = 'window.hostile=1';
/** Texts that an attacker could write into an ERP system to harm the people who see the data elsewhere. */
const HOSTILE = [
  `<script>${RUN}</script>`,
  `"><img src=x onerror=${RUN}>`,
  `'><svg onload=${RUN}>`,
  `</title></textarea></style></script><script>${RUN}</script>`,
  `javascript:${RUN}`,
  `" onfocus="${RUN}" autofocus="`,
  `<a href="javascript:${RUN}">x</a>`,
  '=HYPERLINK("http://evil.example","x")',
  "+cmd|' /C calc'!A0",
  '@SUM(1+1)',
  '&lt;script&gt; &amp; {{7*7}} ${7*7}',
  '‮gnp.exe',
  'W'.repeat(300),
];
const quoted = (text: string) => `"${text.replaceAll('"', '""')}"`;
const COLUMN = `<b onclick=${RUN}>`;

/** Each row is a product, a material and a BOM item. Every third row has an unknown country and is quarantined. */
const rows = HOSTILE.map((text, at) =>
  [`${text} ${at}`, `name ${text}`, at % 2 === 0 ? 'DRAFT' : text, at % 3 === 0 ? text : 'DE', text]
    .map(quoted)
    .join(','),
);
const SOURCE = {
  id: 'erp',
  connector: 'csv',
  options: { path: './hostile.csv', key: ['SKU'] },
  mappings: [
    {
      to: 'product',
      key: 'row.SKU',
      fields: { sku: 'row.SKU', name: 'row.NAME', status: 'row.STATE', country_of_origin: 'country(row.COUNTRY)' },
    },
    { to: 'material', key: '"m " + row.SKU', fields: { name: 'row.NAME', code: 'row.SKU' } },
    {
      to: 'bom_item',
      key: 'row.SKU + "/1"',
      refs: { product: 'row.SKU', material: '"m " + row.SKU' },
      fields: { quantity: 'decimal("1")', unit: '"KGM"' },
    },
  ],
};

describe.skipIf(!runsBrowser)(`hostile data of a source${browserNote}`, () => {
  let web: GuardedWeb;
  let browser: TestBrowser;
  let page: Page;
  const complaints: string[] = [];

  beforeAll(async () => {
    web = await openGuardedWeb({
      sources: [SOURCE],
      files: { 'hostile.csv': `SKU,NAME,STATE,COUNTRY,${quoted(COLUMN)}\n${rows.join('\n')}\n` },
    });
    const { runtime } = web.daemon;
    await web.daemon.startRun('erp', 'schedule');
    await vi.waitUntil(async () => (await runtime.reads.lastRuns({ limit: 1 }))[0]?.result === 'complete', {
      timeout: WAIT_MS,
    });
    await vi.waitUntil(
      async () => {
        const { product, material } = await runtime.reads.itemCounts();
        return [product, material].every((states) => (states.due ?? 0) + (states.sending ?? 0) === 0);
      },
      { timeout: WAIT_MS },
    );
    const [text = ''] = HOSTILE.slice(1);
    for (const { id } of await runtime.reads.causes({})) {
      await runtime.ledger.noteCause(id, { text, owner: text, by: text });
    }
    const id = await runtime.ledger.beginAction({ who: text, via: 'web', action: text, detail: { [text]: text } });
    await runtime.ledger.endAction(id, text);
    browser = await startBrowser();
    page = await browser.context.newPage();
    await page.setViewportSize({ width: 390, height: 844 });
    page.on('dialog', (dialog) => {
      complaints.push(`dialog: ${dialog.message()}`);
      void dialog.dismiss();
    });
    page.on('console', (message) => {
      if (/content security policy|refused to/i.test(message.text())) complaints.push(message.text());
    });
    page.on('request', (request) => {
      if (!request.url().startsWith(web.url) && !request.url().startsWith('data:')) complaints.push(request.url());
    });
    await page.goto(`${web.url}/login`);
    await page.fill('[name=password]', WEB_TOKEN);
    await page.click('button[type=submit]');
    await page.waitForURL(`${web.url}/`);
  });
  afterAll(async () => {
    await browser.close();
    await web.remove();
  });

  /** The paths of a route, one for each entry of the ledger. */
  async function pathsOf(route: ServedRoute): Promise<string[]> {
    if (!route.path.includes(':')) return [route.path];
    const { reads } = web.daemon.runtime;
    if (route.path.includes(':kind')) {
      const { rows: items } = await reads.items({}, { limit: 100 });
      return items.map(({ kind, key }) => pathOf(route, (name) => encodeURIComponent(name === 'kind' ? kind : key)));
    }
    const causes = (await reads.causes({})).map(({ id }) => id);
    const runs = (await reads.runs({}, { limit: 10 })).rows.map(({ id }) => String(id));
    const values = /attention|causes/.test(route.path) ? causes : /runs/.test(route.path) ? runs : HOSTILE;
    return values.map((value) => pathOf(route, encodeURIComponent(value)));
  }
  const shown = (path: string) =>
    !path.startsWith(BOARD_PATH) && !/^\/(?:api|assets|live|healthz|readyz|livez|metrics)\b/.test(path);
  const isFile = (path: string) => /\.(?:csv|xlsx)$|pdf$|\/uploads\//.test(path);

  /** Finds parts of a page that can only come from hostile data, and whether the page is wider than a phone. */
  const HARM = `({
    ran: window.hostile === 1,
    wide: document.documentElement.scrollWidth <= document.documentElement.clientWidth ? [] :
      [...document.querySelectorAll('body *')].filter((element) => element.getBoundingClientRect().right > innerWidth)
        .map((element) => element.cloneNode().outerHTML),
    marks: [...document.querySelectorAll('*')].filter((element) =>
      [...element.attributes].some(({ name, value }) =>
        /^on/i.test(name) || name === 'style' || (/^(href|src|action|formaction|xlink:href)$/i.test(name) && /^\\s*(javascript|vbscript|data:.)/i.test(value) && value !== 'data:,'))
    ).map((element) => element.outerHTML.slice(0, 200)),
    scripts: [...document.querySelectorAll('script')].map((element) => element.getAttribute('src')).join(),
    foreign: document.querySelectorAll('main img, iframe, object, embed, base, main style, main title').length,
  })`;

  it('hostile data is in the ledger in every way that data can be', async () => {
    const { reads } = web.daemon.runtime;
    expect((await reads.itemCounts()).product.rejected ?? 0).toBeGreaterThan(0);
    const causes = await reads.causes({});
    expect(causes.map(({ type }) => type)).toEqual(expect.arrayContaining(['quarantine', 'rejected']));
    expect(JSON.stringify(causes)).toContain('onerror');
  });

  it('hostile data runs on no page, and makes no element, link or style', async () => {
    const routes = web.served.filter(({ method, path }) => method === 'GET' && shown(path) && !isFile(path));
    let looked = 0;
    let marked = 0;
    for (const route of routes) {
      const queries = route.path.includes(':')
        ? ['']
        : ['', ...HOSTILE.slice(0, 4).map((text) => queryOf(route, text))];
      for (const path of await pathsOf(route)) {
        for (const query of queries) {
          const answer = await page.goto(`${web.url}${path}${query}`);
          expect(answer?.status(), path).not.toBe(500);
          expect({ path, query, ...((await page.evaluate(HARM)) as object) }).toEqual({
            path,
            query,
            ran: false,
            wide: [],
            marks: [],
            scripts: '/assets/live.js',
            foreign: 0,
          });
          looked += 1;
          if ((await page.content()).includes('onerror')) marked += 1;
        }
      }
    }
    expect(complaints).toEqual([]);
    expect(looked).toBeGreaterThan(100);
    // Many pages showed the hostile data, so the data could have done harm.
    expect(marked).toBeGreaterThan(20);
  });

  it('hostile data is no formula in a file that a spreadsheet opens', async () => {
    let files = '';
    for (const route of web.served.filter(({ method, path }) => method === 'GET' && path.endsWith('.csv'))) {
      for (const path of await pathsOf(route)) {
        const text = await (await page.request.get(`${web.url}${path}`)).text();
        expect(text, path).not.toMatch(/(?:^|[,;\t\n])"?[=+@]/);
        files += text;
      }
    }
    expect(files).toContain('HYPERLINK');
  });

  it('hostile data comes as data that no browser takes for a page, from every endpoint that gives no page', async () => {
    for (const route of web.served.filter(
      ({ method, path }) => method === 'GET' && /^\/(?:api|metrics|healthz|readyz|livez)/.test(path),
    )) {
      for (const path of await pathsOf(route)) {
        const answer = await page.request.get(`${web.url}${path}`);
        const { 'content-type': type = '', 'x-content-type-options': sniff } = answer.headers();
        expect([path, sniff]).toEqual([path, 'nosniff']);
        expect(type, path).toMatch(
          /^(?:application\/(?:problem\+|x-nd)?json|text\/plain|application\/pdf|application\/openmetrics)/,
        );
      }
    }
  });

  it('hostile data has all kinds of items on its pages', async () => {
    const { rows: items } = await web.daemon.runtime.reads.items({}, { limit: 100 });
    expect(new Set(items.map(({ kind }) => kind))).toEqual(new Set(ITEM_KINDS));
  });
});

const FILTERS = [
  'search',
  'state',
  'kind',
  'source',
  'after',
  'cause',
  'run',
  'stream',
  'result',
  'type',
  'next',
  'keys',
];

/** A query with each filter that the route knows, with a hostile value. For a list without filters, the name is hostile too. */
function queryOf({ fields }: ServedRoute, text: string): string {
  const names = fields === null ? FILTERS : fields.length === 0 ? [text] : fields;
  return `?${new URLSearchParams(names.map((name): [string, string] => [name, text])).toString()}`;
}
