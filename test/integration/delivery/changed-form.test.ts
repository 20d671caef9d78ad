import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { stringify } from 'yaml';
import type { JsonObject } from '../../../src/lib/json.ts';
import { findPackage } from '../../../src/lib/package.ts';
import { LIE_NAMES } from '../../../src/sandbox/lies/lies.ts';
import { runHere } from '../../support/cli/cli-here.ts';
import { startDaemon } from '../../support/worlds/daemon-world.ts';
import { changed, SMALL, SMALL_SOURCES, type SmallExport, smallFiles } from '../../support/worlds/small-export.ts';
import { API_KEY, createWorld, type World } from '../../support/worlds/world.ts';

/** Names that the sandbox ignores. */
const WRONG = {
  wireNames: {
    product: { country_of_origin: 'origin' },
    material: { recycled_mass_fraction: 'recycled' },
    bom_item: { position: 'pos' },
  },
};
const DROPS = LIE_NAMES.filter((name) => name.endsWith(':drops-fields'));
const RIGHT = {};
const EXPORT: SmallExport = { ...SMALL, products: SMALL.products.map((one) => ({ ...one, country: 'DE' })) };

let world: World;
beforeEach(async () => {
  world = await createWorld({
    config: { sources: SMALL_SOURCES },
    profile: WRONG,
    files: smallFiles(EXPORT),
    sandbox: { lies: DROPS },
  });
});
afterEach(() => world.remove());

function useProfile(profile: object): void {
  world.write('profile.yaml', stringify({ extends: 'default', ...profile }));
}

async function run(...args: string[]): Promise<{ exitCode: number | null; text: string }> {
  const { exitCode, stdout, stderr } = await runHere([...args, '-c', world.configFile]);
  return { exitCode, text: `${stdout}${stderr}` };
}

async function runJson(...args: string[]): Promise<JsonObject> {
  const result = await runHere([...args, '--json', '-c', world.configFile]);
  return result.json() as JsonObject;
}

const otherForms = async () => (await runJson('status'))['otherForms'];
const valuesOf = (kind: 'products' | 'materials', field: string): unknown[] =>
  world.contents()[kind].map((one) => one[field] ?? null);
const ALL = [
  { kind: 'product', items: 3, fields: ['country_of_origin'] },
  { kind: 'material', items: 2, fields: ['recycled_mass_fraction'] },
  { kind: 'bom_item', items: 4, fields: ['position'] },
];

