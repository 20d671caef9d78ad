import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import iconv from 'iconv-lite';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { parse, stringify } from 'yaml';
import { runHere } from '../../support/cli/cli-here.ts';
import { API_KEY, createWorld, type World } from '../../support/worlds/world.ts';

const ARTICLES = [
  'Artikelnummer;Bezeichnung;Herkunftsland',
  'T-100;Esstisch Eiche groß;Deutschland',
  'T-200;Beistelltisch;Österreich',
  'S-300;Stuhl Lärche;Polen',
];
const MATERIALS = [
  'Nummer;Bezeichnung;Herkunft;Rezyklatanteil %',
  '4711;Eiche massiv geölt;Deutschland;0',
  '4712;Stahlrohr;Schweden;35',
  '4713;Leim weiß;Österreich;0',
];
const BOM = [
  'Artikelnummer;Pos;Komponente;Menge;Einheit',
  'T-100;10;4711;12,5;kg',
  'T-100;20;4713;0,2;kg',
  'T-200;10;4711;4,25;kg',
  'T-200;20;4712;1,1;kg',
  'S-300;10;4712;2,0;kg',
  'S-300;20;4713;0,05;kg',
];

let world: World;
beforeEach(async () => {
  world = await createWorld({ config: { sources: [] } });
});
afterEach(() => world.remove());

/** Writes a file as an ERP does: Latin-1, with line ends of Windows. Returns its path. */
function write(name: string, lines: readonly string[]): string {
  const folder = join(world.folder, 'exports');
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, name), iconv.encode(`${lines.join('\r\n')}\r\n`, 'latin1'));
  return join(folder, name);
}

interface Line {
  name: string;
  expression: string | null;
  reason: string;
  isTodo: boolean;
}
interface Init {
  files: {
    source: string;
    key: string[];
    recognised: { options: { name: string; value: unknown }[] };
    mapping: { to: string; reason: string; refs: Line[] };
  }[];
  joins: { file: string; ref: string; column: string; meets: string[]; found: number; of: number }[];
  joined: { key: string; name: string; parts: { quantity: string; unit: string; key: string; name: string | null }[] };
}

const config = () => join(world.folder, 'own.yaml');
const init = (...files: string[]) => runHere(['init', '--from', ...files, '-c', config(), '--json']);
const found = async (...files: string[]) => (await init(...files)).json() as unknown as Init;

