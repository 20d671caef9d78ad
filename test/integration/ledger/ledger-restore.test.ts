import { copyFileSync, existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import Database from 'better-sqlite3';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { parse, stringify } from 'yaml';
import type { JsonObject } from '../../../src/lib/json.ts';
import { runHere } from '../../support/cli/cli-here.ts';
import { covers, ORACLE } from '../../support/docs/reliability.ts';
import { evidenceOf, violations } from '../../support/ledger/invariants.ts';
import { text } from '../../support/ledger/items.ts';
import { quickQueue } from '../../support/servers/quick-queue.ts';
import { largeExport, SMALL, SMALL_SOURCES, type SmallExport, smallFiles } from '../../support/worlds/small-export.ts';
import { createWorld, type World } from '../../support/worlds/world.ts';

const OPEN_GATES = {
  productComplete: { enabled: false },
  bomPresent: { enabled: false },
  materialData: { enabled: false },
};

const queue = quickQueue();
let world: World;
/** The present export of the source. */
let current: SmallExport;
beforeEach(async () => {
  current = SMALL;
  world = await createWorld({
    config: { sources: SMALL_SOURCES },
    queue: queue(),
    files: smallFiles(SMALL),
    sandbox: { idempotency: 'ignored', gates: OPEN_GATES },
    profile: { idempotency: 'none', list: { lagMs: 0 }, settlingDelayMs: { reset: 20, timeout: 20 } },
  });
});
afterEach(async () => {
  expect(violations(evidenceOf(world, { source: current, bomItems: 'or_unconfirmed' }))).toEqual([]);
  await world.remove();
});

const command = (...args: string[]) => runHere([...args, '-c', world.configFile, '--json']);
const backupFile = () => join(world.folder, 'backup.db');

/** Adds a wish for passports to the config. */
function configure(passports: Record<string, string>): void {
  const config = parse(readFileSync(world.configFile, 'utf8')) as object;
  world.write('dpp-sync.yaml', stringify({ ...config, passports }));
}

function exportNow(change: Partial<SmallExport>): void {
  current = { ...SMALL, ...change };
  world.writeAll(smallFiles(current));
}

const renamed = <T extends { id: string }>(rows: T[], id: string, name: string): T[] =>
  rows.map((one) => (one.id === id ? { ...one, name } : one));

const byName = (rows: JsonObject[], field: string) =>
  Object.fromEntries(rows.map((one) => [text(one[field]), text(one['name'])]));

function unproven(): unknown[] {
  const db = new Database(join(world.folder, 'data/ledger.db'), { readonly: true });
  const names = db.prepare("SELECT name FROM meta WHERE name LIKE 'unproven:%'").pluck().all();
  db.close();
  return names;
}

describe('a ledger that is restored from a backup', () => {
  it(
    'a ledger restored from a backup doubles no write made since, and has every update at the API after one sync',
    covers('ledger-restored', ...ORACLE),
    async () => {
      await world.sync();
      expect((await command('ledger', 'backup', backupFile())).json()).toMatchObject({
        ok: true,
        items: { product: { delivered: 3 }, material: { delivered: 2 }, bom_item: { delivered: 4 } },
      });

      // Writes since the backup: new items, and a change that the source takes back afterwards.
      const products = [...SMALL.products, { id: 'P4', name: 'Cable', country: 'DE' }];
      const materials = [...SMALL.materials, { id: 'M3', name: 'Rubber' }];
      const lines = [...SMALL.lines, { id: '5', product: 'P4', material: 'M3', quantity: '3' }];
      exportNow({ products: renamed(products, 'P1', 'Blower'), materials: renamed(materials, 'M1', 'Iron'), lines });
      await world.sync();
      expect(byName(world.contents().products, 'sku')).toMatchObject({ 'SKU-P1': 'Blower', 'SKU-P4': 'Cable' });

      // Before the restore, the source takes its changes back, changes a new product, and gets a product that was never sent.
      exportNow({
        products: [...renamed(products, 'P4', 'Long cable'), { id: 'P5', name: 'Plug' }],
        materials,
        lines: [...lines, { id: '6', product: 'P5', material: 'M1', quantity: '1' }],
      });
      const restored = await command('ledger', 'restore', backupFile());
      expect(restored.json()).toMatchObject({ ok: true, suspected: {} });
      world.requests();
      const report = await world.sync();

      const { products: listed, materials: used, bomItems } = world.contents();
      expect(byName(listed, 'sku')).toEqual({
        'SKU-P1': 'Fan',
        'SKU-P2': 'Housing',
        'SKU-P3': 'Motor',
        'SKU-P4': 'Long cable',
        'SKU-P5': 'Plug',
      });
      expect(byName(used, 'code')).toEqual({ M1: 'Steel', M2: 'Copper', M3: 'Rubber' });
      expect(listed).toHaveLength(5);
      expect(used).toHaveLength(3);
      const sent = world.requests();
      expect([sent['product.create'], sent['material.create']]).toEqual([1, undefined]);
      // The BOM item of an old product may have been written, and cannot be read back. The BOM item of a new product cannot
      // have been written.
      expect(bomItems).toHaveLength(6);
      expect(report.items.bom_item).toEqual({ delivered: 5, in_doubt: 1 });
      expect(report.items.product).toEqual({ delivered: 5 });
      expect(report.items.material).toEqual({ delivered: 3 });
      expect((await command('ledger', 'verify')).json()).toMatchObject({ ok: true, findings: [] });
      // Both listings showed only known items, so later items are sent without a look-up.
      expect(unproven()).toEqual([]);
      exportNow({ products: [...products, { id: 'P5', name: 'Plug' }, { id: 'P6', name: 'Late' }], materials, lines });
      world.requests();
      await world.sync();
      expect(Object.keys(world.requests()).filter((name) => name.endsWith('.list'))).toEqual([]);
    },
  );

  it(
    'a ledger restored from a backup brings a sync that was at work during the backup to the same end',
    covers('ledger-restored', ...ORACLE),
    async () => {
      const count = 40;
      exportNow(largeExport(count));
      const syncing = world.sync();
      while (world.contents().products.length < count / 2) await nextTurn();
      const backup = await command('ledger', 'backup', backupFile());
      expect(backup.exitCode).toBe(0);
      await syncing;
      expect((await command('ledger', 'restore', backupFile())).exitCode).toBe(0);
      expect((await command('ledger', 'verify')).json()).toMatchObject({ ok: true, findings: [] });
      world.requests();
      const report = await world.sync();
      expect(report.items.product).toEqual({ delivered: count });
      expect(report.items.material).toEqual({ delivered: count });
      const { products, materials, bomItems } = world.contents();
      expect([products.length, materials.length, bomItems.length]).toEqual([count, count, count]);
      expect(Object.keys(world.requests()).filter((name) => name.endsWith('.create'))).toEqual([]);
      expect((await command('ledger', 'verify')).json()).toMatchObject({ ok: true, findings: [] });
    },
  );

  it(
    'a ledger restored from a backup continues to look while the API has something that it does not know',
    covers('ledger-restored', ...ORACLE),
    async () => {
      await world.sync();
      await command('ledger', 'backup', backupFile());
      exportNow({ products: [...SMALL.products, { id: 'P4', name: 'Cable' }] });
      await world.sync();
      await command('ledger', 'restore', backupFile());
      // At present the source does not have the items that were created since the backup.
      exportNow({ products: [...SMALL.products, { id: 'P5', name: 'Plug' }] });
      await world.sync();
      expect(unproven()).toContain('unproven:product');
      exportNow({ products: [...SMALL.products, { id: 'P4', name: 'Cable' }, { id: 'P5', name: 'Plug' }] });
      world.requests();
      const report = await world.sync();
      expect(report.items.product).toEqual({ delivered: 5 });
      expect(world.contents().products).toHaveLength(5);
      expect(world.requests()).not.toHaveProperty('product.create');
      expect(unproven()).not.toContain('unproven:product');
    },
  );

  it(
    'a ledger restored from a backup publishes no passport twice that was initialised or published since',
    covers('ledger-restored', ...ORACLE),
    async () => {
      configure({ init: 'when-complete', publish: 'auto' });
      await world.sync();
      await command('ledger', 'backup', backupFile());
      exportNow({ products: [...SMALL.products, { id: 'P4', name: 'Cable', country: 'DE' }] });
      expect((await world.sync()).passports).toEqual({ published: 4 });
      world.requests();
      await command('ledger', 'restore', backupFile());
      const report = await world.sync();
      expect(report.passports).toEqual({ published: 4 });
      expect(report.items).toMatchObject({ product: { delivered: 4 }, bom_item: { delivered: 4 } });
      const published = world.contents().publications.filter(({ status }) => status === 'published');
      expect(published.map(({ sku }) => text(sku)).toSorted()).toEqual(['SKU-P1', 'SKU-P2', 'SKU-P3', 'SKU-P4']);
      expect(world.contents().publications).toHaveLength(4);
      expect(world.requests()).not.toHaveProperty('passport.unpublish');
      expect((await command('ledger', 'verify')).json()).toMatchObject({ ok: true, findings: [] });
    },
  );

  it.each([
    ['at the platform are initialised', 'manual', 'initialized'],
    ['at the platform are published', 'auto', 'published'],
  ])(
    'no passport is blocked by a conflict in odd words where a restored ledger does not know that passports %s',
    covers('ledger-restored', ...ORACLE),
    async (_, publish, state) => {
      await world.sync();
      await command('ledger', 'backup', backupFile());
      configure({ init: 'when-complete', publish });
      expect((await world.sync()).passports).toEqual({ [state]: 3 });
      await command('ledger', 'restore', backupFile());
      world.sandbox.setLies(['passport.init:odd-words', 'passport.publish:odd-words']);
      expect((await world.sync()).passports).toEqual({ [state]: 3 });
      expect((await command('status')).json()).toMatchObject({ ok: true });
      expect(world.contents().publications).toHaveLength(publish === 'auto' ? 3 : 0);
    },
  );

  it(
    'a ledger restored from a backup keeps its publish and unpublish requests until a person repeats them',
    covers('ledger-restored', ...ORACLE),
    async () => {
      configure({ init: 'when-complete', publish: 'manual' });
      await world.sync();
      await command('ledger', 'backup', backupFile());
      expect((await command('publish', 'P1')).exitCode).toBe(0);
      await command('ledger', 'restore', backupFile());
      expect((await world.sync()).passports).toEqual({ initialized: 3 });
      expect((await command('publish', 'P1')).json()).toMatchObject({ ok: true, passports: [{ state: 'published' }] });
      expect(world.contents().publications).toHaveLength(1);
    },
  );

  it(
    'a ledger put back by hand is refused by all that would write it, with the way on, and shown by all that reads it',
    covers('ledger-restored', ...ORACLE),
    async () => {
      await world.sync();
      await command('ledger', 'backup', backupFile());
      copyFileSync(backupFile(), join(world.folder, 'data/ledger.db'));
      const refused = await command('sync');
      expect(refused.exitCode).toBe(3);
      expect(refused.json()).toMatchObject({
        ok: false,
        error: { code: 'ledger.restored', message: expect.stringContaining('dpp-sync ledger restore') },
      });
      expect((await command('status')).exitCode).toBe(0);
      expect((await command('ledger', 'restore')).exitCode).toBe(0);
      expect((await world.sync()).fault).toBe(null);
    },
  );

  it.each(['gone', 'empty'])(
    'a ledger is not replaced by a new one if it is %s and its mark is not, and is then restored from a backup',
    covers('ledger-restored', ...ORACLE),
    async (how) => {
      await world.sync();
      await command('ledger', 'backup', backupFile());
      const file = join(world.folder, 'data/ledger.db');
      for (const suffix of ['', '-wal', '-shm']) rmSync(file + suffix, { force: true });
      if (how === 'empty') writeFileSync(file, '');
      const refused = await command('sync');
      expect(refused.exitCode).toBe(3);
      expect(refused.json()).toMatchObject({ error: { code: 'ledger.restored', path: 'ledger' } });
      expect(existsSync(file)).toBe(how === 'empty');
      expect((await command('ledger', 'restore', backupFile())).exitCode).toBe(0);
      expect(await world.sync()).toMatchObject({ fault: null, items: { bom_item: { delivered: 4 } } });
      expect(world.contents().bomItems).toHaveLength(4);
    },
  );

  it(
    'a ledger restored from a backup sends a BOM item for which a person vouches, once, however long its history is',
    covers('ledger-restored', ...ORACLE),
    async () => {
      await world.sync();
      await command('ledger', 'backup', backupFile());
      const added = ['5', '6'].map((id) => ({ id, product: 'P1', material: 'M2', quantity: id }));
      exportNow({ lines: [...SMALL.lines, ...added] });
      await command('ledger', 'restore', backupFile());
      expect((await world.sync()).items.bom_item).toEqual({ delivered: 4, in_doubt: 2 });

      const forced = await command('replay', '--key', '5', '--force');
      expect(forced.json()).toMatchObject({ items: { bom_item: { delivered: 5, in_doubt: 1 } } });

      expect((await command('settle', '6', '--rejected')).exitCode).toBe(0);
      await pruneWithLongHistory('6');
      expect((await command('replay', '--key', '6')).json()).toMatchObject({
        ok: true,
        items: { bom_item: { delivered: 6 } },
      });
      expect(world.contents().bomItems).toHaveLength(6);
    },
  );

  it(
    'a ledger restored from a backup asks nobody about the parts of products created since, however long that goes on',
    covers('ledger-restored', 'I5', 'I6'),
    async () => {
      await world.sync();
      await command('ledger', 'backup', backupFile());
      await command('ledger', 'restore', backupFile());
      const products = [...SMALL.products, { id: 'P4', name: 'Cable' }];
      const partOfIt = (quantity: string) => ({ id: '5', product: 'P4', material: 'M1', quantity });
      exportNow({ products, lines: [...SMALL.lines, partOfIt('much')] });
      expect((await world.sync()).quarantined).toBe(1);
      await pruneWithLongHistory('P4');
      exportNow({ products, lines: [...SMALL.lines, partOfIt('1')] });
      expect((await world.sync()).items.bom_item).toEqual({ delivered: 5 });
    },
  );

  it('two restores in the same second keep both former ledgers', async () => {
    await world.sync();
    await command('ledger', 'backup', backupFile());
    const restored = [
      await command('ledger', 'restore', backupFile()),
      await command('ledger', 'restore', backupFile()),
    ];
    expect(restored.map(({ exitCode }) => exitCode)).toEqual([0, 0]);
    const kept = readdirSync(join(world.folder, 'data')).filter((name) => /\.before-\w+(-2)?$/.test(name));
    expect(kept).toHaveLength(2);
    await world.sync();
  });
});

/** Prunes the item's history as after years, so that only the entries that are never pruned are left. */
async function pruneWithLongHistory(key: string): Promise<void> {
  const db = new Database(join(world.folder, 'data/ledger.db'));
  const { id } = db.prepare<[string], { id: number }>('SELECT id FROM items WHERE key = ?').get(key) ?? { id: 0 };
  const note = db.prepare("INSERT INTO events (item_id, at, type) VALUES (?, 0, 'unconfirmed')");
  for (let count = 0; count < 60; count += 1) note.run(id);
  db.prepare('DELETE FROM history WHERE item_id = ?').run(id);
  db.close();
  const runtime = await world.open();
  await runtime.ledger.prune();
  await runtime.close();
}
