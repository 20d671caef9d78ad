// The guard over items that vanish while their records stay, as people meet it: in syncs, `status` and `show`.

import { readFileSync } from 'node:fs';
import { afterEach, describe, expect, it } from 'vitest';
import { exitCodeOf } from '../../../src/observe/standing.ts';
import { runHere } from '../../support/cli/cli-here.ts';
import { text } from '../../support/ledger/items.ts';
import { createWorld, type World } from '../../support/worlds/world.ts';

interface Assembly {
  id: string;
  status: string;
  colour: string;
  parts: string[];
}

const GATES = {
  productComplete: { enabled: false },
  bomPresent: { enabled: false },
  materialData: { enabled: false },
};
const COLOURS = 'code;name\n01;red\n';

/** Assemblies, each with as many parts. */
function assemblies(count: number, parts = 2): Assembly[] {
  return Array.from({ length: count }, (_, at) => ({
    id: `A${at + 1}`,
    status: 'on sale',
    colour: '01',
    parts: Array.from({ length: parts }, (__, part) => `${part + 1}`),
  }));
}

const PRODUCTS = {
  stream: 'assemblies',
  to: 'product',
  when: 'row.status == "on sale"',
  key: 'row.id',
  fields: { sku: 'row.id', name: '"Product " + row.id' },
};
const PARTS = {
  stream: 'assemblies',
  to: 'bom_item',
  each: 'row.parts',
  key: 'row.id + "/" + item',
  refs: { product: 'row.id', material: '"OAK"' },
  fields: { quantity: '"1"', unit: '"C62"' },
};

function source(mappings: readonly object[], more: object): object {
  return {
    id: 'erp',
    connector: 'json',
    streams: { assemblies: { path: './assemblies.json', key: ['id'] } },
    mappings,
    ...more,
  };
}

const PIM = {
  id: 'pim',
  connector: 'csv',
  options: { delimiter: ';' },
  streams: {
    colours: { path: './colours.csv', key: ['code'] },
    materials: { path: './materials.csv', key: ['code'] },
  },
  mappings: [{ stream: 'materials', to: 'material', key: 'row.code', fields: { name: 'row.name' } }],
};

let world: World;
afterEach(() => world.remove());

async function given(
  rows: readonly Assembly[],
  { mappings = [PRODUCTS], more = {} }: { mappings?: readonly object[]; more?: object } = {},
): Promise<void> {
  world = await createWorld({
    config: {
      sources: [source(mappings, more), PIM],
      passports: { init: 'when-complete', publish: 'auto' },
    },
    target: { firstContact: 'assume-empty' },
    sandbox: { gates: GATES },
    profile: { list: { lagMs: 0 }, settlingDelayMs: { reset: 20, timeout: 20 } },
    files: { 'colours.csv': COLOURS, 'materials.csv': 'code;name\nOAK;Oak\n' },
  });
  write(rows);
  expect(exitCodeOf(await world.sync())).toBe(0);
}

const write = (rows: readonly Assembly[]): void => world.write('assemblies.json', JSON.stringify(rows));
const look = (...args: string[]) => runHere([...args, '-c', world.configFile]);

/** Replaces a text of the config, as a person does. */
function edit(from: string, to: string): void {
  const config = readFileSync(world.configFile, 'utf8');
  expect(config).toContain(from);
  world.write('dpp-sync.yaml', config.replace(from, to));
}

/** How many passports are published, and how many were withdrawn. */
function publications(): { published: number; withdrawn: number } {
  const statuses = world.contents().publications.map(({ status }) => text(status));
  const published = statuses.filter((status) => status === 'published').length;
  return { published, withdrawn: statuses.length - published };
}

const HELD = { source: 'erp', stream: 'assemblies' };

