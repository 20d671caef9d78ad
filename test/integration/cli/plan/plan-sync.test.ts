// A plan says what the next sync does: the sandbox shows what the sync did, and both are compared.

import { cpSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { namesIn, plannedEffects, watchPlatform } from '../../../support/plans/effects.ts';
import { type Planned, planOf } from '../../../support/plans/planned.ts';
import { REPOSITORY } from '../../../support/worlds/config-folder.ts';
import { refuseCreates } from '../../../support/worlds/daemon-world.ts';
import { createWorld, type World, type WorldOptions } from '../../../support/worlds/world.ts';

const OFF = { enabled: false };
const NO_GATES = { gates: { productComplete: OFF, bomPresent: OFF, materialData: OFF } };

/** An export of two sources: products and materials, and the bill of materials. */
interface Export {
  products: { id: string; sku: string; name: string; country: string; note: string }[];
  materials: { id: string; name: string; recycled: string }[];
  lines: { id: string; product: string; part: string; quantity: string }[];
}

const GUARD = { maxMissing: '100%', maxDrop: '100%' };
const SOURCES = [
  {
    id: 'plm',
    connector: 'csv',
    options: { path: './exports/bom.csv', key: ['ID'] },
    guard: GUARD,
    onMissing: 'unpublish',
    mappings: [
      {
        to: 'bom_item',
        key: 'row.ID',
        refs: { product: 'row.PRODUCT', part: 'row.PART' },
        fields: { quantity: 'decimal(row.QTY)' },
      },
    ],
  },
  {
    id: 'erp',
    connector: 'csv',
    streams: {
      products: { path: './exports/products.csv', key: ['ID'] },
      materials: { path: './exports/materials.csv', key: ['ID'] },
    },
    guard: GUARD,
    onMissing: 'unpublish',
    mappings: [
      {
        stream: 'products',
        to: 'product',
        key: 'row.ID',
        fields: {
          sku: 'row.SKU',
          name: 'row.NAME',
          country_of_origin: 'country(row.COUNTRY)',
          description: 'row.NOTE',
        },
      },
      {
        stream: 'materials',
        to: 'material',
        key: 'row.ID',
        fields: { code: 'row.ID', name: 'row.NAME', recycled_mass_fraction: 'decimal(row.RECYCLED)' },
      },
    ],
  },
];

function filesOf({ products, materials, lines }: Export): Record<string, string> {
  const csv = (header: string, rows: readonly object[]): string =>
    `${[header, ...rows.map((row) => Object.values(row).join(','))].join('\n')}\n`;
  return {
    'exports/products.csv': csv('ID,SKU,NAME,COUNTRY,NOTE', products),
    'exports/materials.csv': csv('ID,NAME,RECYCLED', materials),
    'exports/bom.csv': csv('ID,PRODUCT,PART,QTY', lines),
  };
}

function write(world: World, content: Export): void {
  world.writeAll(filesOf(content));
}

/** Plans, syncs, and compares the plan with what the sandbox shows. Then nothing may be left to do. */
async function compare(world: World): Promise<Planned> {
  const effects = watchPlatform(world);
  const plan = await planOf(world);
  const report = await world.sync();
  expect(report.fault).toBeNull();
  const planned = plannedEffects(plan.items, namesIn(world));
  expect(planned).toEqual(effects());
  expect(plan.exitCode).toBe(planned.length > 0 ? 4 : 0);
  const again = await planOf(world);
  expect(plannedEffects(again.items, namesIn(world))).toEqual([]);
  expect(again.exitCode).toBe(0);
  expect(stuckIn(again)).toEqual(stuckIn(plan));
  return plan;
}

/** The items of a plan that a sync does not send. */
const stuckIn = ({ items }: Planned): string[] =>
  items.flatMap(({ action, kind, key, state }) => (action === 'blocked' ? [`${kind} ${key} ${state}`] : [])).toSorted();

let world: World;

async function begin(content: Export, options: Partial<WorldOptions> = {}) {
  world = await createWorld({
    files: filesOf(content),
    sandbox: NO_GATES,
    ...options,
    config: { sources: SOURCES, passports: { init: 'when-complete', publish: 'auto' }, ...options.config },
  });
}

/** The numbers of the products and materials. */
const FIRST = ['1', '2', '3'];

describe('a plan and the sync after it', () => {
  const SOUND: Export = {
    products: FIRST.map((id) => ({ id: `P${id}`, sku: `SKU-${id}`, name: 'Fan', country: 'DE', note: '' })),
    materials: FIRST.map((id) => ({ id: `M${id}`, name: 'Steel', recycled: '0.1' })),
    lines: FIRST.map((id) => ({ id, product: `P${id}`, part: `M${id}`, quantity: '1' })),
  };
  /** Each passport needs a review. */
  const HELD = { sandbox: { gates: { ...NO_GATES.gates, review: { enabled: true } } } };
  const renamed = (name: string): Export => ({
    ...SOUND,
    products: SOUND.products.map((row) => (row.id === 'P2' ? { ...row, name } : row)),
  });
  afterEach(() => world.remove());

  it('are the same for the export of the demo', async () => {
    const folder = join(REPOSITORY, 'config/demo');
    const { sources, passports } = parse(readFileSync(join(folder, 'dpp-sync.yaml'), 'utf8')) as Record<
      string,
      unknown
    >;
    world = await createWorld({ config: { sources, passports }, sandbox: NO_GATES });
    cpSync(folder, world.folder, { recursive: true, filter: (file) => !file.endsWith('.yaml') });
    const plan = await compare(world);
    expect(plan.summary.counts).toMatchObject({ create_or_adopt: { product: 344, material: 98 } });
  });

  it('are the same after the platform has rejected an item, whose row is then corrected', async () => {
    await begin(SOUND);
    refuseCreates(world, 'SKU-2');
    await world.sync();
    const rejected = await planOf(world);
    expect(rejected.exitCode).toBe(0);
    expect(stuckIn(rejected)).toEqual(['bom_item 2 waiting', 'product P2 rejected']);
    world.sandbox.faults.clear();
    write(world, renamed('Blower'));
    const corrected = await compare(world);
    expect(corrected.summary.counts).toMatchObject({ create: { product: 1, bom_item: 1 }, publish: { passport: 1 } });
  });

  it('are the same beside an item whose answer was lost and that cannot be looked up', async () => {
    await begin(SOUND);
    world.sandbox.faults.add({ operation: 'bom_item.create', kind: 'reset-after', count: 1 });
    await world.sync();
    world.sandbox.faults.clear();
    write(world, {
      ...renamed('Blower'),
      lines: [...SOUND.lines, { id: '9', product: 'P2', part: 'M1', quantity: '1' }],
    });
    const plan = await compare(world);
    expect(stuckIn(plan)).toEqual([expect.stringMatching(/^bom_item \d in_doubt$/)]);
  });

  it('differ by the passports that a rule of the platform holds back, whose gate the plan does not know', async () => {
    await begin(SOUND, HELD);
    const plan = await planOf(world);
    const published = plan.items.filter(({ action }) => action === 'publish');
    expect(published.map(({ gate }) => gate)).toEqual(['unknown', 'unknown', 'unknown']);
    await world.sync();
    const held = await planOf(world);
    expect(held.exitCode).toBe(0);
    expect(stuckIn(held)).toEqual(FIRST.map((id) => `passport P${id} blocked`));
  });

  it('are the same for passports that a rule has held back and that are asked for again', async () => {
    await begin(SOUND, { ...HELD, profile: { recheckBlockedMs: 1 } });
    await world.sync();
    const again = await planOf(world);
    expect(again.summary.counts).toEqual({ publish: { passport: 3 } });
    expect(again.exitCode).toBe(4);
    world.requests();
    await world.sync();
    expect(world.requests()['passport.publish']).toBe(3);
  });
});
