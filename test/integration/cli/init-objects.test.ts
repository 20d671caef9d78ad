import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { parse, stringify } from 'yaml';
import { runHere } from '../../support/cli/cli-here.ts';
import { API_KEY, createWorld, type World } from '../../support/worlds/world.ts';
import { bomLines } from '../connectors/bom-lines.ts';

let world: World;
beforeEach(async () => {
  world = await createWorld({ config: { sources: [] } });
});
afterEach(() => world.remove());

function write(name: string, content: object | string): string {
  const path = join(world.folder, name);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, typeof content === 'string' ? content : JSON.stringify(content, null, 1));
  return path;
}

interface Proposal {
  stream: string;
  mapping: { to: string; when?: { expression: string }; refs: { name: string; reason: string }[] };
}
interface Found extends Proposal {
  from: string;
  recognised: { connector: string; options: { name: string; value: unknown }[]; hints: string[] };
  more: Proposal[];
}
type Init = Found & {
  files?: Found[];
  leftOut: string[];
  joined: { key: string; parts: { quantity: string; key: string }[] } | null;
};
interface Written {
  sources: { streams: Record<string, object>; lookups?: object }[];
}

const config = () => join(world.folder, 'own.yaml');
const written = () => parse(readFileSync(config(), 'utf8')) as Written;

/** Runs `init`, and checks that what it has written is right as it is. */
async function init(...files: string[]): Promise<Init> {
  const made = await runHere(['init', '--from', ...files, '-c', config(), '--json']);
  expect([made.exitCode, made.stderr]).toEqual([0, '']);
  const target = { baseUrl: world.baseUrl, apiKey: API_KEY };
  writeFileSync(config(), stringify({ ...written(), target, ledger: './own.db' }));
  expect((await runHere(['check', '-c', config()])).exitCode).toBe(0);
  expect((await runHere(['test', '-c', config()])).exitCode).toBe(0);
  return made.json() as unknown as Init;
}
const sync = async () => expect((await runHere(['sync', '-c', config()])).exitCode).toBe(0);
const kindsOf = ({ mapping, more }: Found) => [mapping, ...more.map((one) => one.mapping)].map(({ to }) => to);

const part = (pos: number, number: string, qty: number) => ({ pos, part: number, qty });

describe('init --from a JSON file that is one object', () => {
  const ONE = { bom: '4711', product: 'P-1', lines: [part(10, 'M-1', 2), part(20, 'M-2', 1)] };

  it('makes a product, its parts and the lines of its list', async () => {
    const found = await init(write('one-object.json', ONE));
    expect(found.recognised.options).toEqual([expect.objectContaining({ name: 'format', value: 'object' })]);
    expect(kindsOf(found)).toEqual(['product', 'material', 'bom_item']);
    expect(written().sources[0]?.streams).toEqual({
      'one-object': { path: './one-object.json', key: ['product'] },
      'one-object-lines': {
        path: './one-object.json',
        at: '$.lines',
        parent: { product: '$.product' },
        key: ['product', 'pos'],
      },
    });
    expect(found.joined).toMatchObject({
      key: 'P-1',
      parts: [
        { quantity: '2', key: 'M-1' },
        { quantity: '1', key: 'M-2' },
      ],
    });
    await sync();
    expect(bomLines(world)).toEqual(['P-1 ← 2 M-1', 'P-1 ← 1 M-2']);
    expect(world.contents().bomItems.map(({ position }) => position)).toEqual(['10', '20']);
  });

  it('gives the value of the object another name if the parts have its name too', async () => {
    const bom = [
      { id: 'M-1', quantity: 2 },
      { id: 'M-2', quantity: 1 },
    ];
    await init(write('product.json', { id: 'P-1', name: 'Pump', bom }));
    expect(written().sources[0]?.streams['product-bom']).toMatchObject({ parent: { product: '$.id' } });
    await sync();
    expect(bomLines(world)).toEqual(['P-1 ← 2 M-1', 'P-1 ← 1 M-2']);
  });

  it('reads an export with a list of articles as a list', async () => {
    const parts = [
      { id: 'A-1', name: 'Pump' },
      { id: 'A-2', name: 'Seal' },
    ];
    const found = await init(write('export.json', { id: 'export-17', date: '2026-01-31', parts }));
    expect(found.recognised.options).toEqual([]);
    expect(written().sources[0]?.streams).toEqual({ export: { path: './export.json', at: '$.parts', key: ['id'] } });
  });

  it('reads a file of JSON lines with one line as such', async () => {
    const found = await init(write('products.ndjson', '{"id":"A-1","name":"Pump"}\n'));
    expect(found.recognised.options).toEqual([]);
    expect(written().sources[0]?.streams).toEqual({ products: { path: './products.ndjson', key: ['id'] } });
  });
});

