import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import iconv from 'iconv-lite';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { parse, stringify } from 'yaml';
import { runHere } from '../../support/cli/cli-here.ts';
import { textRow, workbook } from '../../support/connectors/workbook.ts';
import { API_KEY, createWorld, type World } from '../../support/worlds/world.ts';
import { bomLines } from '../connectors/bom-lines.ts';

let world: World;
beforeEach(async () => {
  world = await createWorld({ config: { sources: [] } });
});
afterEach(() => world.remove());

function write(name: string, content: Buffer | readonly string[]): string {
  const folder = join(world.folder, 'exports');
  mkdirSync(folder, { recursive: true });
  const bytes = Buffer.isBuffer(content) ? content : iconv.encode(`${content.join('\r\n')}\r\n`, 'latin1');
  writeFileSync(join(folder, name), bytes);
  return join(folder, name);
}

interface Line {
  name: string;
  expression: string | null;
  reason: string;
  isTodo: boolean;
}
interface Proposal {
  stream: string;
  key: string[];
  mapping: { to: string; when?: Line; key: Line; refs: Line[]; fields: Line[] };
}
interface Found extends Proposal {
  recognised: { stream: { name: string; value: unknown; reason: string; isTodo?: boolean; isOff?: boolean }[] };
  more: Proposal[];
  todo: string[];
  counts: { records: number; items: Record<string, number> };
}
type Init = Found & {
  files?: Found[];
  joined: { key: string; name: string; parts: { quantity: string; key: string; name: string }[] } | null;
};

const config = () => join(world.folder, 'own.yaml');

/** Runs `init`, and checks that what it has written is right as it is. */
async function init(...files: string[]): Promise<Init> {
  const made = await runHere(['init', '--force', '--from', ...files, '-c', config(), '--json']);
  expect([made.exitCode, made.stderr]).toEqual([0, '']);
  const written = parse(readFileSync(config(), 'utf8')) as object;
  const target = { baseUrl: world.baseUrl, apiKey: API_KEY };
  writeFileSync(config(), stringify({ ...written, target, ledger: './own.db' }));
  expect((await runHere(['check', '-c', config()])).exitCode).toBe(0);
  expect((await runHere(['test', '-c', config()])).exitCode).toBe(0);
  return made.json() as unknown as Init;
}
const sync = async () => expect((await runHere(['sync', '-c', config()])).exitCode).toBe(0);
const optionsOf = ({ recognised }: Found) =>
  Object.fromEntries(recognised.stream.map(({ name, value, isOff = false }) => [name, isOff ? 'off' : value]));

