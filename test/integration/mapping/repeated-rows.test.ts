import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runHere } from '../../support/cli/cli-here.ts';
import { createWorld, type World } from '../../support/worlds/world.ts';

// Each row makes a product, its material and its BOM item. Three rows share the material Steel, and line 6 repeats line 5.
const LAMPS = ['L1;Steel', 'L2;Oak', 'L3;Steel', 'L4;Brass', 'L4;Brass', 'L5;Steel'];

let world: World;
beforeAll(async () => {
  world = await createWorld({
    config: {
      sources: [
        {
          id: 'erp',
          connector: 'csv',
          options: { delimiter: ';' },
          guard: { maxMissing: '50%', maxDrop: '50%' },
          streams: { lamps: { path: './lamps.csv', key: ['SKU'] } },
          mappings: [
            { stream: 'lamps', to: 'product', key: 'row.SKU', fields: { sku: 'row.SKU', name: 'row.SKU' } },
            { stream: 'lamps', to: 'material', key: 'row.MATERIAL', fields: { name: 'row.MATERIAL' } },
            {
              stream: 'lamps',
              to: 'bom_item',
              key: 'row.SKU + "/" + row.MATERIAL',
              refs: { product: 'row.SKU', material: 'row.MATERIAL' },
              fields: { quantity: '"1"' },
            },
          ],
        },
      ],
    },
    files: { 'lamps.csv': `SKU;MATERIAL\n${LAMPS.join('\n')}\n` },
  });
});
afterAll(() => world.remove());

const run = (...args: string[]) => runHere([...args, '-c', world.configFile]);
const repeating = (stdout: string) => stdout.split('\n').filter((line) => /repeats? |shares? /.test(line));

describe('rows that make items of other rows', () => {
  const LINE =
    '1 row repeats another row: lamps.csv:6 (product L4, as lamps.csv:5). Nothing has to be done: each item is sent once. 2 rows share an item with another row, with the same values.';

  it('rows that make the items of other rows are counted once by preview, as sync counts them', async () => {
    const { stdout } = await run('preview', 'erp', '--issues');
    expect(stdout).toContain('  items: 5 products, 3 materials, 5 BOM items\n');
    expect(repeating(stdout)).toEqual([
      '  1 row repeats another row. 2 rows share an item with another row, with the same values. Each item is sent once.',
    ]);
  });

  it('rows that make the items of other rows are one line of sync and status, which names rows that make nothing else', async () => {
    expect(repeating((await run('sync')).stdout)).toEqual([LINE]);
    expect(repeating((await run('status')).stdout)).toEqual([LINE]);
  });

  it('rows that make the items of other rows are counted in the JSON of status, with the named rows as examples', async () => {
    expect((await run('status', '--json')).json()).toMatchObject({
      duplicates: {
        count: 3,
        whole: 1,
        examples: [{ kind: 'product', key: 'L4', place: { line: 6 }, first: { line: 5 } }],
      },
    });
  });

  it('rows that make the items of other rows are only counted where each of them makes an item besides', async () => {
    world.write('lamps.csv', `SKU;MATERIAL\n${LAMPS.filter((_, at) => at !== 4).join('\n')}\n`);
    await run('sync');
    expect(repeating((await run('status')).stdout)).toEqual([
      '2 rows share an item with another row, with the same values. Nothing has to be done: each item is sent once.',
    ]);
  });
});

describe('rows that make an item which another row makes with other values', () => {
  it('are named by preview before a sync quarantines them, and not as rows that are sent once', async () => {
    world.write('lamps.csv', 'SKU;MATERIAL;NAME\nL1;Steel;Lamp\nL1;Steel;Lamp\nL1;Steel;Lantern\n');
    const config = readFileSync(world.configFile, 'utf8').replace('name: row.SKU', 'name: row.NAME');
    world.write('dpp-sync.yaml', config);
    const { stdout } = await run('preview', 'erp', '--issues');
    expect(stdout).toContain('  1 row repeats another row. Each item is sent once.\n');
    expect(stdout).toContain(
      '  1 row makes an item that another row makes with other values: lamps.csv:4 (product L1). A sync does not send it.\n',
    );
    expect(stdout).toContain('  items: 1 product, 1 material, 1 BOM item\n');
  });
});

describe.each([0, 3_000])('rows of one item that change together, with %i rows between them', (between) => {
  let own: World;
  beforeAll(async () => {
    own = await createWorld({
      config: {
        sources: [
          {
            id: 'erp',
            connector: 'csv',
            options: { delimiter: ';' },
            streams: { lamps: { path: './lamps.csv', key: ['ID'] } },
            mappings: [
              {
                stream: 'lamps',
                to: 'product',
                key: 'row.SKU',
                when: 'row.SKU != ""',
                fields: { sku: 'row.SKU', name: 'row.NAME' },
              },
            ],
          },
        ],
      },
      files: {},
    });
  });
  afterAll(() => own.remove());

  const OTHERS = Array.from({ length: between }, (_, at) => `${at + 10};;\n`).join('');
  async function sync(first: string, last: string) {
    own.write('lamps.csv', `ID;SKU;NAME\n${first}\n${OTHERS}${last}\n`);
    const { runs } = (await runHere(['sync', '--json', '-c', own.configFile])).json() as { runs: object[] };
    const { stdout } = await runHere(['quarantine', '--json', '-c', own.configFile]);
    return { run: runs[0], quarantined: stdout.split('\n').filter((line) => line !== '').length };
  }

  it('are no rows with an error, although the row of the item comes last', async () => {
    await sync('1;L1;Lamp', '2;L1;Lamp');
    expect(await sync('2;L1;Lantern', '1;L1;Lantern')).toMatchObject({
      run: { read: between + 2, unchanged: between, changed: 2, quarantined: 0, excluded: 0 },
      quarantined: 0,
    });
  });

  it('count as rows with an error in the run that finds them different, and no longer in a later run that does not', async () => {
    expect(await sync('2;L1;Torch', '1;L1;Lantern')).toMatchObject({
      run: { read: between + 2, unchanged: between + 1, changed: 0, quarantined: 1 },
      quarantined: 1,
    });
    expect(await sync('2;L1;Torch', '1;L1;Torch')).toMatchObject({
      run: { read: between + 2, unchanged: between + 1, changed: 1, quarantined: 0 },
      quarantined: 0,
    });
  });
});

describe('a product that a row of another source makes as well', () => {
  const mapping = { stream: 'p', to: 'product', key: 'row.SKU', fields: { sku: 'row.SKU', name: 'row.SKU' } };
  const source = (id: string) => ({
    id,
    connector: 'csv',
    guard: { maxMissing: '100%', maxDrop: '100%' },
    streams: { p: { path: `./${id}.csv`, key: ['SKU'] } },
    mappings: [mapping],
  });

  it('has its passport under the source that makes the product by now', async () => {
    const two = await createWorld({
      config: { sources: [source('first'), source('second')], passports: { init: 'when-complete', publish: 'auto' } },
      files: { 'first.csv': 'SKU\nA\nB\n', 'second.csv': 'SKU\nA\n' },
    });
    const runTwo = (...args: string[]) => runHere([...args, '-c', two.configFile, '--json']);
    try {
      await runTwo('sync');
      two.write('first.csv', 'SKU\nB\n');
      await runTwo('sync');
      const { stdout } = await runTwo('items', '--search', 'A');
      const items = stdout
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line) as { kind: string; source: string });
      expect(items.map(({ kind, source: of }) => [kind, of])).toEqual([
        ['product', 'second'],
        ['passport', 'second'],
      ]);
    } finally {
      await two.remove();
    }
  });
});