describe('an export in which each record has lost its nested list', () => {
  const whole = assemblies(3);
  const emptied = assemblies(3, 0);

  it('an export whose records lost their nested list is held with counts and cure, in sync, status and show', async () => {
    await given(whole, { mappings: [PRODUCTS, PARTS] });
    write(emptied);
    for (let times = 0; times < 2; times += 1) {
      const report = await world.sync();
      expect(exitCodeOf(report)).toBe(4);
      expect(report.missing).toEqual({});
      expect(report.guarded).toMatchObject([
        {
          ...HELD,
          released: 6,
          message: expect.stringContaining('no longer make 6 of 6 BOM items (100 %, allowed are 5 %)'),
        },
      ]);
    }
    const status = await look('status');
    expect(status.exitCode).toBe(4);
    expect(status.stdout).toContain('The guard holds erp/assemblies: The records that are still there no longer make');
    const commands = status.stdout.match(/ (?:preview|sync)(?: --accept)? erp$/gm);
    expect(commands).toEqual([' preview erp', ' sync erp', ' sync --accept erp']);
    const shown = await look('show', 'bom_item', 'A1/1');
    expect(shown.stdout).toContain(
      'no row makes it any more, and the guard has not decided whether the item is missing',
    );
    expect((await look('items', '--state', 'missing', '--json')).stdout).not.toContain('A1/1');

    const blocked = (await look('show', 'product', 'A1', '--json')).json();
    expect(blocked).toMatchObject({
      passport: {
        holds: [
          expect.stringMatching(
            /^The guard holds the source erp, so it is not known whether the product has all its parts: The records .* BOM items .*, accept it, and what it lacks counts as missing: `dpp-sync sync --accept erp`\.$/,
          ),
        ],
      },
    });

    world.requests();
    write(whole);
    const next = await world.sync();
    expect(exitCodeOf(next)).toBe(0);
    expect([next.guarded, next.missing]).toEqual([[], {}]);
    expect(world.requests()).not.toHaveProperty('bom_item.create');
  });

  it('an export whose records lost their nested list is accepted with its figures, and the guard holds a worse one again', async () => {
    await given(whole, { mappings: [PRODUCTS, PARTS] });
    write([...emptied.slice(0, 2), ...whole.slice(2)]);
    expect((await world.sync()).guarded).toMatchObject([{ released: 4 }]);

    write(emptied);
    const worse = await world.sync({ accept: ['erp'] });
    expect(worse.accepted).toMatchObject({ guarded: [{ ...HELD, released: 4 }] });
    expect(worse.guarded).toMatchObject([{ released: 6 }]);
    expect(worse.missing).toEqual({});

    const { exitCode, stdout } = await look('sync', '--accept', 'erp');
    expect(exitCode).toBe(0);
    expect(stdout).toContain('Accepted of erp/assemblies: 6 items that no record makes any more.');
    expect(stdout).toContain('Missing from their sources, and kept at the platform: 6 BOM items');
    expect((await look('show', 'bom_item', 'A1/1')).stdout).toContain('missing from its source: no row makes it');
  });

  it('a held export without its nested list marks nothing where records are missing too, and the acceptance covers both', async () => {
    await given(assemblies(6), { mappings: [PRODUCTS, PARTS] });
    write(emptied);
    const both = await world.sync();
    const forRecords = {
      missing: 3,
      read: 3,
      released: 0,
      message: expect.stringContaining('3 of 6 records with items are missing'),
    };
    const forItems = { released: 6, message: expect.stringContaining('6 of 12 BOM items (50 %, allowed are 5 %)') };
    expect(both.guarded).toMatchObject([forRecords, forItems]);
    expect(both.missing).toEqual({});
    const accepted = await world.sync({ accept: ['erp'] });
    expect(accepted).toMatchObject({ guarded: [], missing: { product: 3, bom_item: 12 } });
  });
});

