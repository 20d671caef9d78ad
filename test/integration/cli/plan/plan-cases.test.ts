// What a plan shows of single changes: what only the platform knows, public passports, and another config.

import { copyFileSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { runHere } from '../../../support/cli/cli-here.ts';
import { type Planned, planOf } from '../../../support/plans/planned.ts';
import { createAtPlatform } from '../../../support/worlds/settle-world.ts';
import { changed, SMALL, SMALL_SOURCES, type SmallExport, smallFiles } from '../../../support/worlds/small-export.ts';
import { createWorld, type World, type WorldOptions } from '../../../support/worlds/world.ts';

let world: World;
afterEach(() => world.remove());

const OFF = { enabled: false };
async function begin(options: Partial<WorldOptions> = {}): Promise<void> {
  world = await createWorld({
    files: smallFiles(SMALL),
    sandbox: { gates: { productComplete: OFF, bomPresent: OFF, materialData: OFF } },
    ...options,
    config: { sources: SMALL_SOURCES, passports: { init: 'when-complete', publish: 'auto' }, ...options.config },
  });
}

function write(content: SmallExport): void {
  world.writeAll(smallFiles(content));
}

/** The items of a plan, each as its action, kind and key. */
const linesOf = ({ items }: Pick<Planned, 'items'>): string[] =>
  items.map(({ action, kind, key }) => `${action} ${kind} ${key}`).toSorted();

const MORE: SmallExport = {
  products: [...SMALL.products, { id: 'P4', name: 'Grille', country: 'DE' }],
  materials: SMALL.materials,
  lines: [...SMALL.lines, { id: '5', product: 'P4', material: 'M1', quantity: '1' }],
};

describe('a plan of what only the platform knows', () => {
  it('a plan before the first contact creates or adopts, and one after it creates', async () => {
    await begin({ config: { passports: { init: 'manual', publish: 'manual' } } });
    const first = await planOf(world);
    expect(first.summary.counts).toEqual({ create_or_adopt: { product: 3, material: 2, bom_item: 4 } });
    expect(first.summary.lists).toEqual(['material', 'product']);
    const { stdout } = await runHere(['plan', '-c', world.configFile]);
    expect(stdout).toContain('create or adopt  3 products, 2 materials, 4 BOM items');
    expect(stdout).toContain("reads the platform's list of materials and products, which decides what is created");
    await world.sync();
    write(MORE);
    const second = await planOf(world);
    expect(linesOf(second)).toEqual(['create bom_item 5', 'create product P4']);
    expect(second.summary.lists).toEqual([]);
  });

  it('a plan says of the parts of a product that may be adopted that they may be there too', async () => {
    await begin({ config: { passports: { init: 'manual', publish: 'manual' } } });
    await createAtPlatform(world, 'products', { sku: 'SKU-P1', name: 'Fan', country_of_origin: 'DE' });
    const lines = linesOf(await planOf(world));
    expect(lines).toContain('create_or_adopt product P1');
    expect(lines).toContain('create_or_adopt bom_item 1');
    await world.sync();
    // The sync has adopted the product, so only a person can say whether its parts are there.
    const after = await planOf(world);
    expect(linesOf(after)).toEqual(['blocked bom_item 1', 'blocked bom_item 2']);
    expect(after.exitCode).toBe(0);
  });

  it('a plan on a restored ledger sends each known item in full, and leaves what the platform may have', async () => {
    await begin({ config: { passports: { init: 'manual', publish: 'manual' } } });
    await world.sync();
    const backup = join(world.folder, 'backup.db');
    await runHere(['ledger', 'backup', backup, '-c', world.configFile]);
    write(MORE);
    await world.sync();
    expect((await runHere(['ledger', 'restore', backup, '-c', world.configFile])).exitCode).toBe(0);
    const plan = await planOf(world);
    expect(linesOf(plan)).toEqual([
      'blocked bom_item 5',
      'blocked product P4',
      'update material M1',
      'update material M2',
      'update product P1',
      'update product P2',
      'update product P3',
    ]);
    expect(plan.summary.lists).toEqual(['product', 'material']);
    const of = (key: string) => plan.items.find((item) => item.key === key);
    // The former values are not known.
    expect(of('P1')?.fields).toEqual({ name: { new: 'Fan' }, country_of_origin: { new: 'DE' } });
    expect(of('P4')).toMatchObject({ state: 'in_doubt', reason: { code: 'restored' } });
    expect(of('5')).toMatchObject({ state: 'waiting', waitsFor: [{ role: 'product', kind: 'product', key: 'P4' }] });
  });
});

describe('a plan about public passports', () => {
  it.each([
    { what: 'a product', next: changed('products', 'P1', { name: 'Blower' }), shown: ['P1'] },
    { what: 'a component', next: changed('products', 'P2', { name: 'Case' }), shown: ['P1', 'P2'] },
    { what: 'a material', next: changed('materials', 'M1', { name: 'Iron' }), shown: ['P2'] },
    {
      what: 'a new BOM item',
      next: { ...SMALL, lines: [...SMALL.lines, { id: '5', product: 'P3', material: 'M1', quantity: '1' }] },
      shown: ['P3'],
    },
  ])('a plan names the public passports that show $what', async ({ next, shown }) => {
    await begin();
    await world.sync();
    write(next);
    const differing = ({ items }: Planned) => items.filter(({ action }) => action === 'differs').map(({ key }) => key);
    const plan = await planOf(world);
    expect(differing(plan).toSorted()).toEqual(shown);
    await runHere(['unpublish', ...shown.map((key) => `SKU-${key}`), '-c', world.configFile]);
    expect(differing(await planOf(world))).toEqual([]);
  });
});

describe('a plan of another config over the stored rows', () => {
  const stored = (name: string) => planOf({ configFile: join(world.folder, name) }, '--stored');
  const config = () => readFileSync(world.configFile, 'utf8');

  it('a plan of the same config over the stored rows changes nothing, whatever the files have now', async () => {
    await begin();
    await world.sync();
    write(changed('products', 'P1', { name: 'Blower' }));
    const plan = await planOf(world, '--stored');
    expect(plan.items).toEqual([]);
    expect(plan.exitCode).toBe(0);
    expect(plan.summary.runs).toEqual([]);
  });

  it('what is blocked or waits already is no effect of a config', async () => {
    await begin();
    world.sandbox.faults.add({ operation: 'material.create', kind: 'status', status: 422 });
    const { items } = await world.sync();
    expect(items).toMatchObject({ material: { rejected: 2 } });
    expect((await planOf(world)).items.map(({ action }) => action)).toContain('blocked');
    expect((await planOf(world, '--stored')).items).toEqual([]);
  });

  it('a plan of another mapping shows the fields that it changes, and the public passports that show them', async () => {
    await begin();
    await world.sync();
    world.write('other.yaml', config().replace('name: row.NAME', 'name: row.NAME + " " + row.ID'));
    const plan = await stored('other.yaml');
    expect(plan.exitCode).toBe(4);
    expect(plan.items.filter(({ key }) => key === 'P2')).toEqual([
      expect.objectContaining({ action: 'update', fields: { name: { old: 'Housing', new: 'Housing P2' } } }),
      expect.objectContaining({ action: 'differs', kind: 'passport' }),
    ]);
    expect(plan.summary.counts).toEqual({ update: { product: 3 }, differs: { passport: 3 } });
  });

  it('a plan of another lookup file shows what it changes', async () => {
    const [source] = SMALL_SOURCES;
    const mappings = source?.mappings.map((mapping) =>
      mapping.to === 'material'
        ? { ...mapping, fields: { ...mapping.fields, category: 'lookup("kinds.csv", row.ID, "other")' } }
        : mapping,
    );
    await begin({
      config: { sources: [{ ...source, mappings }] },
      files: { ...smallFiles(SMALL), 'kinds.csv': 'key,value\nM1,metal\n' },
    });
    await world.sync();
    copyFileSync(join(world.folder, 'kinds.csv'), join(world.folder, 'later.csv'));
    world.write('later.csv', 'key,value\nM1,metal\nM2,alloy\n');
    world.write('other.yaml', config().replace('kinds.csv', 'later.csv'));
    const plan = await stored('other.yaml');
    expect(plan.items.map(({ action, key, fields }) => ({ action, key, fields }))).toEqual([
      { action: 'update', key: 'M2', fields: { category: { old: 'other', new: 'alloy' } } },
      { action: 'differs', key: 'P3', fields: {} },
    ]);
  });

  it('a plan of another profile shows the field that the profile makes known', async () => {
    await begin();
    await world.sync();
    world.write('profile.yaml', JSON.stringify({ extends: 'default', extraFields: { product: ['brand'] } }));
    world.write(
      'other.yaml',
      config()
        .replace('target:', 'target:\n  profile: ./profile.yaml')
        .replace('name: row.NAME', 'name: row.NAME\n          brand: "\'Tannwerk\'"'),
    );
    const plan = await stored('other.yaml');
    expect(plan.summary.counts).toEqual({ update: { product: 3 }, differs: { passport: 3 } });
    expect(plan.items[0]?.fields).toEqual({ brand: { new: 'Tannwerk' } });
  });
});
