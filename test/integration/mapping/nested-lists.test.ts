import { afterEach, describe, expect, it } from 'vitest';
import { runHere } from '../../support/cli/cli-here.ts';
import { text } from '../../support/ledger/items.ts';
import { createWorld, type World } from '../../support/worlds/world.ts';

interface Part {
  pos: string;
  code: string;
  qty: string;
}

interface Assembly {
  id: string;
  colour: string;
  status?: string;
  parts: Part[];
}

const PART = (pos: string, code: string, qty = '1'): Part => ({ pos, code, qty });
const CHAIR: Assembly = { id: 'CHAIR', colour: '01', parts: [PART('10', 'OAK'), PART('20', 'LEG', '4')] };
const LEG: Assembly = { id: 'LEG', colour: '02', parts: [] };
const COLOURS = 'code;name\n01;red\n02;blue\n';

function config(bom: Record<string, unknown> = {}): Record<string, unknown> {
  const pim = {
    id: 'pim',
    connector: 'csv',
    streams: {
      colours: { path: './colours.csv', key: ['code'] },
      materials: { path: './materials.csv', key: ['code'] },
    },
    options: { delimiter: ';' },
    mappings: [{ stream: 'materials', to: 'material', key: 'row.code', fields: { name: 'row.name' } }],
  };
  const erp = {
    id: 'erp',
    connector: 'json',
    streams: { assemblies: { path: './assemblies.json', key: ['id'] } },
    lookups: { colours: { source: 'pim', stream: 'colours', key: 'code', value: 'name' } },
    units: { Eimer: 'XPL' },
    mappings: [
      {
        stream: 'assemblies',
        to: 'product',
        when: '!("status" in row) || row.status != "old"',
        key: 'row.id',
        fields: { sku: 'row.id', name: 'row.id + " " + lookup("colours", row.colour)' },
      },
      {
        stream: 'assemblies',
        to: 'bom_item',
        each: 'row.parts',
        key: 'row.id + "/" + item.pos',
        refs: { product: 'row.id', part: 'item.code' },
        fields: { quantity: 'item.qty', unit: 'unit("Eimer")' },
        rules: { quantity: { max: 100 } },
        ...bom,
      },
    ],
    guard: { maxMissing: '100%', maxDrop: '100%' },
  };
  return { sources: [erp, pim] };
}

let world: World;
afterEach(() => world.remove());

async function given(
  assemblies: readonly Assembly[],
  bom?: Record<string, unknown>,
  more: Record<string, unknown> = {},
): Promise<void> {
  world = await createWorld({
    config: { ...config(bom), ...more },
    target: { firstContact: 'assume-empty' },
    files: {
      'assemblies.json': JSON.stringify(assemblies),
      'colours.csv': COLOURS,
      'materials.csv': 'code;name\nOAK;Oak\n',
    },
  });
}

const write = (assemblies: readonly Assembly[]): void => world.write('assemblies.json', JSON.stringify(assemblies));
const run = (...args: string[]) => runHere([...args, '-c', world.configFile]);
const byText = (a: string, b: string) => (a < b ? -1 : 1);
const names = () =>
  world
    .contents()
    .products.map(({ name }) => text(name))
    .toSorted(byText);

describe('a nested list whose parts are products or materials, with a lookup over another source', () => {
  it('a nested list is delivered without a script, and a changed lookup entry changes only the items that used it', async () => {
    await given([CHAIR, LEG]);
    const report = await world.sync();
    expect(report.items).toMatchObject({
      product: { delivered: 2 },
      material: { delivered: 1 },
      bom_item: { delivered: 2 },
    });
    expect(names()).toEqual(['CHAIR red', 'LEG blue']);
    world.write('colours.csv', COLOURS.replace('blue', 'navy'));
    const second = await world.sync();
    expect(names()).toEqual(['CHAIR red', 'LEG navy']);
    const accounts = second.runs.filter(({ source }) => source === 'erp');
    expect(accounts).toMatchObject([{ read: 2, unchanged: 2, changed: 0 }]);
  });

  it('a nested list is shown by preview, which reads the lookup from its source', async () => {
    await given([CHAIR]);
    const { stdout } = await run('preview', 'erp');
    expect(stdout).toContain('CHAIR red');
    expect(stdout).toContain('part      → product or material OAK');
  });

  it('a nested list keeps a product back for a bad part, or not, as the mapping says', async () => {
    const bad = { ...CHAIR, parts: [PART('10', 'OAK'), PART('20', 'LEG', '101')] };
    await given([bad, LEG], { onIssue: 'report' }, { passports: { init: 'when-complete' } });
    const report = await world.sync();
    expect(report.items).toMatchObject({ product: { delivered: 2 }, bom_item: { delivered: 1 } });
    expect(report).toMatchObject({ quarantined: 1, passports: { initialized: 2 } });
    const { stdout } = await run('quarantine');
    expect(stdout).toContain('quantity is 101, and the rules of the mapping allow no more than 100.');
  });
});

describe('what a record does not make any more, though it is still there', () => {
  it.each([
    ['an entry that left its list', [{ ...CHAIR, parts: [PART('20', 'LEG', '4')] }, LEG], 'bom_item', 'CHAIR/10'],
    [
      'an entry whose key has changed',
      [{ ...CHAIR, parts: [PART('11', 'OAK'), PART('20', 'LEG', '4')] }, LEG],
      'bom_item',
      'CHAIR/10',
    ],
    ['a record that is excluded now', [CHAIR, { ...LEG, status: 'old' }], 'product', 'LEG'],
  ])('an item that its record makes no more is missing: %s', async (_, next, kind, key) => {
    await given([CHAIR, LEG]);
    await world.sync();
    write(next);
    const report = await world.sync();
    expect(report.missing).toEqual({ [kind]: 1 });
    expect((await run('status')).stdout).toMatch(/Missing from their sources, and kept at the platform: 1 /);
    const listed = await run('items', '--state', 'missing');
    expect(listed.stdout).toContain(key);
    expect(listed.stderr + listed.stdout).toContain(' settle --state missing --ignore');
    const { stdout } = await run('show', kind, key);
    expect(stdout).toContain('missing from its source: no row makes it any more');
    expect(stdout).toMatch(new RegExp(`If it is rightly gone, accept that\\.\n.* settle --ignore ${key}\n`));
    expect((await run('settle', '--ignore', key, '--kind', kind)).exitCode).toBe(0);
    expect((await run('status', '--json')).json()).toMatchObject({ missing: {} });
    expect((await world.sync()).missing).toEqual({});
  });

  it('a message about an item whose row is gone says that the row is gone', async () => {
    await given([CHAIR, LEG]);
    await world.sync();
    write([CHAIR]);
    await world.sync();
    expect((await run('show', 'product', 'LEG')).stdout).toContain('missing from its source, whose row is gone');
  });
});

describe('a row that says the same as another', () => {
  it('a row that makes the same item as another is counted and shown with the place of the first', async () => {
    await given([CHAIR, LEG, { ...LEG }]);
    await world.sync();
    const { stdout } = await run('status');
    expect(stdout).toMatch(
      /\n1 row repeats another row: .* \(product LEG, as .*\)\. Nothing has to be done: each item is sent once\.\n/,
    );
    expect((await run('status', '--json')).json()).toMatchObject({ duplicates: { count: 1, whole: 1 } });
  });
});