describe('a small share of the items', () => {
  it('a small share of the items is missing at once', async () => {
    await given(assemblies(21, 1), { mappings: [PRODUCTS, PARTS] });
    const [first, ...rest] = assemblies(21, 1);
    write([{ ...(first as Assembly), parts: [] }, ...rest]);
    const report = await world.sync();
    expect(exitCodeOf(report)).toBe(0);
    expect(report).toMatchObject({ guarded: [], missing: { bom_item: 1 } });
  });

  it('a small share of the items is not small for another kind: one product may have a hundred parts', async () => {
    await given(assemblies(2, 20), { mappings: [PRODUCTS, PARTS] });
    edit('key: row.id\n', 'key: row.id + row.colour\n');
    edit('sku: row.id\n', 'sku: row.id + row.colour\n');
    const report = await world.sync();
    expect(report.guarded).toMatchObject([
      { message: expect.stringContaining('2 of 2 products (100 %, allowed are 5 %)') },
    ]);
  });
});

describe.each(['flag', 'unpublish'])('a condition that excludes all, with `onMissing: %s`', (onMissing) => {
  it('a condition that excludes all items withdraws no passport until a person accepts that', async () => {
    await given(assemblies(4), { more: { onMissing } });
    expect(publications()).toEqual({ published: 4, withdrawn: 0 });
    write(assemblies(4).map((row) => ({ ...row, status: '' })));
    const report = await world.sync();
    expect(exitCodeOf(report)).toBe(4);
    expect(report.guarded).toMatchObject([{ released: 4, message: expect.stringContaining('4 of 4 products') }]);
    expect(publications()).toEqual({ published: 4, withdrawn: 0 });

    const accepted = await world.sync({ accept: ['erp'] });
    expect(accepted.guarded).toEqual([]);
    if (onMissing === 'flag') {
      expect(accepted.missing).toEqual({ product: 4 });
      expect(publications()).toEqual({ published: 4, withdrawn: 0 });
    } else {
      expect(publications().withdrawn).toBe(4);
    }
  });
});

describe('a key of the mapping that has changed', () => {
  it('a changed key of the mapping withdraws no passport, and the corrected mapping ends the hold of the guard', async () => {
    await given(assemblies(4), { more: { onMissing: 'unpublish' } });
    edit('key: row.id\n', 'key: row.id + row.colour\n');
    edit('sku: row.id\n', 'sku: row.id + row.colour\n');
    const report = await world.sync();
    expect(report.guarded).toMatchObject([
      { released: 4, message: expect.stringContaining('4 of 4 products (100 %, allowed are 5 %)') },
    ]);
    expect(publications()).toMatchObject({ withdrawn: 0 });

    edit('key: row.id + row.colour\n', 'key: row.id\n');
    edit('sku: row.id + row.colour\n', 'sku: row.id\n');
    const corrected = await world.sync();
    // The products of the wrong key were never created.
    expect([exitCodeOf(corrected), corrected.guarded]).toEqual([0, []]);
    expect((await look('show', 'product', 'A1', '--json')).json()).toMatchObject({ item: { released: false } });
    expect(publications()).toEqual({ published: 4, withdrawn: 0 });
    expect(world.contents().products).toHaveLength(4);
  });
});

describe('a lookup that excludes all stored records', () => {
  it('a lookup that excludes all stored records is held by the guard in the sync that has read the lookup', async () => {
    const lookups = { colours: { source: 'pim', stream: 'colours', key: 'code', value: 'name' } };
    const when = 'lookup("colours", row.colour) == "red"';
    await given(assemblies(4), { mappings: [{ ...PRODUCTS, when }], more: { onMissing: 'unpublish', lookups } });
    world.write('colours.csv', COLOURS.replace('red', 'blue'));
    const report = await world.sync();
    expect(exitCodeOf(report)).toBe(4);
    expect(report.guarded).toMatchObject([{ ...HELD, released: 4 }]);
    expect(publications()).toEqual({ published: 4, withdrawn: 0 });

    world.write('colours.csv', COLOURS);
    const next = await world.sync();
    expect([next.guarded, next.missing]).toEqual([[], {}]);
  });
});
