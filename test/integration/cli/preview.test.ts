import { afterEach, describe, expect, it } from 'vitest';
import { runHere } from '../../support/cli/cli-here.ts';
import { EXPORT_SOURCES } from '../../support/worlds/cli-export.ts';
import { createWorld, type World } from '../../support/worlds/world.ts';

/** Every seventh product has a country that is none, and every hundredth one has no name besides. */
const ROWS = 2_100;
const products = Array.from({ length: ROWS }, (_, at) => {
  const name = at % 100 === 0 ? '' : 'Pump';
  return `${at},A-${at},${name},${at % 7 === 0 ? 'XX' : 'DE'}\n`;
});
const FILES = {
  'products.csv': `ID,SKU,NAME,COUNTRY\n${products.join('')}`,
  'materials.csv': 'ID,NAME\n900,Steel\n',
  'boms.csv': 'NO,POS,PARENT,PART,QTY\nB1,10,1,900,2.5\nB1,20,2,900,x\nB2,10,3,900,1\n',
};

let world: World;
afterEach(() => world.remove());

async function begin(): Promise<void> {
  const [source] = EXPORT_SOURCES;
  const streams = { ...source?.streams, boms: { path: './boms.csv', key: ['NO', 'POS'] } };
  const mappings = source?.mappings.map((one) => (one.stream === 'boms' ? { ...one, key: 'row.NO + row.POS' } : one));
  world = await createWorld({ config: { sources: [{ ...source, streams, mappings }] }, files: FILES });
}

interface Shown {
  counts: { records: number; issues: { code: string; field: string; records: number; example: unknown }[] } | null;
  streams: {
    stream: string;
    matching: number | null;
    counts: unknown;
    records: { key: string; issues: unknown[]; items: unknown[] }[];
  }[];
}

async function preview(...args: string[]): Promise<Shown> {
  const { exitCode, json } = await runHere(['preview', 'erp', '--json', '-c', world.configFile, ...args]);
  expect(exitCode).toBe(0);
  return json() as unknown as Shown;
}

describe('preview', () => {
  it('preview counts records, items and issues over the whole source, the most frequent issue first', async () => {
    await begin();
    const { counts, streams } = await preview('--limit', '2');
    expect(counts).toEqual({
      records: ROWS + 4,
      mapped: ROWS + 4 - 318 - 1,
      excluded: 0,
      quarantined: 318 + 1,
      items: { product: ROWS - 318, material: 1, bom_item: 2 },
      repeating: 0,
      whole: 0,
      conflicting: 0,
      conflict: null,
      uncompared: 0,
      issues: [
        {
          code: 'country.unknown',
          field: 'country_of_origin',
          records: 300,
          example: { place: { file: 'products.csv', line: 2 }, message: expect.stringContaining('XX') },
        },
        { code: 'field.required', field: 'name', records: 21, example: expect.anything() },
        { code: 'decimal.format', field: 'quantity', records: 1, example: expect.anything() },
      ],
      otherIssues: 0,
    });
    expect(streams.map(({ stream, matching, records }) => [stream, matching, records.length])).toEqual([
      ['products', ROWS, 2],
      ['materials', 1, 1],
      ['boms', 3, 2],
    ]);
    expect(streams[1]?.counts).toMatchObject({ records: 1, mapped: 1, issues: [] });
  });

  it('preview shows with --issues only records that have an issue, however late they come', async () => {
    await begin();
    const { streams } = await preview('--issues', '--limit', '2');
    expect(streams.map(({ matching, records }) => [matching, records.map(({ key }) => key)])).toEqual([
      [318, ['0', '7']],
      [0, []],
      [1, ['B1\u001f20']],
    ]);
  });

  it('preview shows with --key the record with this key, also of several columns', async () => {
    await begin();
    const keysWith = async (key: string) =>
      (await preview('--key', key)).streams.flatMap(({ records }) => records.map((record) => record.key));
    expect(await keysWith('2099')).toEqual(['2099']);
    expect(await keysWith('B1/20')).toEqual(['B1\u001f20']);
    expect(await keysWith('B1 / 20')).toEqual(['B1\u001f20']);
    expect(await keysWith('B1')).toEqual([]);
  });

  it('preview shows with --item the records that make the item, by key or natural key', async () => {
    await begin();
    const placesOf = async (item: string) =>
      (await preview('--item', item)).streams.flatMap(({ stream, records }) => records.map(({ key }) => [stream, key]));
    expect(await placesOf('A-2098')).toEqual([['products', '2098']]);
    expect(await placesOf('2098')).toEqual([['products', '2098']]);
    expect(await placesOf('900')).toEqual([['materials', '900']]);
    expect(await placesOf('B210')).toEqual([['boms', 'B2\u001f10']]);
  });

  it('preview says so where no record fits', async () => {
    await begin();
    const { exitCode, stderr } = await runHere(['preview', 'erp', '--item', 'A-9999', '-c', world.configFile]);
    expect(exitCode).toBe(0);
    expect(stderr).toContain('No record makes the item A-9999.');
    expect(stderr).toContain('--issues');
  });

  it.each([
    [['--issues', '--stream', 'materials'], 'No record has a problem.'],
    [['--issues', '--key', '1'], 'No record with the key 1 has a problem.'],
    [['--key', '9999'], 'No record with the key 9999 was found.'],
  ])('preview says with %j that no record fits', async (args, words) => {
    await begin();
    const { stderr } = await runHere(['preview', 'erp', '-c', world.configFile, ...args]);
    expect(stderr.split('\n')).toContain(words);
  });

  it('preview shows the records that fit all given filters', async () => {
    await begin();
    const { streams } = await preview('--issues', '--key', '8', '--stream', 'products');
    expect(streams).toMatchObject([{ matching: 0, records: [], counts: { records: ROWS } }]);
  });

  it('preview reads no further than the shown records with --no-counts', async () => {
    await begin();
    const { counts, streams } = await preview('--no-counts', '--stream', 'products', '--limit', '3');
    expect(counts).toBeNull();
    expect(streams).toMatchObject([
      { matching: null, counts: null, records: [{ key: '0' }, { key: '1' }, { key: '2' }] },
    ]);
  });

  it('preview shows people the records, the items and the issues of each stream', async () => {
    await begin();
    const { stdout } = await runHere(['preview', 'erp', '--issues', '--limit', '1', '-c', world.configFile]);
    expect(stdout).toContain('erp/products  2,100 records: 1,782 mapped, 318 with an error');
    expect(stdout).toContain('items: 1,782 products');
    expect(stdout).toContain('✗ 300  country.unknown in country_of_origin');
    expect(stdout).toContain('erp/materials  1 record: 1 mapped');
    expect(stdout).toContain('erp  2,104 records: 1,785 mapped, 319 with an error');
  });

  it('preview names the condition that excludes a record', async () => {
    const [source] = EXPORT_SOURCES;
    const mappings = source?.mappings.filter((one) => one.stream === 'products');
    const excluding = mappings?.map((one) => ({ ...one, when: 'row.ID != "1"' }));
    const streams = { products: source?.streams.products };
    world = await createWorld({ config: { sources: [{ ...source, streams, mappings: excluding }] }, files: FILES });
    const { stdout } = await runHere(['preview', 'erp', '--key', '1', '-c', world.configFile]);
    expect(stdout).toContain('– excluded  products.csv:3');
    expect(stdout).toContain('mappings[0]: when is false: row.ID != "1"');
  });
});
