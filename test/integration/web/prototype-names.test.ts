import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { incomingRecord } from '../../../src/pipeline/incoming-record.ts';
import { type GuardedWeb, openGuardedWeb } from '../../support/browser/guarded-web.ts';
import { askWeb } from '../../support/browser/web-visitor.ts';
import { WAIT_MS } from '../../support/runner/limits.ts';

/** The names that every object inherits. */
const NAMES = Object.getOwnPropertyNames(Object.prototype).toSorted();
const STORED = NAMES.filter((_, at) => at % 2 === 0);

/** The name of a product is all values of a row. The country of A-2 is not known. */
const SOURCE = {
  id: 'erp',
  connector: 'csv',
  options: { path: './products.csv', key: ['SKU'] },
  omit: ['PRICE'],
  mappings: [
    {
      to: 'product',
      key: 'row.SKU',
      fields: {
        sku: 'row.SKU',
        name: STORED.map((name) => `row[${JSON.stringify(name)}]`).join(' + "/" + '),
        status: '"DRAFT"',
        country_of_origin: 'country(row.LAND)',
      },
    },
  ],
};
const line = (sku: string, land: string, columns: readonly string[], value: string) =>
  [sku, land, '1', ...columns.map((name) => `${name} ${value}`)].join(',');
const csv = (columns: readonly string[], ...lines: string[]) =>
  [['SKU', 'LAND', 'PRICE', ...columns].join(','), ...lines, ''].join('\n');

describe('columns with the names of Object.prototype', () => {
  let web: GuardedWeb;
  beforeAll(async () => {
    const lines = [line('A-1', 'DE', STORED, 'old'), line('A-2', 'Nirgends', STORED, 'old')];
    web = await openGuardedWeb({ sources: [SOURCE], files: { 'products.csv': csv(STORED, ...lines) } });
    await web.daemon.startRun('erp', 'schedule');
  });
  afterAll(() => web.remove());

  const names = () => web.world.contents().products.map(({ name }) => name);
  const nameOf = (value: string) => STORED.map((name) => `${name} ${value}`).join('/');

  it('columns with the names of Object.prototype are stored and mapped', async () => {
    await vi.waitUntil(() => names().length > 0, { timeout: WAIT_MS });
    expect(names()).toEqual([nameOf('old')]);
    const [record] = await web.daemon.runtime.ledger.recordsByKey({ source: 'erp', stream: 'default', keys: ['A-1'] });
    expect(Object.keys(record?.fields ?? {})).toEqual(['SKU', 'LAND', ...STORED]);
  });

  it('columns with the names of Object.prototype can be uploaded, also where the stream does not have them', async () => {
    const { editor } = web.people;
    const [cause] = await web.daemon.runtime.reads.causes({ type: 'quarantine' });
    const path = `/attention/${cause?.id}`;
    for (const format of ['csv', 'xlsx']) expect((await editor.get(`${path}/rows.${format}`)).status).toBe(200);
    expect((await editor.get(path)).status).toBe(200);
    const file = csv(NAMES, line('A-2', 'IT', NAMES, 'new'));
    const boundary = '----boundary-of-the-test';
    const part = (head: string, body: string) =>
      `--${boundary}\r\nContent-Disposition: form-data; ${head}\r\n\r\n${body}\r\n`;
    const body = `${part('name="csrf"', editor.csrf)}${part('name="file"; filename="a.csv"', file)}--${boundary}--\r\n`;
    const headers = {
      cookie: editor.cookie,
      origin: web.url,
      'content-type': `multipart/form-data; boundary=${boundary}`,
    };
    const uploaded = await askWeb(web.url, `${path}/upload`, { method: 'POST', headers, body });
    expect([uploaded.status, uploaded.body]).toEqual([303, '']);
    const plan = await editor.get(uploaded.headers.location ?? '');
    expect(plan.status).toBe(200);
    for (const name of NAMES) expect(plan.body).toContain(name);
    expect((await editor.post(uploaded.headers.location ?? '', {})).status).toBe(303);
    await vi.waitUntil(() => names().length > 1, { timeout: WAIT_MS });
    expect(names()).toContain(nameOf('new'));
  });

  it('columns with the names of Object.prototype are stored as they are where columns are omitted', () => {
    const fields = JSON.parse(`{${NAMES.map((name) => `${JSON.stringify(name)}:"x"`).join()},"PRICE":"1"}`) as never;
    const { raw } = incomingRecord({ fields, place: {} }, [], new Set(['PRICE']));
    expect(Object.keys(JSON.parse(raw) as object)).toEqual(NAMES);
  });
});