describe('init --from with several files', () => {
  it('three files of a furniture maker become published passports with one init', async () => {
    const files = [write('artikel.csv', ARTICLES), write('stoffe.csv', MATERIALS), write('stueckliste.csv', BOM)];
    const { exitCode, json } = await init(...files);
    expect(exitCode).toBe(0);
    const { joins, joined } = json() as unknown as Init;
    expect(joins).toEqual([
      { file: 'stueckliste.csv', ref: 'product', column: 'Artikelnummer', meets: ['artikel.csv'], found: 6, of: 6 },
      { file: 'stueckliste.csv', ref: 'material', column: 'Komponente', meets: ['stoffe.csv'], found: 6, of: 6 },
    ]);
    expect(joined).toEqual({
      key: 'T-100',
      name: 'Esstisch Eiche groß',
      parts: [
        { quantity: '12.5', unit: 'KGM', key: '4711', name: 'Eiche massiv geölt' },
        { quantity: '0.2', unit: 'KGM', key: '4713', name: 'Leim weiß' },
      ],
    });
    const made = parse(readFileSync(config(), 'utf8')) as object;
    const target = { baseUrl: world.baseUrl, apiKey: API_KEY };
    writeFileSync(config(), stringify({ ...made, target, passports: { init: 'when-complete', publish: 'auto' } }));
    expect((await runHere(['test', '-c', config()])).exitCode).toBe(0);
    expect((await runHere(['sync', '-c', config()])).exitCode).toBe(0);
    const { products, materials, publications } = world.contents();
    expect(products.map((product) => (product as { name: string }).name).sort()).toEqual([
      'Beistelltisch',
      'Esstisch Eiche groß',
      'Stuhl Lärche',
    ]);
    expect(materials).toHaveLength(3);
    expect(publications.map(({ status }) => status)).toEqual(['published', 'published', 'published']);
  });

  it('a file of which others name only parts has materials, with a TODO', async () => {
    const files = [write('artikel.csv', ARTICLES), write('stoffe.csv', MATERIALS), write('stueckliste.csv', BOM)];
    const { files: proposed } = await found(...files);
    expect(proposed.map(({ mapping }) => mapping.to)).toEqual(['product', 'material', 'bom_item']);
    expect(proposed[1]?.mapping).toMatchObject({
      isTodo: true,
      reason: expect.stringContaining('only as parts of products'),
    });
    expect(readFileSync(config(), 'utf8')).toContain('# TODO others name these records only as parts of products');
  });

  it('a file that has only ASCII is read in the encoding of the others', async () => {
    const { files } = await found(write('artikel.csv', ARTICLES), write('stueckliste.csv', BOM));
    const encodings = files.map(({ recognised }) => recognised.options.find(({ name }) => name === 'encoding')?.value);
    expect(encodings).toEqual(['windows-1252', 'windows-1252']);
  });

  it('a column with an unknown name is found by its values', async () => {
    const bom = ['Kopf;Unten;Menge;Einheit', ...BOM.slice(1).map((line) => line.replace(/;\d+;/, ';'))];
    const { files } = await found(
      write('artikel.csv', ARTICLES),
      write('stoffe.csv', MATERIALS),
      write('stueckliste.csv', bom),
    );
    expect(files[2]?.mapping.refs).toEqual([
      expect.objectContaining({ name: 'product', expression: 'row.Kopf', isTodo: false }),
      expect.objectContaining({ name: 'material', expression: 'row.Unten', isTodo: false }),
    ]);
  });

  describe('a bill whose products have one part each, in a file whose name says nothing,', () => {
    const ONE_PART = ['Artikelnummer;Komponente;Menge', 'T-100;4711;12,5', 'T-200;4712;4,25', 'S-300;4713;2,0'];

    it('is a bill, because its values are keys of another file', async () => {
      const files = [write('artikel.csv', ARTICLES), write('stoffe.csv', MATERIALS), write('liste.csv', ONE_PART)];
      const { files: proposed, joins, joined } = await found(...files);
      expect(proposed.map(({ mapping }) => mapping.to)).toEqual(['product', 'material', 'bom_item']);
      expect(proposed[2]).toMatchObject({
        key: ['Artikelnummer', 'Komponente'],
        mapping: { reason: expect.stringContaining('3 of 3 values of Artikelnummer are keys of artikel.csv') },
      });
      expect(joins).toHaveLength(2);
      expect(joined.parts).toEqual([{ quantity: '12.5', unit: null, key: '4711', name: 'Eiche massiv geölt' }]);
    });

    it('is a bill too if no file has the parts', async () => {
      const { files } = await found(write('artikel.csv', ARTICLES), write('liste.csv', ONE_PART));
      expect(files[1]?.mapping.to).toBe('bom_item');
    });

    it('is a bill too if it has the names of the parts', async () => {
      const named = ONE_PART.map((line, at) => `${line};${at === 0 ? 'Bezeichnung' : 'Ein Teil'}`);
      const { files } = await found(
        write('artikel.csv', ARTICLES),
        write('stoffe.csv', MATERIALS),
        write('liste.csv', named),
      );
      expect(files[2]?.mapping.to).toBe('bom_item');
    });

    it('is a list of articles if it has names, and no other file has its materials', async () => {
      const stock = ['Artikelnummer;Bezeichnung;Werkstoff;Menge', 'T-100;Tisch;Eiche;12', 'T-200;Tisch;Stahl;4'];
      const prices = ['Artikelnummer;Preis', 'T-100;12,5', 'T-200;4,25'];
      const { files } = await found(write('lager.csv', stock), write('preise.csv', prices));
      expect(files.map(({ mapping }) => mapping.to)).toEqual(['product', 'product']);
    });
  });

  it('parts of two files are materials or components', async () => {
    const bom = [...BOM, 'T-100;30;T-200;1;Stück'];
    const { files, joins } = await found(
      write('artikel.csv', ARTICLES),
      write('stoffe.csv', MATERIALS),
      write('stueckliste.csv', bom),
    );
    expect(files[2]?.mapping.refs[1]).toMatchObject({ name: 'part', expression: 'row.Komponente' });
    expect(joins[1]).toMatchObject({ ref: 'part', meets: ['artikel.csv', 'stoffe.csv'], found: 7, of: 7 });
  });

  it('keys that differ in leading zeros are named, with a TODO', async () => {
    const bom = BOM.map((line) => line.replace(/;(47\d\d);/, ';0000$1;'));
    const { files } = await found(
      write('artikel.csv', ARTICLES),
      write('stoffe.csv', MATERIALS),
      write('stueckliste.csv', bom),
    );
    const [, part] = files[2]?.mapping.refs ?? [];
    expect(part).toMatchObject({ name: 'part', expression: 'row.Komponente', isTodo: true });
    expect(part?.reason).toContain('none of its values is a key of another file');
    expect(part?.reason).toContain('without leading zeros 6 are keys');
  });

  describe('numbers from 1 on, which are keys of several files,', () => {
    const numbered = (key: string, prefix: string, count: number) => [
      `${key};Bezeichnung`,
      ...Array.from({ length: count }, (_, at) => `${at + 1};${prefix} ${at + 1}`),
    ];
    const bill = (product: string, part: string) => [
      `Zeile;${product};${part};Menge`,
      '1;1;2;4,2',
      '2;1;3;0,5',
      '3;2;1;11',
      '4;3;1;8',
      '5;4;2;1',
    ];
    const PARTS = [
      { quantity: '4.2', unit: null, key: '2', name: 'Holz 2' },
      { quantity: '0.5', unit: null, key: '3', name: 'Holz 3' },
    ];

    it.each([
      [
        'equal names of the keys',
        ['artikel.csv', 'Artikelnummer'],
        ['stoffe.csv', 'Holznummer'],
        'Artikelnummer',
        'Holznummer',
      ],
      ['similar names of the keys', ['a.csv', 'Artikel-Nr.'], ['b.csv', 'Material Nr'], 'Artikelnummer', 'material_id'],
      ['names of the files', ['artikel.csv', 'id'], ['material.csv', 'id'], 'artikel_id', 'material_id'],
      ['names of the files in the plural', ['items.csv', 'id'], ['mats.csv', 'id'], 'item_id', 'material_id'],
      ['names of two languages', ['Produkte.csv', 'Nr'], ['Materialien.csv', 'Nr'], 'product_no', 'material_no'],
    ] as const)('are of the file that is meant by %s', async (_about, product, material, productRef, materialRef) => {
      const { files, joined } = await found(
        write(product[0], numbered(product[1], 'Stuhl', 4)),
        write(material[0], numbered(material[1], 'Holz', 3)),
        write('stueckliste.csv', bill(productRef, materialRef)),
      );
      expect(files.map(({ mapping }) => mapping.to)).toEqual(['product', 'material', 'bom_item']);
      const refs = files[2]?.mapping.refs;
      expect(refs?.map(({ name, isTodo }) => [name, isTodo])).toEqual([
        ['product', false],
        ['material', false],
      ]);
      expect(refs?.[1]?.reason).toMatch(/other files have these values too, and .*(?:Holz|Material|mats)/i);
      expect(joined).toEqual({ key: '1', name: 'Stuhl 1', parts: PARTS });
    });

    it('have a TODO that names the files if no name shows which one is meant', async () => {
      const { files } = await found(
        write('a.csv', numbered('id', 'Stuhl', 4)),
        write('b.csv', numbered('id', 'Holz', 3)),
        write('bom.csv', bill('product', 'component')),
      );
      const [product, part] = files[2]?.mapping.refs ?? [];
      expect(product).toMatchObject({ name: 'product', isTodo: true });
      expect(part).toMatchObject({ expression: 'row.component', isTodo: true });
      expect(part?.reason).toContain('no name shows whether a.csv or b.csv is meant');
      expect(files[1]?.mapping).toMatchObject({ isTodo: true, reason: expect.stringContaining('or those of a.csv') });
    });

    it('have a TODO if they are those of materials, and only the file of the products is there', async () => {
      const { files } = await found(
        write('artikel.csv', numbered('Artikelnummer', 'Stuhl', 4)),
        write('stueckliste.csv', bill('Artikelnummer', 'Materialnummer')),
      );
      const [product, part] = files[1]?.mapping.refs ?? [];
      expect(product).toMatchObject({ name: 'product', isTodo: false });
      expect(part).toMatchObject({ isTodo: true, reason: expect.stringContaining('numbers may be equal by chance') });
    });

    it('have a TODO if the file that the name means lacks many of the values', async () => {
      const { files } = await found(
        write('artikel.csv', numbered('Artikelnummer', 'Stuhl', 2)),
        write('stoffe.csv', numbered('Nummer', 'Holz', 5)),
        write('stueckliste.csv', bill('Artikelnummer', 'Komponente')),
      );
      expect(files[2]?.mapping.refs[0]).toMatchObject({
        isTodo: true,
        reason: expect.stringContaining('no name shows whether artikel.csv or stoffe.csv is meant'),
      });
    });
  });

  it('a file of materials by its name, which others name as products, has a TODO', async () => {
    const bom = ['Artikelnummer;Komponente;Menge', 'T-100;X-1;1', 'T-100;X-2;1', 'T-200;X-1;2'];
    const { files } = await found(write('material.csv', ARTICLES), write('stueckliste.csv', bom));
    expect(files[0]?.mapping).toMatchObject({ to: 'product', isTodo: true });
  });

  describe('files that are about records of another one', () => {
    const PRODUCTS = ['sku;name', 'A;Stuhl', 'B;Tisch', 'C;Bank'];
    const STOCK = ['sku;Lager;qty', 'A;Berlin;4', 'A;Bonn;2', 'B;Berlin;1', 'C;Bonn;9'];
    const PRICES = ['sku;Preis', 'A;1,5', 'B;2,5', 'C;3,5'];

    it.each([
      ['several times', 'stock.csv', STOCK, 4],
      ['once each', 'prices.csv', PRICES, 3],
    ])('are named with their column and its share, and have a TODO: %s', async (_about, name, rows, count) => {
      const { files, joins } = await found(write(name, rows), write('p.csv', PRODUCTS));
      expect(joins).toEqual([{ file: name, ref: 'record', column: 'sku', meets: ['p.csv'], found: count, of: count }]);
      expect(files[0]?.mapping).toMatchObject({
        isTodo: true,
        reason: expect.stringMatching(
          new RegExp(`^${count} of ${count} values of sku are keys of p.csv.*lookup table`),
        ),
      });
      expect(files[1]?.mapping).not.toHaveProperty('isTodo');
      const { stdout } = await runHere([
        'init',
        '--force',
        '--from',
        write(name, rows),
        write('p.csv', PRODUCTS),
        '-c',
        config(),
      ]);
      expect(stdout).toContain(`${count} of ${count} values are keys of p.csv, and nothing uses it yet`);
    });

    it('are products of their own if they have names', async () => {
      const { files, joins } = await found(
        write('p.csv', ['sku;name;set', 'D;Satz 1;A', 'E;Satz 2;B', 'F;Satz 3;A']),
        write('sets.csv', PRODUCTS),
      );
      expect(joins).toMatchObject([{ ref: 'record', column: 'set', meets: ['sets.csv'] }]);
      expect(files[0]?.mapping).not.toHaveProperty('isTodo');
    });

    it('are not found by amounts and own numbers', async () => {
      const orders = ['id;Menge;pos', '1;2;1', '2;3;1', '3;1;2'];
      const { joins } = await found(
        write('a.csv', ['id;name', '1;Stuhl', '2;Tisch', '3;Bank']),
        write('b.csv', orders),
      );
      expect(joins).toEqual([]);
    });
  });

  describe('a bill that names a column which is not the key', () => {
    it.each([
      ['with a known name', 'Komponente'],
      ['with an unknown name', 'Unten'],
    ])('has a TODO that says which column would have to be the key: %s', async (_about, column) => {
      const names = ['Eiche', 'Stahl', 'Leim'];
      const { files } = await found(
        write('artikel.csv', ARTICLES),
        write('stoffe.csv', ['Nummer;Kurz;Land', ...names.map((name, at) => `47${at};${name};DE`)]),
        write('stueckliste.csv', [`Artikelnummer;${column};Menge`, 'T-100;Eiche;2', 'T-100;Leim;1', 'T-200;Stahl;3']),
      );
      const [product, part] = files[2]?.mapping.refs ?? [];
      expect(product).toMatchObject({ expression: 'row.Artikelnummer', isTodo: false });
      expect(part).toMatchObject({ expression: `row.${column}`, isTodo: true });
      expect(part?.reason).toContain('3 of 3 values are in Kurz of stoffe.csv, whose key is Nummer.');
    });

    it('does not name the records of another file that has the same numbers', async () => {
      const { files } = await found(
        write('products.csv', ['id;sku;name', '1;A-1;Stuhl', '2;A-2;Tisch', '3;A-3;Bank']),
        write('materials.csv', ['id;name', '1;Eiche', '2;Stahl', '3;Leim']),
        write('bom.csv', ['product_id;material_id;quantity', '1;2;2', '1;3;1', '2;1;3', '3;1;1']),
      );
      expect(files.map(({ mapping }) => mapping.to)).toEqual(['product', 'material', 'bom_item']);
      const [product, part] = files[2]?.mapping.refs ?? [];
      expect(product).toMatchObject({ expression: 'row.product_id', isTodo: true });
      expect(product?.reason).toContain('4 of 4 values are in id of products.csv, whose key is sku.');
      expect(part).toMatchObject({ name: 'material', isTodo: false });
    });

    it('is found by keys that have leading zeros in the other file', async () => {
      const zeros = ['1', '2', '3'].map((number) => `00${number};Stuhl ${number}`);
      const { files } = await found(
        write('prod.csv', ['SKU;Name', ...zeros]),
        write('mat.csv', ['Code;Text', 'M1;Holz', 'M2;Stahl']),
        write('bom.csv', ['Head;Item;Comp;Qty', '1;10;M1;1', '1;20;M2;1', '2;10;M9;1', '3;10;M1;2']),
      );
      const [product, part] = files[2]?.mapping.refs ?? [];
      expect(product).toMatchObject({ expression: 'row.Head', isTodo: true });
      expect(product?.reason).toContain('without leading zeros 4 are keys');
      expect(part).toMatchObject({ expression: 'row.Comp', isTodo: true });
    });
  });

  it('a value that no file has is named', async () => {
    const bom = [...BOM, 'S-300;30;9999;1;kg'];
    const { files, joins } = await found(
      write('artikel.csv', ARTICLES),
      write('stoffe.csv', MATERIALS),
      write('stueckliste.csv', bom),
    );
    expect(joins[1]).toMatchObject({ found: 6, of: 7 });
    expect(files[2]?.mapping.refs[1]).toMatchObject({
      reason: '6 of 7 values are keys of stoffe.csv, not "9999"',
      isTodo: true,
    });
  });

  it('files that do not meet say so', async () => {
    const { stdout } = await runHere([
      'init',
      '--from',
      write('artikel.csv', ARTICLES),
      write('stoffe.csv', MATERIALS),
      '-c',
      config(),
    ]);
    expect(stdout).toContain('No column of these files has keys of another file in half of its values');
  });
});