describe('init --from a bill with levels', () => {
  const LEVELS = ['Level;Part;Qty', '0;P-1;1', '1;A-1;2', '2;M-1;4', '1;M-2;1'];
  const TREE = { parent: { assembly: 'Part' }, path: 'path' };
  const BOM = ['A-1 ← 4 M-1', 'P-1 ← 2 A-1', 'P-1 ← 1 M-2'];

  it('makes products, materials and BOM items of it', async () => {
    const found = await init(write('bom.csv', LEVELS));
    expect(optionsOf(found)).toEqual({ tree: { level: 'Level', ...TREE } });
    expect([found, ...found.more].map(({ mapping }) => mapping.to)).toEqual(['product', 'material', 'bom_item']);
    expect(found.joined).toEqual({
      key: 'P-1',
      name: 'P-1',
      parts: [
        { quantity: '2', unit: null, key: 'A-1', name: 'A-1' },
        { quantity: '1', unit: null, key: 'M-2', name: 'M-2' },
      ],
    });
    await sync();
    expect(bomLines(world)).toEqual(BOM);
    expect(world.contents()).toMatchObject({ products: { length: 2 }, materials: { length: 2 } });
  });

  it.each([
    ['levels with dots', 'Tiefe', ['.0', '.1', '..2', '.1'], 'level'],
    ['outline numbers', 'Pos.', ['1', '1.1', '1.1.1', '1.2'], 'outline'],
    ['outline numbers in a column with an unknown name', 'Gruppe', ['1', '1.1', '1.1.1', '1.2'], 'outline'],
  ])('makes the same BOM items of %s', async (_about, name, numbers, option) => {
    const lines = LEVELS.map((row, at) => (at === 0 ? `${name};Part;Qty` : `${numbers[at - 1]}${row.slice(1)}`));
    const found = await init(write('bom.csv', lines));
    expect(optionsOf(found)).toEqual({ tree: { [option]: name, ...TREE } });
    expect(found.todo.some((line) => line.startsWith('tree:'))).toBe(name !== 'Pos.');
    await sync();
    expect(bomLines(world)).toEqual(BOM);
  });

  it('makes the same BOM items of it where the parts are indented', async () => {
    const rows = ['Level;Part;Qty', '0;P-1;1', '1;  A-1;2', '2;    M-1;4', '1;  M-2;1'];
    const found = await init(write('bom.csv', rows));
    expect(optionsOf(found)).toEqual({ trim: true, tree: { level: 'Level', ...TREE } });
    expect(found.recognised.stream[0]?.reason).toBe('3 values of Part with white space around, such as "  A-1"');
    await sync();
    expect(bomLines(world)).toEqual(BOM);
  });

  it('makes only BOM items of it if other files have the articles', async () => {
    const articles = ['Artikelnummer;Bezeichnung;Herkunftsland', 'P-1;Tisch;DE', 'A-1;Gestell;DE'];
    const materials = ['Nummer;Bezeichnung;Herkunft', 'M-1;Stahlrohr;SE', 'M-2;Platte;AT'];
    const files = [write('artikel.csv', articles), write('stoffe.csv', materials), write('bom.csv', LEVELS)];
    const found = await init(...files);
    expect(found.files?.flatMap((file) => [file, ...file.more]).map(({ mapping }) => mapping.to)).toEqual([
      'product',
      'material',
      'bom_item',
    ]);
    expect(found.joined?.parts.map(({ name }) => name)).toEqual(['Gestell', 'Platte']);
    await sync();
    expect(bomLines(world)).toEqual(BOM);
  });

  it('makes the assemblies and materials that the other files lack', async () => {
    const found = await init(
      write('artikel.csv', ['Artikelnummer;Bezeichnung;Herkunftsland', 'P-1;Tisch;DE']),
      write('bom.csv', LEVELS),
    );
    const [, bom] = found.files ?? [];
    expect(bom?.mapping).toMatchObject({
      to: 'product',
      when: { expression: 'row.assembly != "" && lookup("assemblies", row.Part, "") != ""' },
    });
    await sync();
    expect(bomLines(world)).toEqual(BOM);
  });

  it('an assembly that stands in two products is sent once, and a part that stands in it twice has its position', async () => {
    const rows = [
      'Ebene;Pos;Teilenummer;Benennung;Menge',
      '0;;P-1;Tisch;1',
      '1;10;A-1;Gestell;1',
      '2;10;M-1;Rohr;4',
      '2;20;M-1;Rohr;2',
      '0;;P-2;Bank;1',
      '1;10;A-1;Gestell;2',
      '2;10;M-1;Rohr;4',
      '2;20;M-1;Rohr;2',
    ];
    const found = await init(write('bom.csv', rows));
    expect(found.key).toEqual([]);
    await sync();
    expect(bomLines(world).sort()).toEqual(['A-1 ← 2 M-1', 'A-1 ← 4 M-1', 'P-1 ← 1 A-1', 'P-2 ← 2 A-1']);
  });

  it('a workbook with names, units and countries becomes published passports', async () => {
    const rows = [
      ['BOM export of 2026-03-12'],
      ['Structure level', 'Item No.', 'Part number', 'Description', 'Qty', 'UoM', 'Country of origin'],
      ['0', '', 'BK-500', 'City bike', '1', 'EA', 'NL'],
      ['1', '10', 'FR-100', 'Frame assembly', '1', 'EA', 'PL'],
      ['2', '10', 'TB-01', 'Tube 7005', '2.4', 'KG', 'DE'],
      ['1', '20', 'WH-200', 'Wheel', '2', 'EA', 'CZ'],
      ['2', '10', 'RM-28', 'Rim', '1', 'EA', 'TW'],
      ['0', '', 'BK-600', 'Cargo bike', '1', 'EA', 'NL'],
      ['1', '10', 'WH-200', 'Wheel', '3', 'EA', 'CZ'],
      ['2', '10', 'RM-28', 'Rim', '1', 'EA', 'TW'],
    ];
    const sheet = rows.map((row, at) => textRow(at + 1, ...row)).join('');
    const found = await init(write('BOM.xlsx', workbook({ sheet })));
    expect(optionsOf(found)).toMatchObject({ header: 2, tree: { level: 'Structure level' } });
    await sync();
    expect((await runHere(['publish', '--all', '--yes', '-c', config()])).exitCode).toBe(0);
    const { products, publications } = world.contents();
    expect(products.map((product) => (product as { sku: string }).sku).sort()).toEqual([
      'BK-500',
      'BK-600',
      'FR-100',
      'WH-200',
    ]);
    expect(publications.map(({ status }) => status)).toEqual(Array.from({ length: 4 }, () => 'published'));
    expect(bomLines(world)).toEqual([
      'BK-500 ← 1 FR-100',
      'BK-500 ← 2 WH-200',
      'BK-600 ← 3 WH-200',
      'FR-100 ← 2.4 TB-01',
      'WH-200 ← 1 RM-28',
    ]);
  });

  it('a number of a position that is called like that of an article names no row', async () => {
    const rows = ['0;10;P-1;1', '1;10;A-1;2', '2;10;M-1;4', '1;20;M-2;1'];
    const found = await init(write('bom.csv', ['Level;Item No.;Part number;Qty', ...rows]));
    expect(optionsOf(found)).toMatchObject({ tree: { parent: { assembly: 'Part number' } } });
  });

  it('a number that counts all rows is no position, since an assembly in two products would have two', async () => {
    const rows = ['0;1;P-1;1', '1;2;A-1;1', '2;3;M-1;4', '0;4;P-2;1', '1;5;A-1;2', '2;6;M-1;4'];
    const found = await init(write('bom.csv', ['Ebene;Pos;Teil;Menge', ...rows]));
    expect(found.more.at(-1)?.mapping.fields.map(({ name }) => name)).not.toContain('position');
    await sync();
    expect(bomLines(world)).toEqual(['A-1 ← 4 M-1', 'P-1 ← 1 A-1', 'P-2 ← 2 A-1']);
  });

  it('rows of the top level without rows below them need a person', async () => {
    const found = await init(write('bom.csv', ['Pos;Teil;Menge', '1;A-1;1', '1.1;M-1;2', '2;M-2;4']));
    expect(found.todo).toContainEqual(expect.stringContaining('1 of 2 rows of the top level have no rows below'));
  });

  it.each([
    ['levels without a quantity', ['Level;sku;name', '1;A;x y', '2;B;x y', '2;C;x y']],
    ['levels that do not fit', ['Level;sku;name;Menge', '1;A;x;1', '2;B;x;1', '4;C;x;1', '6;D;x;1', '3;E;x;1']],
    ['quantities with decimals', ['sku;name;Menge', 'A;x y;1', 'B;x y;1.5', 'C;x y;2']],
    [
      'amounts in a column with an unknown name',
      ['sku;name;Dicke;Menge', 'A;x;1;1', 'B;x;1.5;1', 'C;x;1.5;2', 'D;x;1;1'],
    ],
    [
      'a bill whose rows name their parents',
      ['Level;Assembly;Part;Qty', '1;P-1;A-1;1', '2;A-1;M-1;2', '1;P-1;M-2;1', '1;P-2;M-1;3'],
    ],
  ])('%s are no bill with levels', async (_about, rows) => {
    expect(optionsOf(await init(write('list.csv', rows)))).toEqual({});
  });
});