describe('items that were sent in another form than the profile has now', () => {
  it('items in another form are shown, and sent with all fields by a replay', async () => {
    await world.sync();
    expect(valuesOf('materials', 'recycled_mass_fraction')).toEqual([null, null]);
    expect(valuesOf('products', 'country_of_origin')).toEqual([null, null, null]);
    expect(await otherForms()).toEqual([]);

    useProfile(RIGHT);
    expect(await otherForms()).toEqual(ALL);
    const status = await run('status');
    expect(status.exitCode).toBe(0);
    expect(status.text).toContain(
      '2 materials were sent in another form than the profile has now: recycled_mass_fraction.',
    );
    expect(status.text).toContain('replay --form --dry-run');
    expect((await run('check')).text).toContain('3 products were sent in another form');
    expect((await run('show', 'material', 'M1')).text).toContain('sent in another form than the profile has now');
    expect((await run('why', 'SKU-P1')).text).toContain('replay --form --key');

    world.requests();
    await world.sync();
    expect(world.requests()).toEqual({});
    expect(await otherForms()).toEqual(ALL);

    const form = { staged: { product: 3, material: 2 }, unsupported: { bom_item: 4 }, open: {} };
    expect(await runJson('replay', '--form', '--dry-run')).toEqual({ ok: true, dryRun: true, form });
    expect(world.requests()).toEqual({});
    const replayed = await runJson('replay', '--form');
    expect(replayed).toMatchObject({ ok: true, dryRun: false, form });
    expect(valuesOf('materials', 'recycled_mass_fraction')).toEqual(['0.4', '0.25']);
    expect(valuesOf('products', 'country_of_origin')).toEqual(['DE', 'DE', 'DE']);
    expect(world.contents()).toMatchObject({
      products: { length: 3 },
      materials: { length: 2 },
      bomItems: { length: 4 },
    });
    expect(await otherForms()).toEqual([ALL[2]]);
    expect(await runJson('replay', '--form')).toMatchObject({ form: { staged: {}, unsupported: { bom_item: 4 } } });
  });

  it('a later change of an item in another form sends all of its fields', async () => {
    await world.sync();
    useProfile(RIGHT);
    const files = smallFiles({
      ...EXPORT,
      ...changed('materials', 'M1', { name: 'Steel 2' }),
      products: EXPORT.products,
    });
    world.writeAll(files);
    await world.sync();
    expect(world.contents().materials).toMatchObject([
      { name: 'Steel 2', recycled_mass_fraction: '0.4' },
      { name: 'Copper', recycled_mass_fraction: null },
    ]);
    expect(await otherForms()).toMatchObject([
      { kind: 'product' },
      { kind: 'material', items: 1 },
      { kind: 'bom_item' },
    ]);
  });

  it('the selection of a replay may name sources and keys, and a named BOM item is blocked', async () => {
    await world.sync();
    useProfile(RIGHT);
    expect(await runJson('replay', '--form', '--source', 'erp', '--key', 'M1')).toMatchObject({
      ok: true,
      form: { staged: { material: 1 }, unsupported: {} },
    });
    expect(await runJson('replay', '--form', '--key', '3')).toMatchObject({
      ok: false,
      form: { staged: {}, unsupported: { bom_item: 1 } },
    });
    expect(await runJson('show', 'bom_item', '3')).toMatchObject({
      item: { state: 'blocked', reason: { code: 'unsupported' } },
    });
    await run('settle', '--delivered', '3');
    expect(await otherForms()).toMatchObject([
      { kind: 'product', items: 3 },
      { kind: 'material', items: 1 },
      { kind: 'bom_item', items: 3 },
    ]);
    await run('replay', '--form', '--key', '4');
    await run('settle', '--ignore', '4');
    expect(await otherForms()).toMatchObject([{ items: 3 }, { items: 1 }, { kind: 'bom_item', items: 2 }]);
  });

  it('a platform that updates no products has them only counted', async () => {
    await world.sync();
    useProfile({ productUpdate: 'none' });
    expect(await runJson('replay', '--form')).toMatchObject({
      ok: true,
      form: { staged: { material: 2 }, unsupported: { product: 3, bom_item: 4 } },
    });
    expect(await otherForms()).toMatchObject([{ kind: 'product', items: 3 }, { kind: 'bom_item' }]);
  });

  it('after the profile has its former form again, nothing differs and nothing is sent', async () => {
    await world.sync();
    useProfile(RIGHT);
    await world.sync();
    useProfile(WRONG);
    expect(await otherForms()).toEqual([]);
    world.requests();
    expect(await runJson('replay', '--form')).toMatchObject({ ok: true, form: { staged: {}, unsupported: {} } });
    expect(world.requests()).toEqual({});
  });

  it('another way to write decimals is another form', async () => {
    await world.sync();
    useProfile({ ...WRONG, decimals: 'number' });
    expect(await otherForms()).toEqual([
      { kind: 'material', items: 2, fields: ['composition', 'recycled_mass_fraction'] },
      { kind: 'bom_item', items: 4, fields: ['mass', 'mass_fraction', 'per_quantity', 'quantity'] },
    ]);
  });

  it('a field that is only added makes no other form', async () => {
    await world.sync();
    useProfile({ ...WRONG, extraFields: { product: ['colour'], material: ['shade'] } });
    expect(await otherForms()).toEqual([]);
    await world.sync();
    expect(await otherForms()).toEqual([]);
  });

  it('all items of a kind that the API cannot update are blocked and settled together', async () => {
    await world.sync();
    useProfile(RIGHT);
    expect(await runJson('replay', '--form', '--kind', 'bom_item')).toMatchObject({
      ok: false,
      form: { staged: {}, unsupported: { bom_item: 4 } },
    });
    await run('settle', '--state', 'blocked', '--kind', 'bom_item', '--ignore', '--yes');
    expect(await otherForms()).toMatchObject([
      { kind: 'product', items: 3 },
      { kind: 'material', items: 2 },
    ]);
    expect(await otherForms()).toHaveLength(2);
    expect((await run('status')).exitCode).toBe(0);
  });

  it('--form cannot be used with a selection of stuck items, and --kind only with --form', async () => {
    expect((await run('replay', '--form', '--state', 'blocked')).exitCode).toBe(2);
    expect((await run('replay', '--form', '--force', '--key', 'M1')).exitCode).toBe(2);
    expect((await run('replay', '--kind', 'product')).exitCode).toBe(2);
  });

  it('a restored ledger sends products and materials in full, and shows what the backup knew of BOM items', async () => {
    await world.sync();
    const backup = `${world.folder}/backup.db`;
    await run('ledger', 'backup', backup);
    useProfile(RIGHT);
    await run('replay', '--form');
    expect(await otherForms()).toEqual([ALL[2]]);
    expect((await run('ledger', 'restore', backup)).exitCode).toBe(0);
    expect(await otherForms()).toEqual(ALL);
    await world.sync();
    expect(await otherForms()).toEqual([ALL[2]]);
    expect(world.contents()).toMatchObject({
      products: { length: 3 },
      materials: { length: 2 },
      bomItems: { length: 4 },
    });
    expect(valuesOf('materials', 'recycled_mass_fraction')).toEqual(['0.4', '0.25']);
  });

  it('an item that is adopted counts as sent in the present form', async () => {
    await world.sync();
    useProfile(RIGHT);
    const runtime = await world.open();
    await runtime.close();
    const { baseUrl } = world;
    await fetch(`${baseUrl}/api/materials/`, {
      method: 'POST',
      headers: { 'x-api-key': API_KEY, 'content-type': 'application/json' },
      body: JSON.stringify({ code: 'M9', name: 'Zinc', recycled_mass_fraction: '0.1' }),
    });
    const materials = [...EXPORT.materials, { id: 'M9', name: 'Zinc', recycled: '0.1' }];
    world.writeAll(smallFiles({ ...EXPORT, materials }));
    await world.sync();
    expect(world.contents().materials).toHaveLength(3);
    expect(await runJson('show', 'material', 'M9')).toMatchObject({ item: { state: 'delivered', inOtherForm: [] } });
    expect(await otherForms()).toEqual(ALL);
  });

  it('a daemon that was started with the former profile sends nothing again, and says why', async () => {
    await world.sync();
    const { daemon } = await startDaemon(world, { version: findPackage().version });
    try {
      useProfile(RIGHT);
      // The daemon answers for its own profile.
      expect(await otherForms()).toEqual([]);
      world.requests();
      const refused = await run('replay', '--form');
      expect(refused.exitCode).toBe(2);
      expect(refused.text).toContain('Restart the daemon');
      expect(world.requests()).toEqual({});
    } finally {
      await daemon.stop();
    }
    expect(await runJson('replay', '--form')).toMatchObject({ form: { staged: { product: 3, material: 2 } } });
  });
});
