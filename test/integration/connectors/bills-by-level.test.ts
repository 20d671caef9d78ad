import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { runHere } from '../../support/cli/cli-here.ts';
import { textRow, workbook } from '../../support/connectors/workbook.ts';
import { createWorld, type World } from '../../support/worlds/world.ts';
import { bomLines } from './bom-lines.ts';

let world: World;
afterEach(() => world.remove());

const part = (of: string, prefix: string) => `row.${of}.startsWith("${prefix}")`;
const product = (of: string, when: string) => ({
  stream: 'lines',
  to: 'product',
  key: `row.${of}`,
  when,
  fields: { sku: `row.${of}`, name: `row.${of}` },
});
const material = (of: string) => ({
  stream: 'lines',
  to: 'material',
  key: `row.${of}`,
  when: part(of, 'M-'),
  fields: { code: `row.${of}`, name: `row.${of}` },
});
const line = (parent: string, of: string, quantity: string) => ({
  stream: 'lines',
  to: 'bom_item',
  key: `row.${parent} + "/" + row.${of}`,
  when: `row.${parent} != ""`,
  refs: { product: `row.${parent}`, part: `row.${of}` },
  fields: { quantity: `decimal(row.${quantity})` },
});

async function begin(source: { connector: string; options?: object; lines: object; mappings: object[] }) {
  const { lines, ...rest } = source;
  world = await createWorld({ config: { sources: [{ id: 'plm', streams: { lines }, ...rest }] } });
}
const run = (...args: string[]) => runHere([...args, '-c', world.configFile]);
const synced = { failedRuns: [], quarantined: 0, left: 0 };

describe('a bill of materials with levels', () => {
  const LEVELS = ['Level;Part;Qty', '0;P-1;1', '1;A-1;2', '2;M-1;4', '1;M-2;1'];
  const mappings = [
    product('Part', `${part('Part', 'P-')} || ${part('Part', 'A-')}`),
    material('Part'),
    line('assembly', 'Part', 'Qty'),
  ];
  const tree = { level: 'Level', parent: { assembly: 'Part' }, path: 'path' };
  const BOM = ['A-1 ← 4 M-1', 'P-1 ← 2 A-1', 'P-1 ← 1 M-2'];
  const beginLevels = (lines: object = { path: './bom.csv', tree, key: ['path'] }) =>
    begin({ connector: 'csv', options: { delimiter: ';' }, lines, mappings });

  it('levels become BOM items of their assemblies, and nothing is sent when nothing has changed', async () => {
    await beginLevels();
    world.write('bom.csv', LEVELS.join('\n'));
    expect((await run('check')).exitCode).toBe(0);
    expect(await world.sync()).toMatchObject(synced);
    expect(bomLines(world)).toEqual(BOM);
    world.requests();
    // The same rows at other places, beyond the end of a page.
    const before = Array.from({ length: 1_200 }, (_, at) => `0;P-0${at}`);
    world.write('bom.csv', [LEVELS[0], ...before.map((row) => `${row};1`), ...LEVELS.slice(1)].join('\n'));
    expect(await world.sync()).toMatchObject({ ...synced, runs: [{ read: 1_204, unchanged: 4, changed: 1_200 }] });
    expect(bomLines(world)).toEqual(BOM);
  });

  it('outline numbers become the same BOM items', async () => {
    const outline = { outline: 'Level', parent: { assembly: 'Part' }, path: 'path' };
    await beginLevels({ path: './bom.csv', tree: outline, key: ['path'] });
    const numbers = ['1', '1.1', '1.1.1', '1.2'];
    world.write(
      'bom.csv',
      [LEVELS[0], ...LEVELS.slice(1).map((row, at) => `${numbers[at]}${row.slice(1)}`)].join('\n'),
    );
    expect(await world.sync()).toMatchObject(synced);
    expect(bomLines(world)).toEqual(BOM);
  });

  it('an assembly in two products gives each of its items once', async () => {
    await beginLevels();
    world.write('bom.csv', [...LEVELS, '0;P-2;1', '1;A-1;3', '2;M-1;4'].join('\n'));
    expect(await world.sync()).toMatchObject(synced);
    expect(bomLines(world)).toEqual([...BOM, 'P-2 ← 3 A-1']);
  });

  it('a level that jumps is in quarantine with the rows below it, and is delivered when it is corrected', async () => {
    await beginLevels();
    world.write('bom.csv', [...LEVELS, '0;P-2;1', '2;A-2;3', '3;M-1;4', '1;M-1;5'].join('\n'));
    expect(await world.sync()).toMatchObject({ failedRuns: [], quarantined: 2 });
    expect(bomLines(world)).toEqual([...BOM, 'P-2 ← 5 M-1']);
    const { stdout } = await run('quarantine');
    expect(stdout).toContain('bom.csv:7');
    expect(stdout).toContain('The row has the level 2, but no row of the level 1 is open above it.');
    expect(stdout).toContain('The row hangs on the row at bom.csv:7, whose place in the tree is not certain.');
    world.write('bom.csv', [...LEVELS, '0;P-2;1', '1;A-2;3', '2;M-1;4', '1;M-1;5'].join('\n'));
    expect(await world.sync()).toMatchObject(synced);
    expect(bomLines(world)).toEqual(['A-1 ← 4 M-1', 'A-2 ← 4 M-1', ...BOM.slice(1), 'P-2 ← 3 A-2', 'P-2 ← 5 M-1']);
  });

  it('the file of the quarantine has the columns of the parent, and a row that is corrected with them is delivered', async () => {
    await beginLevels();
    world.write('bom.csv', LEVELS.map((row) => row.replace('M-1;4', 'M-1;four')).join('\n'));
    expect(await world.sync()).toMatchObject({ failedRuns: [], quarantined: 1 });
    const out = join(world.folder, 'wrong.csv');
    await run('quarantine', '--out', out);
    const [header, row] = readFileSync(out, 'utf8').split('\r\n');
    expect(header).toContain('Level;Part;Qty;assembly;path');
    expect(row).toContain('2;M-1;four;A-1;P-1/A-1/M-1');
    const runtime = await world.open();
    try {
      const asked = { source: 'plm', stream: 'lines' };
      const [stored] = await runtime.ledger.recordsByKey({ ...asked, keys: ['P-1/A-1/M-1'] });
      const fields = { Level: '2', Part: 'M-1', Qty: '4', assembly: 'A-1', path: 'P-1/A-1/M-1' };
      const rows = [{ fields, place: {}, version: stored?.version ?? 0 }];
      const corrected = await runtime.correct({ ...asked, rows }, new AbortController().signal);
      expect(corrected).toMatchObject({ result: 'complete', leftOut: 0, changed: 1, mapped: 1 });
    } finally {
      await runtime.close();
    }
    world.write('bom.csv', LEVELS.join('\n'));
    expect(await world.sync()).toMatchObject({ ...synced, runs: [{ read: 4, unchanged: 4 }] });
    expect(bomLines(world)).toEqual(BOM);
  });
});