describe('init --from a bill whose products stand only in their first rows', () => {
  const ARTICLES = ['Artikelnummer;Bezeichnung;Herkunftsland', 'P-1;Tisch;DE', 'P-2;Bank;DE'];
  const MATERIALS = ['Nummer;Bezeichnung;Herkunft', 'M-1;Stahlrohr;SE', 'M-2;Platte;AT'];
  const BOM = ['P-1 ← 2 M-1', 'P-1 ← 1 M-2', 'P-2 ← 1 M-1'];
  const others = () => [write('artikel.csv', ARTICLES), write('stoffe.csv', MATERIALS)];

  it.each([
    ['in the rows of their first parts', ['P-1;M-1;2', ';M-2;1', 'P-2;M-1;1']],
    ['in rows of their own', ['P-1;;', ';M-1;2', ';M-2;1', 'P-2;;', ';M-1;1']],
    ['above empty rows', ['P-1;M-1;2', ';M-2;1', ';;', 'P-2;M-1;1', ';;']],
  ])('fills them down: %s', async (_about, rows) => {
    const { files = [], joined } = await init(...others(), write('bom.csv', ['Assembly;Part;Qty', ...rows]));
    expect(files.map(optionsOf)).toEqual([{}, {}, { fill: ['Assembly'] }]);
    expect(files[2]?.todo).toEqual([]);
    expect(joined?.parts.map(({ name }) => name)).toEqual(['Stahlrohr', 'Platte']);
    await sync();
    expect(bomLines(world)).toEqual(BOM);
  });

  it('the column with the name of the product is filled too, and a product with an unknown name needs a person', async () => {
    const rows = ['Kopf;Text;Teil;Menge', 'P-1;Tisch;M-1;2', ';;M-2;1', 'P-2;Bank;M-1;1', ';;M-2;1'];
    const { files = [] } = await init(...others(), write('bom.csv', rows));
    expect(files[2]?.recognised.stream).toEqual([
      expect.objectContaining({ name: 'fill', value: ['Kopf', 'Text'], isTodo: true }),
    ]);
    expect(files[2]?.mapping.refs[0]).toMatchObject({ name: 'product', expression: 'row.Kopf' });
  });

  it('a revision that is not filled is named where an assembly has the same part twice', async () => {
    const rows = ['P-1;A;M-1;2', ';;M-2;1', ';B;M-1;7', ';;M-2;1', 'P-2;;M-1;1', ';;M-2;1'];
    const { files = [] } = await init(...others(), write('bom.csv', ['Assembly;Rev;Part;Qty', ...rows]));
    expect(files[2]?.recognised.stream).toEqual([
      expect.objectContaining({
        name: 'fill',
        value: ['Assembly'],
        isTodo: true,
        reason: expect.stringContaining(
          'one Assembly has the same Part twice. If an empty cell of Rev means the value above',
        ),
      }),
    ]);
  });

  it('a note that is not filled needs nobody where each part stands once in its assembly', async () => {
    const rows = ['P-1;x;M-1;2', ';;M-2;1', 'P-2;;M-1;1', ';y;M-2;1'];
    const { files = [] } = await init(...others(), write('bom.csv', ['Assembly;Note;Part;Qty', ...rows]));
    expect(files[2]?.todo).toEqual([]);
  });

  it.each([
    ['with another quantity', ['P-1;M-1;2', 'P-1;M-1;3', 'P-1;M-2;1', 'P-2;M-1;1']],
    ['in equal rows', ['P-1;M-1;2', 'P-1;M-1;2', 'P-1;M-2;1', 'P-2;M-1;1']],
    ['in equal rows that are filled', ['P-1;M-1;2', ';M-1;2', ';M-2;1', 'P-2;M-1;1']],
  ])('a part that stands twice in an assembly needs a person: %s', async (_about, rows) => {
    const { files = [] } = await init(...others(), write('bom.csv', ['Assembly;Part;Qty', ...rows]));
    expect(files[2]?.key).toEqual(['Assembly', 'Part']);
    expect(files[2]?.todo).toEqual(
      ['key of the stream', 'key'].map((name) =>
        expect.stringMatching(new RegExp(`^${name}: .*a part stands twice in an assembly, and no position`)),
      ),
    );
  });

  it('a bill alone needs a person, because nothing makes its products', async () => {
    const { mapping, todo } = await init(write('bom.csv', ['Assembly;Part;Qty', 'P-1;M-1;2', ';M-2;1']));
    expect(mapping.to).toBe('bom_item');
    expect(todo).toEqual([expect.stringMatching(/^to: .*nothing here makes the products and parts/)]);
  });

  it('an empty cell that may be just empty is left to a person', async () => {
    const rows = ['sku;Kategorie;name', 'A;Tische;x y', 'B;;x y', 'C;Stühle;x y', 'D;;x y', 'E;Betten;x y', 'F;;x y'];
    const found = await init(write('artikel.csv', rows));
    expect(found.recognised.stream).toEqual([
      expect.objectContaining({ name: 'fill', value: ['Kategorie'], isTodo: true, isOff: true }),
    ]);
    expect(found.todo).toContainEqual(expect.stringContaining('Kategorie is empty in 3 of 6 rows'));
  });

  it('an empty cell is just empty where the same value also stands twice', async () => {
    const rows = [
      'sku;Kategorie;name',
      'A;Tische;x y',
      'B;;x y',
      'C;Stühle;x y',
      'D;;x y',
      'E;Betten;x y',
      'F;Betten;x y',
    ];
    expect(optionsOf(await init(write('artikel.csv', rows)))).toEqual({});
  });

  const sheet = (...rows: string[][]) => rows.map((row, at) => textRow(at + 1, ...row)).join('');
  const merged = (...refs: string[]) =>
    `<mergeCells count="${refs.length}">${refs.map((ref) => `<mergeCell ref="${ref}"/>`).join('')}</mergeCells>`;

  it('a product that is merged over its rows is repeated, below a header of two rows', async () => {
    const content = workbook({
      sheet: sheet(
        ['Stückliste Tisch'],
        ['Baugruppe', 'Komponente', '', 'Menge', ''],
        ['', 'Nummer', 'Name', 'Wert', 'Einheit'],
        ['P-1', 'M-1', 'Stahlrohr', '2', 'ST'],
        ['', 'M-2', 'Platte', '1', 'ST'],
        ['P-2', 'M-1', 'Stahlrohr', '1', 'ST'],
      ),
      behind: merged('B2:C2', 'D2:E2', 'A4:A5', 'A1:E1', 'A2:A3'),
    });
    const { files = [] } = await init(...others(), write('bom.xlsx', content));
    const [, , bom] = files;
    expect(bom === undefined ? null : optionsOf(bom)).toEqual({ header: 2, headerRows: 2, merged: 'repeat' });
    await sync();
    expect(bomLines(world)).toEqual(BOM);
  });

  it.each([
    ['a quantity', merged('A2:A3', 'C2:C3'), 'Menge would count in each row'],
    ['a title within the rows', merged('A2:A3', 'A4:C4'), 'and would fill columns that are not theirs'],
  ])('merged cells with %s are left to a person, and the product is filled down', async (_about, behind, doubt) => {
    const isTitle = behind.includes('A4:C4');
    const rows = sheet(
      ['Baugruppe', 'Teil', 'Menge'],
      ['P-1', 'M-1', '2'],
      ['', 'M-2', isTitle ? '1' : ''],
      isTitle ? ['Bänke'] : ['P-2', 'M-1', '1'],
      ['P-2', 'M-1', '1'],
      ['', 'M-2', '3'],
    );
    const { files = [] } = await init(...others(), write('bom.xlsx', workbook({ sheet: rows, behind })));
    const [, , bom] = files;
    expect(bom === undefined ? null : optionsOf(bom)).toMatchObject({ merged: 'off', fill: ['Baugruppe'] });
    expect(bom?.todo).toContainEqual(expect.stringContaining(doubt));
    expect(bom?.todo.some((line) => line.includes('stand in rows without a part, and may be titles'))).toBe(isTitle);
  });
});

