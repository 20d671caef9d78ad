// A plan that the admin API makes in the daemon.

import { readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { planIn } from '../../support/plans/planned.ts';
import {
  createProductsWorld,
  runSource,
  type ServedWorld,
  startDaemon,
  WEB_TOKEN,
} from '../../support/worlds/daemon-world.ts';

let web: ServedWorld;
beforeEach(async () => {
  web = await startDaemon(await createProductsWorld());
  await runSource(web.daemon, 'erp');
  const { reads } = web.daemon.runtime;
  await expect.poll(async () => (await reads.itemCounts()).product).toEqual({ delivered: 1, rejected: 1 });
  web.world.write('products.csv', 'SKU,NAME,STATE\nA-1,Steel kettle,10\nA-2,Toaster,20\nA-3,Pan,10\n');
});
afterEach(() => web.remove());

const ask = (query = ''): Promise<Response> =>
  fetch(`${web.url}/api/v1/plan${query}`, { headers: { authorization: `Bearer ${WEB_TOKEN}` } });
const leftFolders = (): string[] =>
  readdirSync(join(web.world.folder, 'data')).filter((name) => name.startsWith('dpp-sync-plan-'));

it('the admin API plans in the daemon, as lines, and neither stores nor sends anything', async () => {
  const { reads } = web.daemon.runtime;
  const before = [await reads.lastRuns({ source: 'erp', limit: 9 }), await reads.itemCounts()];
  web.world.requests();
  const answer = await ask('?source=erp');
  expect(answer.status).toBe(200);
  expect(answer.headers.get('content-type')).toContain('application/x-ndjson');
  const { items, summary } = planIn(await answer.text());
  expect(items).toContainEqual(
    expect.objectContaining({ action: 'update', key: 'A-1', fields: { name: { old: 'Kettle', new: 'Steel kettle' } } }),
  );
  expect(summary).toMatchObject({ ok: true, counts: { update: { product: 1 }, create: { product: 1 } } });
  expect([await reads.lastRuns({ source: 'erp', limit: 9 }), await reads.itemCounts()]).toEqual(before);
  expect(web.world.requests()).toEqual({});
  expect(leftFolders()).toEqual([]);
});

it('a plan of the admin API names a source that cannot be read, and no secret', async () => {
  web.world.write('products.csv', `SKU,NAME,STATE\nA-1,${WEB_TOKEN},10\n`);
  const text = await (await ask()).text();
  expect(planIn(text).items).toContainEqual(expect.objectContaining({ action: 'update', key: 'A-1' }));
  expect(text).not.toContain(WEB_TOKEN);
  rmSync(join(web.world.folder, 'products.csv'));
  const failed = await ask();
  expect(failed.status).toBe(200);
  expect(planIn(await failed.text()).summary).toMatchObject({ ok: false, failed: [{ source: 'erp' }] });
});

it('a plan of the admin API that cannot begin is answered with a problem document', async () => {
  const unknown = await ask('?source=pim');
  expect(unknown.status).toBe(400);
  expect(await unknown.json()).toMatchObject({ detail: expect.stringContaining('There is no source "pim"') });
  rmSync(join(web.world.folder, 'status.csv'));
  const lacking = await ask();
  expect(lacking.status).toBe(409);
  expect(await lacking.json()).toMatchObject({ detail: expect.stringContaining('status.csv') });
  expect(leftFolders()).toEqual([]);
});

it('a daemon makes one plan at a time, and none for a reader who has gone', async () => {
  const reader = Promise.withResolvers<void>();
  const begun = Promise.withResolvers<void>();
  const write = () => {
    begun.resolve();
    return reader.promise;
  };
  const plan = web.daemon.runtime.plan([], write, new AbortController().signal);
  await begun.promise;
  const busy = await ask();
  expect(busy.status).toBe(429);
  expect(await busy.json()).toMatchObject({ detail: expect.stringContaining('A plan is being made already.') });
  reader.reject(new Error('The reader has gone.'));
  await expect(plan).rejects.toThrow('The reader has gone.');
  expect(leftFolders()).toEqual([]);
  expect((await ask()).status).toBe(200);
});

it('a daemon stops beside a reader who takes nothing of a plan', async () => {
  const rows = Array.from({ length: 20_000 }, (_, at) => `B-${at},${'x'.repeat(400)},10`);
  web.world.write('products.csv', `SKU,NAME,STATE\n${rows.join('\n')}\n`);
  const answer = await ask();
  expect(answer.status).toBe(200);
  await web.daemon.stop();
  await expect(answer.text()).rejects.toThrow();
  expect(leftFolders()).toEqual([]);
});
