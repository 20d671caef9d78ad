import { afterEach, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { runHere } from '../../support/cli/cli-here.ts';
import { blocks } from '../../support/docs/docs-pages.ts';
import { filesOfPage } from '../../support/docs/page-files.ts';
import { createWorld, type World } from '../../support/worlds/world.ts';
import { bomLines } from './bom-lines.ts';

let world: World;
afterEach(() => world.remove());

const PAGE = 'tables.md';
const MASSES = './exports/masses.csv';

/** The source that the page about tables shows for sums, with the products and materials that its BOM items name. */
async function begin(): Promise<void> {
  const text = blocks.find((block) => block.page.endsWith(PAGE) && block.text.includes('group:'))?.text ?? '';
  const { sources } = parse(text) as { sources: [{ streams: object; mappings: object[] }] };
  const [plm] = sources;
  const listed = (column: string) => ({ path: MASSES, group: { by: [column] }, key: [column] });
  const product = { to: 'product', key: 'row.Product', fields: { sku: 'row.Product', name: 'row.Product' } };
  const material = { to: 'material', key: 'row.Material', fields: { code: 'row.Material', name: 'row.Material' } };
  const source = {
    ...plm,
    streams: { ...plm.streams, products: listed('Product'), materials: listed('Material') },
    mappings: [{ stream: 'products', ...product }, { stream: 'materials', ...material }, ...plm.mappings],
  };
  world = await createWorld({ config: { sources: [source] } });
  write();
}

function write(change = (text: string) => text): void {
  world.write(MASSES, change(String(filesOfPage(PAGE)[MASSES.slice(2)])));
}

const synced = { failedRuns: [], quarantined: 0, left: 0 };
const fractions = () => new Set(world.contents().bomItems.map((item) => item['mass_fraction']));
const quarantine = async () => (await runHere(['quarantine', '-c', world.configFile])).stdout;

describe('sums over the rows of a group', () => {
  it('the sums of the page about tables are delivered, and an unchanged file sends nothing', async () => {
    await begin();
    expect((await runHere(['check', '-c', world.configFile])).exitCode).toBe(0);
    expect(await world.sync()).toMatchObject(synced);
    expect(bomLines(world)).toEqual(['P-1 ← 0.3 M-1', 'P-1 ← 0.2 M-2', 'P-2 ← 1 M-1']);
    expect(fractions()).toEqual(new Set(['0.4', '0.6', '1']));
    world.requests();
    // The order of the rows does not matter.
    write((text) => {
      const [header = '', ...rows] = text.trim().split('\n');
      return [header, ...rows.toReversed()].join('\n');
    });
    expect(await world.sync()).toMatchObject(synced);
    expect(world.requests()).toEqual({});
  });

  it('a line without a number holds the records of its groups, and is delivered when it is corrected', async () => {
    await begin();
    write((text) => text.replace('P-1;M-1;0.2', 'P-1;M-1;0,2'));
    await world.sync();
    expect(bomLines(world)).toEqual(['P-2 ← 1 M-1']);
    expect(await quarantine()).toContain(
      'Column Mass of the row at masses.csv:4 holds "0,2", which is not a plain number, so the sum mass is not certain.',
    );
    write();
    expect(await world.sync()).toMatchObject(synced);
    expect(bomLines(world)).toEqual(['P-1 ← 0.3 M-1', 'P-1 ← 0.2 M-2', 'P-2 ← 1 M-1']);
  });

  it('a line that may belong to any group holds all of them, and what is delivered stays', async () => {
    await begin();
    await world.sync();
    world.requests();
    write((text) => `${text}P-2;M-1;5;too long\n`);
    await world.sync();
    expect(world.requests()).toEqual({});
    expect(await quarantine()).toContain('It is not known which group the row at masses.csv:6 belongs to');
    write((text) => `${text}P-2;M-2;5\n`);
    expect(await world.sync()).toMatchObject({ failedRuns: [], quarantined: 0 });
    expect(bomLines(world)).toEqual(['P-1 ← 0.3 M-1', 'P-1 ← 0.2 M-2', 'P-2 ← 1 M-1', 'P-2 ← 5 M-2']);
  });
});