describe('init --from a folder of JSON files that are one object each', () => {
  const PUMP = { id: 'P-100', name: 'Pump', country: 'DE', bom: [part(10, 'A-200', 1), part(20, 'R-1', 0.4)] };
  const MOTOR = { id: 'A-200', name: 'Motor', country: 'PL', bom: [part(10, 'R-1', 2.5), part(20, 'R-2', 0.1)] };
  const FILTER = { id: 'P-300', name: 'Filter', country: 'IT', bom: [part(10, 'R-2', 3)] };
  const BOM = ['A-200 ← 2.5 R-1', 'A-200 ← 0.1 R-2', 'P-100 ← 1 A-200', 'P-100 ← 0.4 R-1', 'P-300 ← 3 R-2'];
  const folder = (name = 'boms') => [
    write(`${name}/P-100.json`, PUMP),
    write(`${name}/A-200.json`, MOTOR),
    write(`${name}/P-300.json`, FILTER),
  ];

  it.each<[string, () => string[]]>([
    ['the folder', () => [join(world.folder, 'boms')]],
    ['a pattern', () => [join(world.folder, 'boms', '*.json')]],
    ['the files that a shell makes of a pattern', folder],
  ])('makes one source of all, named as %s', async (_about, named) => {
    folder();
    const found = await init(...named());
    expect(found.from).toBe(join(world.folder, 'boms', '*.json'));
    expect(kindsOf(found)).toEqual(['product', 'material', 'bom_item']);
    const [source] = written().sources;
    expect(source?.streams).toMatchObject({ boms: { path: './boms/*.json' }, 'boms-bom': { path: './boms/*.json' } });
    expect(source?.lookups).toEqual({ objects: { stream: 'boms', key: 'id', value: 'id' } });
    await sync();
    expect(bomLines(world)).toEqual(BOM);
    expect(world.contents()).toMatchObject({ products: { length: 3 }, materials: { length: 2 } });
  });

  it('keeps to the pattern that a person has written', async () => {
    folder();
    await init(
      join(world.folder, 'boms', 'P-*.json'),
      write('teile.csv', 'sku;name\nA-200;Motor\nR-1;Ring\nR-2;Rad\n'),
    );
    expect(Object.values(written().sources[0]?.streams ?? {})).toMatchObject([
      { path: './boms/P-*.json' },
      { path: './boms/P-*.json' },
    ]);
    await sync();
    expect(bomLines(world)).toEqual(BOM.slice(2));
  });

  it('makes only BOM items if other files have the articles', async () => {
    folder();
    const articles = 'Artikelnummer;Bezeichnung\nP-100;Pumpe\nA-200;Motor\nP-300;Filter\n';
    const { files = [] } = await init(
      write('artikel.csv', articles),
      write('stoffe.csv', 'Nummer;Bezeichnung\nR-1;Ring\nR-2;Rad\n'),
      join(world.folder, 'boms'),
    );
    expect(files.map(kindsOf)).toEqual([['product'], ['material'], ['bom_item']]);
    await sync();
    expect(bomLines(world)).toEqual(BOM);
  });

  it.each([
    ['an empty list', { bom: [] }, 'size(row.bom) > 0'],
    ['null in place of the list', { bom: null }, '(row.bom != null && size(row.bom) > 0)'],
    ['no list', {}, '(has(row.bom) && size(row.bom) > 0)'],
  ])('makes materials of objects that only are parts: with %s', async (_about, empty, condition) => {
    folder('plm');
    write('plm/R-1.json', { id: 'R-1', name: 'Ring', country: 'SE', ...empty });
    write('plm/R-2.json', { id: 'R-2', name: 'Wheel', country: 'SE', ...empty });
    const found = await init(join(world.folder, 'plm'));
    expect(kindsOf(found)).toEqual(['product', 'material', 'bom_item']);
    expect(found.mapping.when?.expression).toBe(condition);
    await sync();
    expect(bomLines(world)).toEqual(BOM);
    expect(world.contents().materials.map((material) => (material as { name: string }).name)).toEqual([
      'Ring',
      'Wheel',
    ]);
  });

  it('an object without parts that is no part of another one stays a product', async () => {
    folder('plm');
    write('plm/P-400.json', { id: 'P-400', name: 'New', country: 'SE', bom: [] });
    const found = await init(join(world.folder, 'plm'));
    expect(found.mapping).toMatchObject({ to: 'product' });
    expect(found.mapping.when).toBeUndefined();
    await sync();
    expect(world.contents()).toMatchObject({ products: { length: 4 } });
  });

  it('goes on without a damaged file, one with something else and one that is no JSON, and names each', async () => {
    folder('plm');
    write('plm/A-100.json', '{"id":"A-100","bom":[{"pos');
    write('plm/A-101.json', '');
    write('plm/settings.json', { config: true });
    write('plm/readme.txt', 'Exported every night.\nDo not edit.\n');
    const made = await runHere(['init', '--from', join(world.folder, 'plm'), '-c', config(), '--json']);
    expect([made.exitCode, made.stderr]).toEqual([0, '']);
    const found = made.json() as unknown as Init;
    expect(kindsOf(found)).toEqual(['product', 'material', 'bom_item']);
    expect(found.recognised.hints).toEqual([
      expect.stringMatching(/^A-100\.json:1: .* not valid JSON.* The others go on without it\.$/),
      expect.stringMatching(/^A-101\.json:1: /),
      expect.stringMatching(/^settings\.json: nothing of what the other files have \(id, name, country, bom\)/),
    ]);
    expect(found.leftOut).toEqual([expect.stringContaining('readme.txt is not recognised')]);
    expect(readFileSync(config(), 'utf8')).toContain('# settings.json: nothing of what the other files have');
    expect(Object.values(written().sources[0]?.streams ?? {})).toMatchObject([
      { path: './plm/*.json', key: ['id'] },
      {},
    ]);
  });

  it('refuses a folder in which no file can be read', async () => {
    write('plm/readme.txt', 'Exported every night.\nDo not edit.\n');
    write('plm/licence.txt', 'Free.\nFor all.\n');
    const { exitCode, stderr } = await runHere(['init', '--from', join(world.folder, 'plm'), '-c', config()]);
    expect([exitCode, stderr]).toEqual([2, expect.stringContaining('licence.txt is not recognised')]);
  });

  it('refuses a file that is named and that is not recognised', async () => {
    const files = [...folder('plm'), write('readme.txt', 'Exported every night.\nDo not edit.\n')];
    const { exitCode, stderr } = await runHere(['init', '--from', ...files, '-c', config()]);
    expect([exitCode, stderr]).toEqual([2, expect.stringContaining('readme.txt is not recognised')]);
  });

  it('finds a pattern that has only the named files', async () => {
    const [pump = '', , filter = ''] = folder();
    const found = await init(pump, filter);
    expect(found.from).toBe(join(world.folder, 'boms', 'P-*.json'));
    expect(found.recognised.hints).toEqual([]);
  });

  it('says which files the pattern reads that are not named, and does not fail because of them', async () => {
    const [pump = '', motor = ''] = folder();
    write('boms/A-100.json', '{"id":"A-100","bom":[{"pos');
    const made = await runHere(['init', '--from', pump, motor, '-c', config(), '--json']);
    expect(made.exitCode).toBe(0);
    const found = made.json() as unknown as Init;
    expect(found.recognised.hints[0]).toContain('*.json also reads 2 files of the folder that were not named');
    expect(found.recognised.hints[1]).toContain('A-100.json:1: ');
  });

  it('makes products of objects without a list', async () => {
    for (const { bom: _, ...object } of [PUMP, MOTOR, FILTER]) write(`plm/${object.id}.json`, object);
    expect(kindsOf(await init(join(world.folder, 'plm')))).toEqual(['product']);
    expect(written().sources[0]?.streams).toEqual({ plm: { path: './plm/*.json', key: ['id'] } });
    await sync();
    expect(world.contents()).toMatchObject({ products: { length: 3 } });
  });
});

describe('init --from a folder of other files', () => {
  it('makes a source of each file', async () => {
    write('exports/artikel.csv', 'Artikelnummer;Bezeichnung\nP-1;Pumpe\nP-2;Filter\n');
    write('exports/bom.csv', 'Artikelnummer;Komponente;Menge\nP-1;M-1;2\nP-1;M-2;1\nP-2;M-1;3\n');
    write('exports/.hidden.csv', 'x');
    write('exports/~$bom.csv', 'x');
    const { files = [] } = await init(join(world.folder, 'exports'));
    expect(files.map(kindsOf)).toEqual([['product'], ['bom_item']]);
  });

  it('refuses a folder without files, and one with more files than a config has sources', async () => {
    const from = async (name: string) => await runHere(['init', '--from', join(world.folder, name), '-c', config()]);
    mkdirSync(join(world.folder, 'empty'));
    expect(await from('empty')).toMatchObject({ exitCode: 2, stderr: expect.stringContaining('has no files') });
    for (let at = 0; at < 21; at += 1) write(`many/${at}.csv`, 'sku;name\nA;x\n');
    expect(await from('many')).toMatchObject({ exitCode: 2, stderr: expect.stringContaining('These are 21 files') });
  });
});
