import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { type GuardedWeb, openGuardedWeb } from '../../support/browser/guarded-web.ts';
import { askWeb } from '../../support/browser/web-visitor.ts';
import { runHere } from '../../support/cli/cli-here.ts';
import { WAIT_MS } from '../../support/runner/limits.ts';

/** Characters that nobody sees, or that change the reading direction: of each kind some. */
const HIDDEN = Array.from(
  '\u00ad\u034f\u061c\u115f\u180e\u200b\u200c\u200d\u200e\u200f\u202a\u202b\u202d\u202e\u2028\u2060\u2066\u2067\u2069' +
    '\u2800\u3164\ufe0f\ufeff\uffa0\ufffb\u{e0001}\u{e0061}\u0085\u009b',
);
/** The characters that a header and a key may have inside. */
const NAMED = HIDDEN.filter((character) => !/[\p{Cc}\u2028\ufeff]/u.test(character));
const ANY = new RegExp(HIDDEN.join('|'), 'u');

const inside = (characters: readonly string[], word: string) => `${word}${characters.join('.')}${word}`;
const NOTE = inside(NAMED, 'NOTE');
const SOURCE = {
  id: 'erp',
  connector: 'csv',
  options: { path: './products.csv', key: ['SKU'] },
  mappings: [
    {
      to: 'product',
      key: 'row.SKU',
      fields: {
        sku: 'row.SKU',
        name: `row.NAME + row["${NOTE}"]`,
        status: '"DRAFT"',
        country_of_origin: 'country(row.LAND)',
      },
    },
  ],
};
const line = (sku: string, land: string, named: readonly string[] = NAMED) =>
  [sku, inside(named, 'N'), land, inside(named, 'T')].join(';');
const LINES = [
  ...NAMED.map((character) => line(`A${character}1`, 'DE')),
  ...HIDDEN.map((character) => line(`B${character}2`, `Nowhere${character}`, HIDDEN)),
];
const csvOf = (lines: readonly string[]) => [['SKU', 'NAME', 'LAND', NOTE].join(';'), ...lines, ''].join('\n');

/** What a page shows: its texts, and the attributes that people read. */
function shownOn(page: string): string {
  const read = [...page.matchAll(/\s(?:aria-label|alt|data-label|placeholder|title)="([^"]*)"/g)].map(
    ([, text]) => text,
  );
  return [page.replaceAll(/<textarea[^>]*>[^<]*/g, '').replaceAll(/<[^>]*>/g, '\n'), ...read].join('\n');
}

function hiddenIn(text: string): string[] {
  return text.split('\n').flatMap((shown) => (ANY.test(shown) ? [JSON.stringify(shown).slice(0, 200)] : []));
}

describe('characters that nobody sees', () => {
  let web: GuardedWeb;
  beforeAll(async () => {
    const source = { ...SOURCE, options: { ...SOURCE.options, delimiter: ';' } };
    web = await openGuardedWeb({ sources: [source], files: { 'products.csv': csvOf(LINES) } });
    await web.daemon.startRun('erp', 'schedule');
    await vi.waitUntil(() => web.world.contents().products.length === NAMED.length, { timeout: WAIT_MS });
  });
  afterAll(() => web.remove());

  it('pages show characters that nobody sees, and links and forms keep them', async () => {
    const { operator } = web.people;
    const waiting = [
      '/',
      '/items',
      '/attention',
      '/passports',
      '/runs',
      '/history',
      '/queues',
      '/audit',
      '/tasks',
      '/settings',
    ];
    const seen = new Set(waiting);
    for (const path of waiting) {
      const { status, body, headers } = await operator.get(path);
      if (!String(headers['content-type']).startsWith('text/html')) continue;
      expect({ path, hidden: hiddenIn(shownOn(body)) }).toEqual({ path, hidden: [] });
      if (status !== 200) continue;
      for (const [, link = ''] of body.matchAll(/href="(\/[^"#]*)"/g)) {
        const kind = link.replaceAll(/%[0-9A-Fa-f]{2}|[\d?].*/g, '');
        const next = link.replaceAll('&amp;', '&');
        if (seen.has(next) || [...seen].filter((one) => one.startsWith(kind)).length > 8) continue;
        seen.add(next);
        waiting.push(next);
      }
    }
    const items = await operator.get('/items');
    expect(items.body).toContain('A\\u200b1');
    expect(items.body).toContain(encodeURIComponent('A\u200b1'));
    expect(waiting.filter((path) => path.startsWith('/items/')).length).toBeGreaterThan(2);
  });

  it('the page of an upload shows characters that nobody sees, and stores them', async () => {
    const { editor } = web.people;
    const [cause] = await web.daemon.runtime.reads.causes({ type: 'quarantine' });
    const path = `/attention/${cause?.id}`;
    const boundary = '----boundary-of-the-test';
    const part = (head: string, body: string) =>
      `--${boundary}\r\nContent-Disposition: form-data; ${head}\r\n\r\n${body}\r\n`;
    const file = csvOf([line('B\u200b2', 'IT\u202e'), line('B\u20602', 'IT\ufeff')]);
    const body = `${part('name="csrf"', editor.csrf)}${part('name="file"; filename="a\u200b.csv"', file)}--${boundary}--\r\n`;
    const headers = {
      cookie: editor.cookie,
      origin: web.url,
      'content-type': `multipart/form-data; boundary=${boundary}`,
    };
    const uploaded = await askWeb(web.url, `${path}/upload`, { method: 'POST', headers, body });
    expect([uploaded.status, uploaded.body]).toEqual([303, '']);
    const plan = await editor.get(uploaded.headers.location ?? '');
    expect(plan.status).toBe(200);
    expect(hiddenIn(shownOn(plan.body))).toEqual([]);
    expect(plan.body).toContain('IT\\u202e');
  });

  it.each([
    ['items'],
    ['items', '--search', 'A'],
    ['show', 'product', 'A\\u200b1'],
    ['show', 'product', 'A\u20671'],
    ['why', 'A\u200b1'],
    ['why', 'B\u200b2'],
    ['publish', 'A\u200b1', '--dry-run'],
    ['publish', 'Z\u200b1'],
    ['show', 'product', 'Z\u200b1'],
    ['replay', '--key', 'Z\u200b1'],
    ['status'],
    ['quarantine'],
    ['preview', 'erp', '--issues'],
    ['preview', 'erp', '--limit', '50'],
    ['preview', 'Z\u200b1'],
    ['check'],
    ['passports'],
    ['b\u202egus'],
    ['items', '--b\u202egus'],
    ['items', '--state', 'b\u202egus'],
  ])('the output of commands for people shows characters that nobody sees: %j', async (...args) => {
    const { stdout, stderr } = await runHere([...args, '-c', web.world.configFile]);
    expect(stdout + stderr).not.toBe('');
    expect(hiddenIn(stdout + stderr)).toEqual([]);
  });

  it.each(['/items', `/items/product/${encodeURIComponent('A\u200b1')}`, '/causes', '/passports'])(
    'the HTTP API escapes characters that nobody sees, and its values keep them: %s',
    async (path) => {
      const { status, body } = await web.people.operator.get(`/api/v1${path}`);
      expect(status).toBe(200);
      expect(hiddenIn(body)).toEqual([]);
      expect(ANY.test(JSON.stringify(JSON.parse(body)))).toBe(true);
    },
  );

  it('the platform has the characters as they are', () => {
    const { products } = web.world.contents();
    expect(new Set(products.map(({ sku }) => sku))).toEqual(new Set(NAMED.map((character) => `A${character}1`)));
  });
});
