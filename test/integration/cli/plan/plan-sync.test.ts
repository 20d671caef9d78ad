// A plan says what the next sync does: the sandbox shows what the sync did, and both are compared.

import { cpSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterEach, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { scaled } from '../../../support/runner/chaos.ts';
import { REPOSITORY } from '../../../support/worlds/config-folder.ts';
import { refuseCreates } from '../../../support/worlds/daemon-world.ts';
import { createWorld, type World, type WorldOptions } from '../../../support/worlds/world.ts';
import { namesIn, plannedEffects, watchPlatform } from './effects.ts';
import { type Planned, planOf } from './planned.ts';

const OFF = { enabled: false };
const NO_GATES = { gates: { productComplete: OFF, bomPresent: OFF, materialData: OFF } };

/** An export of two sources: products and materials, and the bill of materials. */
interface Export {
  products: { id: string; sku: string; name: string; country: string; note: string }[];
  materials: { id: string; name: string; recycled: string }[];
  lines: { id: string; product: string; part: string; quantity: string }[];
}

const GUARD = { maxMissing: '100%', maxDrop: '100%' };
const sourcesOf = (onMissing: string) => [
  {
    id: 'plm',
    connector: 'csv',
    options: { path: './exports/bom.csv', key: ['ID'] },
    guard: GUARD,
    onMissing,
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
    onMissing,
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
  for (const [path, text] of Object.entries(filesOf(content))) world.write(path, text);
}

/** Plans, syncs, and compares the plan with what the sandbox shows. Then nothing may be left to do. */
async function compare(world: World): Promise<Planned> {
  const effects = watchPlatform(world);
  const plan = await planOf(world);
  const report = await world.sync();
  const isRefused = plan.summary.failed.length > 0;
  expect(report.fault?.code).toBe(isRefused ? 'source.refused' : undefined);
  const planned = plannedEffects(plan.items, namesIn(world));
  expect(planned).toEqual(effects());
  expect(plan.exitCode).toBe(isRefused ? 3 : planned.length > 0 ? 4 : 0);
  const counts = ({ read, changed, unchanged, quarantined, excluded, missing }: (typeof report.runs)[number]) => [
    read,
    changed,
    unchanged,
    quarantined,
    excluded,
    missing,
  ];
  expect(plan.summary.runs.map((run) => counts(run as (typeof report.runs)[number]))).toEqual(report.runs.map(counts));
  const { missing, quarantined } = plan.summary;
  expect({ missing, quarantined }).toEqual({ missing: report.missing, quarantined: report.quarantined });
  const again = await planOf(world);
  expect(plannedEffects(again.items, namesIn(world))).toEqual([]);
  expect(again.exitCode).toBe(isRefused ? 3 : 0);
  expect(stuckIn(again)).toEqual(stuckIn(plan));
  return plan;
}

/** The items of a plan that a sync does not send. */
const stuckIn = ({ items }: Planned): string[] =>
  items.flatMap(({ action, kind, key, state }) => (action === 'blocked' ? [`${kind} ${key} ${state}`] : [])).toSorted();

let world: World;

async function begin(
  content: Export,
  options: Partial<WorldOptions> = {},
  { publish = 'auto', onMissing = 'unpublish' } = {},
) {
  world = await createWorld({
    files: filesOf(content),
    sandbox: NO_GATES,
    ...options,
    config: { sources: sourcesOf(onMissing), passports: { init: 'when-complete', publish }, ...options.config },
  });
}

// A sync begins to send while it reads. So an item that waits is sent in its former form if what it waits for comes before its own
// changed row. The exports below never change a row whose item waits: the parts of other rows are there from the first night on.
const FIRST = ['1', '2', '3'];
const WAITING: Export['lines'] = [
  { id: '6', product: 'P4', part: 'M1', quantity: '1' },
  { id: '7', product: 'P1', part: 'M4', quantity: '1' },
  { id: '8', product: 'P2', part: 'P5', quantity: '1' },
];
const product = fc.record({
  id: fc.constantFrom('1', '2', '3', '4', '5'),
  sku: fc.constantFrom('SKU', 'SKU', 'SKU', 'NEW'),
  name: fc.constantFrom('Fan', 'Motor', 'Pump'),
  country: fc.constantFrom('DE', 'DE', 'AT', 'XX'),
  note: fc.constantFrom('', 'new'),
});
const material = fc.record({
  id: fc.constantFrom('1', '2', '3', '4'),
  name: fc.constantFrom('Steel', 'Copper', ''),
  recycled: fc.constantFrom('0.1', '0.2', ''),
});
const line = fc
  .record({
    id: fc.constantFrom('1', '2', '3', '4', '5'),
    product: fc.constantFrom(...FIRST),
    part: fc.constantFrom('M1', 'M2', 'M3', 'P1', 'P2', 'P3'),
    quantity: fc.constantFrom('1', '2', 'many'),
  })
  .filter((one) => one.part !== `P${one.product}`);
const night = fc
  .record({
    products: fc.uniqueArray(product, { selector: ({ id }) => id, maxLength: 5 }),
    materials: fc.uniqueArray(material, { selector: ({ id }) => id, maxLength: 4 }),
    lines: fc.uniqueArray(line, { selector: ({ id }) => id, maxLength: 5 }),
  })
  .map(({ products, materials, lines }) => ({
    products: products.map((row) => ({ ...row, id: `P${row.id}`, sku: `${row.sku}-${row.id}` })),
    materials: materials.map((row) => ({ ...row, id: `M${row.id}` })),
    lines: [...lines.map((row) => ({ ...row, product: `P${row.product}` })), ...WAITING],
  }));
/** The first night has the parts of all rows that change later. */
const firstNight = night.map(
  (content): Export => ({
    products: [
      ...FIRST.map((id) => ({ id: `P${id}`, sku: `SKU-${id}`, name: 'Fan', country: 'DE', note: '' })),
      ...content.products.filter(({ id }) => !FIRST.includes(id.slice(1))),
    ],
    materials: [
      ...FIRST.map((id) => ({ id: `M${id}`, name: 'Steel', recycled: '0.1' })),
      ...content.materials.filter(({ id }) => !FIRST.includes(id.slice(1))),
    ],
    lines: content.lines,
  }),
);
const RULES = fc.record({
  publish: fc.constantFrom('auto', 'manual'),
  onMissing: fc.constantFrom('unpublish', 'flag', 'ignore'),
});

describe('a plan and the sync after it', () => {
  it('are the same for any exports', async () => {
    const nights = fc.tuple(firstNight, fc.array(night, { minLength: 1, maxLength: 3 }));
    await fc.assert(
      fc.asyncProperty(nights, RULES, async ([first, later], rules) => {
        await begin(first, {}, rules);
        try {
          await compare(world);
          for (const next of later) {
            write(world, next);
            await compare(world);
          }
        } finally {
          await world.remove();
        }
      }),
      { numRuns: scaled(3, 300), endOnFailure: true },
    );
  });
});

describe('a plan and the sync after it, in worlds of one kind each', () => {
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
