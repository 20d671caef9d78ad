import { appendFileSync, existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { runHere } from '../../support/cli/cli-here.ts';
import { createWorld, type World } from '../../support/worlds/world.ts';

const SOURCE = {
  id: 'erp',
  connector: 'csv',
  streams: {
    products: { path: './products.csv', key: ['ID'] },
    materials: { path: './materials.csv', key: ['ID'] },
    colours: { path: './colours.csv', key: ['NO', 'POS'] },
  },
  omit: ['PRICE'],
  lookups: { colours: { stream: 'colours', key: 'NO', value: 'NAME' } },
  mappings: [
    {
      stream: 'products',
      to: 'product',
      key: 'row.ID',
      when: 'row.NAME != "Service"',
      fields: {
        sku: 'row.SKU',
        name: 'row.NAME',
        country_of_origin: 'country(row.FROM)',
        description: 'lookup("colours", row.COLOUR)',
      },
    },
    { stream: 'materials', to: 'material', key: 'row.ID', fields: { name: 'row.NAME' } },
  ],
};
const FILES = {
  'products.csv': `ID,SKU,NAME,FROM,COLOUR,PRICE
1,A-1,Pump,Sweden,R,9
2,A-2,Motor,XX,R,9
3,A-3,Service,,,
4,A-4,"Multi
line",DE,,
5,A-5,"broken
`,
  'materials.csv': 'ID,NAME\n1,Steel\n900,Copper\n',
  'colours.csv': 'NO,POS,NAME\nR,10,red\nR,20,red\nB,10,blue\n',
};

let world: World;
let casesFile: string;
beforeEach(async () => {
  world = await createWorld({ config: { sources: [SOURCE] }, files: FILES });
  casesFile = join(world.folder, 'dpp-sync.cases.yaml');
});
afterEach(() => world.remove());

const run = (...args: string[]) => runHere(['test', '-c', world.configFile, ...args]);
const cases = () => readFileSync(casesFile, 'utf8');

async function errorOf(...args: string[]): Promise<unknown> {
  const { exitCode, json } = await run(...args, '--json');
  expect(exitCode).toBe(2);
  return (json() as { error: unknown }).error;
}

describe('test --record', () => {
  it('test --record writes cases of stored rows, which pass until a mapping changes their result', async () => {
    await world.sync();
    const first = await run('--record', 'A-1');
    expect(first).toMatchObject({ exitCode: 0, stderr: '' });
    expect(first.stdout).toBe(
      `✓ wrote the case "row 1 of products" to ${casesFile}:5.\n  The row becomes product 1.\n`,
    );
    expect(
      cases(),
    ).toBe(`# Cases of the mappings in dpp-sync.yaml: a row, and what it becomes. \`dpp-sync test\` runs them without key, network or ledger.
# \`dpp-sync test --record KEY\` adds a case from a stored row. docs/tests.md describes the file.

cases:
  - name: row 1 of products
    given:
      stream: products
      row:
        ID: "1"
        SKU: A-1
        NAME: Pump
        FROM: Sweden
        COLOUR: R
      lookups:
        colours:
          - NO: R
            NAME: red
          - NO: R
            NAME: red
    expect:
      items:
        - kind: product
          key: "1"
          fields:
            sku: A-1
            name: Pump
            country_of_origin: SE
            description: red
`);
    expect((await run('--record', '2', '--json')).json()).toEqual({
      ok: true,
      file: casesFile,
      line: 30,
      name: 'row 2 of products',
      expect: { issue: [{ code: 'country.unknown', field: 'country_of_origin', value: 'XX' }] },
    });
    for (const key of ['3', '4', '900']) expect((await run('--record', key)).exitCode).toBe(0);
    const tested = await run('--json');
    expect(tested.json()).toMatchObject({ ok: true, passed: 5, failed: 0 });
    world.write(
      'dpp-sync.yaml',
      readFileSync(world.configFile, 'utf8').replace('lookup("colours", row.COLOUR)', 'row.COLOUR'),
    );
    const changed = (await run('--json')).json() as { cases: { name: string; differences: unknown[] }[] };
    expect(changed.cases.filter(({ differences }) => differences.length > 0)).toMatchObject([
      { name: 'row 1 of products', differences: [{ path: 'items[0].fields.description', expected: 'red', got: 'R' }] },
    ]);
  });

  it('test --record keeps what stands in the file, and adds no row twice', async () => {
    await world.sync();
    const before = `# Mine.\ncases:\n- name: row 900 of materials   # taken\n  given: {stream: materials, row: {ID: "7", NAME: x}}\n  expect: {excluded: true}\n`;
    world.write('mine.yaml', before);
    const file = join(world.folder, 'mine.yaml');
    expect((await run('--record', '900', file)).stdout).toContain('wrote the case "row 900 of materials (2)"');
    const after = readFileSync(file, 'utf8');
    expect(after.startsWith(before)).toBe(true);
    expect(await errorOf('--record', '900', file)).toMatchObject({
      code: 'usage',
      message: expect.stringContaining(`The case "row 900 of materials (2)" has this row already (${file}:7).`),
    });
    expect(readFileSync(file, 'utf8')).toBe(after);
    appendFileSync(file, '  colour: red\n');
    expect(await errorOf('--record', '1', '--stream', 'products', file)).toMatchObject({
      code: 'cases.invalid',
      path: 'cases[1].colour',
    });
  });

  it('test --record refuses a key that several rows have until their stream is named', async () => {
    await world.sync();
    expect(await errorOf('--record', '1')).toMatchObject({
      code: 'item.unknown',
      message: expect.stringContaining(
        'Several rows fit "1": erp/products 1 (products.csv:2); erp/materials 1 (materials.csv:2).',
      ),
    });
    expect((await run('--record', '1', '--stream', 'materials')).stdout).toContain('"row 1 of materials"');
    expect((await run('--record', '1', '--stream', 'products', '--source', 'erp')).exitCode).toBe(0);
  });

  it('test --record finds the row of an item by its key and by its SKU, and a row with an error by the key of its product', async () => {
    const mapping = {
      stream: 'products',
      to: 'product',
      key: '"P-" + row.ID',
      fields: { sku: 'row.SKU', name: 'row.NAME', country_of_origin: 'country(row.FROM)', description: 'row.PRICE' },
    };
    const streams = { products: { path: './products.csv', key: ['ID'] } };
    const source = {
      id: 'erp',
      connector: 'csv',
      options: { decimalColumns: ['PRICE'] },
      streams,
      mappings: [mapping],
    };
    const other = await createWorld({
      config: { sources: [source] },
      files: { 'products.csv': 'ID,SKU,NAME,FROM,PRICE\n1,A-1,Pump,SE,1\n2,A-2,Motor,XX,1\n3,A-3,Fan,SE,"1.2,3.4"\n' },
    });
    try {
      await other.sync();
      const record = (key: string, file: string) =>
        runHere(['test', '-c', other.configFile, '--record', key, '--json', join(other.folder, file)]);
      for (const [key, file] of [
        ['P-1', 'a.yaml'],
        ['A-1', 'b.yaml'],
        ['1', 'c.yaml'],
        ['product P-1 (A-1)', 'd.yaml'],
      ] as const)
        expect((await record(key, file)).json()).toMatchObject({
          name: 'row 1 of products',
          expect: { items: [{ key: 'P-1' }] },
        });
      expect((await record('P-2', 'a.yaml')).json()).toMatchObject({
        name: 'row 2 of products',
        expect: { issue: [{ code: 'country.unknown' }] },
      });
      expect((await record('3', 'a.yaml')).json()).toMatchObject({
        error: {
          message: expect.stringMatching(/^The connector could not read the row \(products\.csv:4\): .*"1\.2,3\.4"/),
        },
      });
    } finally {
      await other.remove();
    }
  });

  it('test --record says why no case can be made of a row, and then writes no file', async () => {
    expect(await errorOf('--record', 'A-1')).toMatchObject({
      code: 'item.unknown',
      message: expect.stringContaining('There is no ledger yet, so no row of "A-1" is stored.'),
    });
    await world.sync();
    expect(await errorOf('--record', 'A-9')).toMatchObject({
      code: 'item.unknown',
      message: expect.stringContaining('No stored row fits "A-9".'),
    });
    expect(await errorOf('--record', '900', '--stream', 'products')).toMatchObject({
      message: expect.stringContaining('No stored row of products fits "900".'),
    });
    expect(await errorOf('--record', 'A-1', '--source', 'er')).toMatchObject({ code: 'usage' });
    expect(await errorOf('--record', 'R / 10')).toMatchObject({
      code: 'usage',
      message: expect.stringContaining('No mapping of the config uses the stream erp/colours of the row.'),
    });
    expect(existsSync(casesFile)).toBe(false);
  });
});