describe('init --from-source', () => {
  const sources = [
    {
      id: 'erp',
      connector: 'csv',
      options: { delimiter: ';', encoding: 'windows-1252' },
      streams: {
        artikel: { path: './exports/artikel.csv', key: ['Artikelnummer'] },
        stoffe: { path: './exports/stoffe.csv' },
        stueckliste: { path: './exports/stueckliste.csv' },
      },
    },
  ];

  /** Writes a config without mappings, whose key of the platform is not known yet. */
  function configured(): void {
    const target = { baseUrl: world.baseUrl, apiKey: '${NO_KEY_YET}' };
    writeFileSync(config(), stringify({ target, queue: 'embedded', ledger: './own.db', sources }));
  }

  it('mappings are proposed for a source without mappings, and nothing is written', async () => {
    write('artikel.csv', ARTICLES);
    write('stoffe.csv', MATERIALS);
    write('stueckliste.csv', BOM);
    configured();
    const before = readFileSync(config(), 'utf8');
    const { exitCode, stdout, stderr } = await runHere(['init', '--from-source', 'erp', '-c', config()]);
    expect([exitCode, readFileSync(config(), 'utf8')]).toEqual([0, before]);
    expect(stdout).toContain('# Under streams, stoffe needs key: [Nummer]');
    expect(stderr).toContain('stueckliste: Komponente names the material, 6 of 6 values are keys of stoffe');
    // The lines are right where they are put.
    const { mappings } = parse(stdout) as { mappings: { stream: string; to: string }[] };
    expect(mappings.map(({ stream, to }) => [stream, to])).toEqual([
      ['artikel', 'product'],
      ['stoffe', 'material'],
      ['stueckliste', 'bom_item'],
    ]);
    const target = { baseUrl: world.baseUrl, apiKey: API_KEY };
    const complete = sources.map((source) => ({ ...source, mappings }));
    writeFileSync(config(), stringify({ target, queue: 'embedded', ledger: './own.db', sources: complete }));
    expect((await runHere(['sync', '-c', config()])).exitCode).toBe(0);
    expect(world.contents()).toMatchObject({
      products: { length: 3 },
      materials: { length: 3 },
      bomItems: { length: 6 },
    });
  });

  it('a stream without a record is named, and a source without any is refused', async () => {
    write('artikel.csv', ARTICLES);
    write('stoffe.csv', MATERIALS.slice(0, 1));
    write('stueckliste.csv', BOM.slice(0, 1));
    configured();
    const some = await runHere(['init', '--from-source', 'erp', '-c', config()]);
    expect([some.exitCode, some.stderr]).toEqual([
      0,
      expect.stringContaining('stoffe gave no record that can be read'),
    ]);
    write('artikel.csv', ARTICLES.slice(0, 1));
    const none = await runHere(['init', '--from-source', 'erp', '-c', config()]);
    expect([none.exitCode, none.stderr]).toEqual([2, expect.stringContaining('The source erp gives no record')]);
    expect((await runHere(['init', '--from-source', 'pim', '-c', config()])).exitCode).toBe(2);
  });
});
