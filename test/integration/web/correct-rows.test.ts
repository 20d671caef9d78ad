import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { type GuardedWeb, openGuardedWeb } from '../../support/browser/guarded-web.ts';
import { askWeb, type WebVisitor } from '../../support/browser/web-visitor.ts';
import { WAIT_MS } from '../../support/runner/limits.ts';
import { PRODUCTS } from '../../support/worlds/daemon-world.ts';

const SECRET_PRICE = '7311.94';

/** The source of products, with a column that is never stored. The state of A-2 is not in the table. */
const SOURCE = { ...PRODUCTS.source, omit: ['PRICE'] };
const FILES = { ...PRODUCTS.files, 'products.csv': 'SKU,NAME,STATE,PRICE\nA-1,Kettle,10,1\nA-2,Toaster,99,2\n' };

describe('rows that are corrected by the API', () => {
  let web: GuardedWeb;
  let cause: string;
  beforeAll(async () => {
    web = await openGuardedWeb({ sources: [SOURCE], files: FILES });
    await web.daemon.startRun('erp', 'schedule');
    const found = await vi.waitUntil(async () => (await web.daemon.runtime.reads.causes({ type: 'quarantine' }))[0], {
      timeout: WAIT_MS,
    });
    cause = found.id;
  });
  afterAll(() => web.remove());

  const { stringify } = JSON;
  async function correct(
    { cookie, csrf }: WebVisitor,
    { rows, ...more }: { rows: readonly [sku: string, name: string, extra?: object][]; cause?: string },
  ) {
    const { ledger } = web.daemon.runtime;
    const asked = { source: 'erp', stream: 'default' };
    const stored = await ledger.recordsByKey({ ...asked, keys: rows.map(([sku]) => sku) });
    const body = stringify({
      ...asked,
      ...more,
      rows: rows.map(([sku, name, extra = {}]) => ({
        fields: { SKU: sku, NAME: name, STATE: '10', ...extra },
        place: {},
        version: stored.find(({ key }) => key === sku)?.version ?? 1,
      })),
    });
    const headers = { cookie, origin: web.url, 'x-csrf-token': csrf, 'content-type': 'application/json' };
    const answer = await askWeb(web.url, '/api/v1/operations/correct-rows', { method: 'POST', headers, body });
    return { status: answer.status, ...(JSON.parse(answer.body) as { id?: string; detail?: string }) };
  }
  const ended = (id = '') =>
    vi.waitUntil(
      async () => {
        const { body } = await web.people.operator.get(`/api/v1/operations/${id}`);
        return (JSON.parse(body) as { outcome: unknown }).outcome;
      },
      { timeout: WAIT_MS },
    );
  const names = () => web.world.contents().products.map(({ name }) => name);

  it('rows that are corrected by an editor have to belong to a cause', async () => {
    const { editor } = web.people;
    await expect.poll(names, { timeout: WAIT_MS }).toEqual(['Kettle']);
    expect(await correct(editor, { rows: [['A-1', 'Renamed']] })).toMatchObject({
      status: 403,
      detail: expect.stringContaining('Your role corrects only rows of a cause.'),
    });
    const both = [
      ['A-2', 'Toaster'],
      ['A-1', 'Renamed'],
    ] as const;
    expect(await correct(editor, { cause, rows: both.map(([sku, name]) => [sku, name]) })).toMatchObject({
      status: 400,
      detail: 'The row with the key A-1 is not one of the rows of this cause. Nothing is stored.',
    });
    expect((await correct(editor, { cause: 'no-such-cause', rows: [['A-2', 'Toaster']] })).status).toBe(404);
    expect(names()).toEqual(['Kettle']);
    expect((await correct(web.people.viewer, { cause, rows: [['A-2', 'Toaster']] })).status).toBe(403);
    const { status, id } = await correct(editor, { cause, rows: [['A-2', 'Toaster']] });
    expect([status, await ended(id)]).toEqual([202, expect.objectContaining({ ok: true })]);
    await vi.waitUntil(() => names().includes('Toaster'), { timeout: WAIT_MS });
  });

  it('rows that are corrected by an operator may be any rows, and an omitted column of them is stored nowhere', async () => {
    const row: [string, string, object] = ['A-1', 'Kettle 2', { PRICE: SECRET_PRICE }];
    const { status, id } = await correct(web.people.operator, { rows: [row] });
    expect([status, await ended(id)]).toEqual([202, expect.objectContaining({ ok: true })]);
    const [action] = (await web.daemon.runtime.reads.actions({ limit: 1 })).rows;
    expect(action).toMatchObject({ action: 'correct-rows', detail: { source: 'erp', stream: 'default', rows: 1 } });
    expect(stringify(web.log.lines)).not.toContain(SECRET_PRICE);
    await web.daemon.stop();
    const folder = join(web.world.folder, 'data');
    const bytes = readdirSync(folder).map((name) => readFileSync(join(folder, name)));
    expect(Buffer.concat(bytes).includes('Kettle 2')).toBe(true);
    expect(Buffer.concat(bytes).includes(SECRET_PRICE)).toBe(false);
  });
});