describe('init --from a list of a CAD system, with outline numbers and the drawing only in its first row,', () => {
  const CAD = [
    'Baugruppe;Bezeichnung Baugruppe;Pos.;Sachnummer;Benennung;Menge;Einheit',
    'Z-100;Hocker;1;G-110;Gestell geschweißt;1;Stück',
    ';;1.1;R-1;Rundrohr 20x2;4;m',
    ';;1.2;F-1;Fußkappe;4;Stück',
    ';;2;H-1;Sitzfläche Esche;1;Stück',
    'Z-200;Bank;1;G-110;Gestell geschweißt;2;Stück',
    ';;1.1;R-1;Rundrohr 20x2;4;m',
    ';;1.2;F-1;Fußkappe;4;Stück',
    ';;2;H-2;Sitzfläche lang;1;Stück',
  ];

  it('makes the drawings and the assemblies products, and gives each row its parent', async () => {
    const found = await init(write('cad.csv', CAD));
    expect(optionsOf(found)).toEqual({
      fill: ['Baugruppe', 'Bezeichnung Baugruppe'],
      tree: { outline: 'Pos.', parent: { assembly: 'Sachnummer' }, path: 'path' },
    });
    expect(found.joined).toMatchObject({ key: 'Z-100', parts: [{ key: 'G-110' }, { key: 'H-1' }] });
    await sync();
    expect(bomLines(world)).toEqual([
      'G-110 ← 4 F-1',
      'G-110 ← 4 R-1',
      'Z-100 ← 1 G-110',
      'Z-100 ← 1 H-1',
      'Z-200 ← 2 G-110',
      'Z-200 ← 1 H-2',
    ]);
    const names = world.contents().products.map((product) => (product as { name: string }).name);
    expect(names.sort()).toEqual(['Bank', 'Gestell geschweißt', 'Hocker']);
  });
});