describe('an assembly that stands only in its first row', () => {
  const FILL_DOWN = 'Assembly;Part;Qty\nP-1;M-1;2\n;M-2;1\nP-2;M-1;1\n';
  const BOM = ['P-1 ← 2 M-1', 'P-1 ← 1 M-2', 'P-2 ← 1 M-1'];

  it('with fill it is the assembly of the rows below too', async () => {
    const mappings = [product('Assembly', part('Assembly', 'P-')), material('Part'), line('Assembly', 'Part', 'Qty')];
    const lines = { path: './bom.csv', fill: ['Assembly'], key: ['Assembly', 'Part'] };
    await begin({ connector: 'csv', options: { delimiter: ';' }, lines, mappings });
    world.write('bom.csv', FILL_DOWN);
    // The product is made by each of its rows, all of which say the same.
    expect(await world.sync()).toMatchObject(synced);
    expect(bomLines(world)).toEqual(BOM);
  });

  /** The sheet of a person: a title, a header of two rows with merged cells, and assemblies that are merged over their rows. */
  const sheet =
    textRow(1, 'Stückliste Pumpe') +
    textRow(2, 'Baugruppe', 'Komponente', '', 'Menge') +
    textRow(3, '', 'Nummer', 'Name', 'Wert', 'Einheit') +
    textRow(4, 'P-1', 'M-1', 'Dichtung', '2', 'ST') +
    textRow(5, '', 'M-2', 'Rad', '0.5', 'KG') +
    textRow(6, 'P-2', 'M-1', 'Dichtung', '1', 'ST');
  const behind = `<mergeCells count="5">${['B2:C2', 'D2:E2', 'A4:A5', 'A1:E1', 'A2:A3'].map((ref) => `<mergeCell ref="${ref}"/>`).join('')}</mergeCells>`;

  it.each([[{ fill: ['Baugruppe'] }], [{ merged: 'repeat' }], [{ fill: ['Baugruppe'], merged: 'repeat' }]])(
    'in a workbook with merged cells it is so with %j',
    async (option) => {
      const number = 'row["Komponente Nummer"]';
      const mappings = [
        product('Baugruppe', part('Baugruppe', 'P-')),
        {
          ...material('Baugruppe'),
          key: number,
          when: 'true',
          fields: { code: number, name: 'row["Komponente Name"]' },
        },
        {
          ...line('Baugruppe', 'Baugruppe', 'Baugruppe'),
          key: `row.Baugruppe + "/" + ${number}`,
          refs: { product: 'row.Baugruppe', material: number },
          fields: { quantity: 'decimal(row["Menge Wert"])' },
        },
      ];
      const lines = {
        path: './bom.xlsx',
        header: 2,
        headerRows: 2,
        key: ['Baugruppe', 'Komponente Nummer'],
        ...option,
      };
      await begin({ connector: 'xlsx', lines, mappings });
      world.write('bom.xlsx', workbook({ sheet, behind }));
      expect(await world.sync()).toMatchObject(synced);
      expect(bomLines(world)).toEqual(['P-1 ← 2 M-1', 'P-1 ← 0.5 M-2', 'P-2 ← 1 M-1']);
    },
  );
});
