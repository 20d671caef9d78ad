// What a source allows also counts where its items change because of something else than its own rows.

import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect, it } from 'vitest';
import { runHere } from '../../support/cli/cli-here.ts';
import { removeFolder } from '../../support/machine/remove-folder.ts';
import { createWorld, type World } from '../../support/worlds/world.ts';

const source = (id: string, key: string[], mapping: object, more: object = {}) => ({
  id,
  connector: 'csv',
  options: { delimiter: ',' },
  streams: { default: { path: `./${id}.csv`, key } },
  mappings: [{ stream: 'default', ...mapping }],
  ...more,
});

const product = (name: string) => ({
  to: 'product',
  key: 'row.SKU',
  fields: { sku: 'row.SKU', name, country_of_origin: '"DE"', status: '"ACTIVE"' },
});
const NAMED = product('lookup("names", row.TYPE)');
const material = { to: 'material', key: 'row.CODE', fields: { code: 'row.CODE', name: 'row.CODE' } };
const part = {
  to: 'bom_item',
  key: 'row.SKU + "/" + row.PART',
  refs: { product: 'row.SKU', material: 'row.PART' },
  fields: { quantity: '1', unit: '"KGM"' },
};

const PRODUCTS = 'SKU,TYPE\nA-0,P\nA-1,P\nA-2,P\n';
const PUMPS = 'TYPE,NAME\nP,Pump\n';
const VALVES = 'TYPE,NAME\nP,Valve\n';

let world: World;
afterEach(() => world.remove());

async function open(files: Record<string, string>, sources: object[], more: object = {}): Promise<void> {
  const off = { enabled: false };
  const gates = { productComplete: off, bomPresent: off, materialData: off };
  world = await createWorld({ config: { sources, ...more }, sandbox: { gates }, files });
}

const dpp = (...args: string[]) => runHere([...args, '-c', world.configFile]);

async function sync(...args: string[]) {
  const { exitCode: exit, stdout } = await dpp('sync', ...args, '--json');
  const { held } = JSON.parse(stdout) as { held: { source: string; excesses: object[] }[] };
  return { exit, held: held.map(({ source: of, excesses }) => ({ source: of, excesses })) };
}

const CHANGES = [{ source: 'erp', effect: 'changes', count: 3, limit: 1 }];

it('a changed lookup file counts for the next run', async () => {
  const lookups = { names: { file: './names.csv', key: 'TYPE', value: 'NAME' } };
  await open({ 'erp.csv': PRODUCTS, 'names.csv': PUMPS }, [
    source('erp', ['SKU'], NAMED, { lookups, approve: { changes: 1 } }),
  ]);
  expect((await sync()).exit).toBe(0);
  world.write('names.csv', VALVES);
  expect(await sync()).toEqual({ exit: 4, held: [{ source: 'erp', excesses: CHANGES }] });
  // No other command begins to use the file.
  expect((await dpp('publish', 'A-0')).exitCode).toBe(0);
  expect(world.productNames()).toEqual(['Pump', 'Pump', 'Pump']);
  expect((await sync('--accept', 'erp')).exit).toBe(0);
  expect(world.productNames()).toEqual(['Valve', 'Valve', 'Valve']);
});

it('the rows of another source that a lookup table has count for its run', async () => {
  const lookups = { names: { source: 'types', stream: 'default', key: 'TYPE', value: 'NAME' } };
  await open({ 'erp.csv': PRODUCTS, 'types.csv': PUMPS }, [
    { ...source('types', ['TYPE'], {}), mappings: [] },
    source('erp', ['SKU'], NAMED, { lookups, approve: { changes: 1 } }),
  ]);
  expect((await sync()).exit).toBe(0);
  world.write('types.csv', VALVES);
  expect(await sync()).toEqual({ exit: 4, held: [{ source: 'types', excesses: CHANGES }] });
  expect(world.productNames()).toEqual(['Pump', 'Pump', 'Pump']);
  expect((await sync('--accept', 'types')).exit).toBe(0);
  expect(world.productNames()).toEqual(['Valve', 'Valve', 'Valve']);
});

it('BOM items that wait for the materials of another source are new when these come', async () => {
  await open({ 'erp.csv': PRODUCTS, 'bom.csv': 'SKU,PART\nA-0,M-1\nA-1,M-1\nA-2,M-1\n', 'plm.csv': 'CODE\nM-0\n' }, [
    source('erp', ['SKU'], product('row.SKU')),
    source('plm', ['CODE'], material),
    source('bom', ['SKU', 'PART'], part, { approve: { creates: 1 } }),
  ]);
  expect((await sync()).held).toEqual([]);
  world.write('plm.csv', 'CODE\nM-0\nM-1\n');
  const excesses = [{ source: 'bom', effect: 'creates', count: 3, limit: 1 }];
  expect(await sync()).toEqual({ exit: 4, held: [{ source: 'plm', excesses }] });
  expect((await sync('--accept', 'plm')).exit).toBe(0);
});

it('two runs at once, which complete the same products together, are counted one after the other', async () => {
  await open(
    {
      'erp.csv': PRODUCTS,
      'bom.csv': 'SKU,PART\nA-0,M-1\nA-0,M-2\nA-1,M-1\nA-1,M-2\n',
      'one.csv': 'CODE\nM-8\n',
      'two.csv': 'CODE\nM-9\n',
    },
    [
      source('erp', ['SKU'], product('row.SKU'), { approve: { publish: 1 } }),
      source('one', ['CODE'], material),
      source('two', ['CODE'], material),
      source('bom', ['SKU', 'PART'], part),
    ],
    { passports: { init: 'when-complete', publish: 'auto' } },
  );
  expect((await sync()).held).toEqual([]);
  world.write('one.csv', 'CODE\nM-8\nM-1\n');
  world.write('two.csv', 'CODE\nM-9\nM-2\n');
  const runtime = await world.open();
  const { signal } = new AbortController();
  const pulled = await Promise.all(['one', 'two'].map((id) => runtime.pull(id, { trigger: 'schedule' }, signal)));
  await runtime.close();
  expect(pulled.map(({ result }) => result)).toEqual(['complete', 'held']);
});

it('a run whose plan cannot be kept has failed', async () => {
  await open({ 'erp.csv': PRODUCTS }, [source('erp', ['SKU'], product('row.SKU'), { approve: { creates: 1 } })]);
  await dpp('status');
  const folder = join(world.folder, 'data/ledger.db.held');
  expect((await sync()).exit).toBe(4);
  await removeFolder(folder);
  writeFileSync(folder, '');
  const { exitCode, stderr } = await dpp('sync');
  expect([exitCode, stderr]).toEqual([
    3,
    expect.stringContaining('Let dpp-sync write this folder, then read the source again.'),
  ]);
  const { stdout } = await dpp('status', '--json');
  const { sources } = JSON.parse(stdout) as { sources: { lastRun: { result: string } }[] };
  expect(sources[0]?.lastRun).toMatchObject({ result: 'failed', error: expect.stringContaining('ledger.db.held') });
  expect(existsSync(folder)).toBe(true);
});
