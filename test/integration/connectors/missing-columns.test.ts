import { afterEach, describe, expect, it } from 'vitest';
import { runHere } from '../../support/cli/cli-here.ts';
import { textRow, workbook } from '../../support/connectors/workbook.ts';
import { EXPORT_SOURCES, GOOD_FILES } from '../../support/worlds/cli-export.ts';
import { createWorld, type World } from '../../support/worlds/world.ts';

let world: World;

afterEach(() => world.remove());

const ROWS = 26_452;
const renamed = `ID,SKU_2,NAME,COUNTRY\n${Array.from({ length: ROWS }, (_, at) => `${at},A-${at},Pump,DE\n`).join('')}`;

async function begin(files: Record<string, string | Uint8Array>, sources: unknown[] = EXPORT_SOURCES): Promise<void> {
  world = await createWorld({ config: { sources }, files: { ...GOOD_FILES, ...files } });
}
const run = (...args: string[]) => runHere([...args, '-c', world.configFile]);
const MESSAGE = 'products.csv: the column SKU is missing; did you mean SKU_2?';

describe('an export whose column was renamed', () => {
  it('an export whose column was renamed stops the run with one sentence, and no row is in quarantine or missing', async () => {
    await begin({});
    expect((await run('sync')).exitCode).toBe(0);
    world.write('products.csv', renamed);
    const { exitCode, stderr } = await run('sync');
    expect(exitCode).toBe(3);
    expect(stderr).toContain(MESSAGE);
    expect(stderr).toContain('sources[0].mappings[0].fields.sku');
    expect((await run('quarantine', '--json')).stdout).toBe('');
    const items = (await run('items', '--json')).stdout;
    expect(items).toContain('"kind":"product"');
    expect(items).not.toMatch(/"missing":true|"flagged":true/);
  });

  it('an export whose column was renamed is found by check and by preview', async () => {
    await begin({ 'products.csv': renamed });
    const { exitCode, stdout } = await run('check');
    expect(exitCode).toBe(3);
    expect(stdout).toContain('products.csv: the column SKU is missing; did you mean SKU_2?');
    const preview = await run('preview', 'erp');
    expect(preview.exitCode).toBe(3);
    expect(preview.stderr).toContain(MESSAGE);
  });

  it('an export whose column was renamed is read where the expression asks whether the column is there', async () => {
    const [source] = EXPORT_SOURCES;
    const [products, ...others] = source?.mappings ?? [];
    const fields = { ...products?.fields, sku: 'has(row.SKU) ? row.SKU : row.SKU_2' };
    const small = renamed.split('\n').slice(0, 4).join('\n');
    await begin({ 'products.csv': small }, [{ ...source, mappings: [{ ...products, fields }, ...others] }]);
    expect((await run('sync')).stderr).not.toContain('missing');
    expect((await run('check')).exitCode).toBe(0);
  });
});

describe('an export with a line above its header', () => {
  const sku = { to: 'product', key: 'row.sku', fields: { sku: 'row.sku', name: 'row.name' } };
  const sourceOf = (connector: string, path: string) => ({
    id: 'erp',
    connector,
    options: { path, key: ['sku'], ...(connector === 'csv' ? { delimiter: ';' } : {}) },
    mappings: [sku],
    guard: { maxMissing: '100%', maxDrop: '100%' },
    onMissing: 'unpublish',
  });
  const rows = [0, 1, 2].map((at) => [`A${at}`, `Pump ${at}`]);
  const csv = (...above: string[]) => [...above, 'sku;name', ...rows.map((row) => row.join(';'))].join('\n');
  const sheet = (...above: string[]) =>
    workbook({
      sheet: [...above.map((text) => [text]), ['sku', 'name'], ...rows]
        .map((row, at) => textRow(at + 1, ...row))
        .join(''),
    });

  it.each([
    ['csv', csv(), csv('Export of 1 May', ''), 'Line 3 has sku, name', 'skipLines: 2'],
    ['csv', csv(), csv('Export;'), 'Line 2 has sku, name', 'skipLines: 1'],
    ['csv', csv(), csv('sep=;', 'Export'), 'Line 3 has sku, name', 'skipLines: 2'],
    ['xlsx', sheet(), sheet('Export of 1 May', 'of plant 0100'), 'Row 3 has sku, name', 'header: 3'],
  ])(
    'an export with a line above its header stops each command before any row: %s %#',
    async (connector, good, bad, has, option) => {
      const file = `products.${connector}`;
      await begin({ [file]: good }, [sourceOf(connector, `./${file}`)]);
      expect((await run('sync')).exitCode).toBe(0);
      world.write(file, bad);
      for (const command of [['check'], ['preview', 'erp'], ['sync']]) {
        const { exitCode, stdout, stderr } = await run(...command);
        const said = `${stdout}${stderr}`.replaceAll(/\s+/g, ' ');
        expect(exitCode, command[0]).toBe(3);
        expect(said).toContain(`${file}: these columns are missing: sku, name. ${has}, so it is the header.`);
        expect(said).toContain(`Remove what stands above the header from the export, or set \`${option}\`.`);
      }
      expect((await run('quarantine', '--json')).stdout).toBe('');
      expect((await run('items', '--json')).stdout).not.toMatch(/"missing":true|"flagged":true/);
    },
  );

  it.each([
    ['csv', csv('Export', 'of plant 0100'), { skipLines: 2 }, csv(), 'skips line 1', 'skipLines: 0'],
    ['csv', csv('Export', 'of plant 0100'), { skipLines: 2 }, csv('Export'), 'skips line 2', 'skipLines: 1'],
    ['xlsx', sheet('Export', 'of plant 0100'), { header: 3 }, sheet(), 'skips row 1', 'header: 1'],
    ['xlsx', sheet('Export'), { header: 4 }, sheet('Export'), 'skips row 2', 'header: 2'],
  ])(
    'a header that an option skips is named with its cure, also in the status: %s %#',
    async (connector, good, options, bad, skips, option) => {
      const file = `products.${connector}`;
      const source = sourceOf(connector, `./${file}`);
      await begin({ [file]: good }, [{ ...source, options: { ...source.options, ...options } }]);
      const [[name, value] = ['', 0]] = Object.entries(options);
      world.write(file, bad);
      for (const [command = '', exit, ...rest] of [
        ['check', 3],
        ['preview', 3, 'erp'],
        ['sync', 3],
        ['status', 4],
      ] as const) {
        const { exitCode, stdout, stderr } = await run(command, ...rest);
        const said = `${stdout}${stderr}`.replaceAll(/\s+/g, ' ');
        expect(exitCode, command).toBe(exit);
        expect(said).toContain(`\`${name}: ${value}\` ${skips}, which has sku, name, so it is the header.`);
        expect(said).toContain(
          `Set \`${option}\` (under the stream, if other files of the source need \`${name}: ${value}\`).`,
        );
      }
    },
  );

  it('a file that is shorter than the lines that are skipped is not called empty', async () => {
    const source = sourceOf('csv', './products.csv');
    await begin({ 'products.csv': 'sku;name\n' }, [{ ...source, options: { ...source.options, skipLines: 2 } }]);
    const { exitCode, stdout } = await run('check');
    const said = stdout.replaceAll(/\s+/g, ' ');
    expect(exitCode).toBe(3);
    expect(said).toContain('products.csv has no header row below the lines that `skipLines: 2` skips.');
    expect(said).toContain('If one of these lines is the header, set `skipLines` to the number of lines above it');
  });

  const TITLE = 'Export of 15 March';
  it.each([
    ['csv', [[TITLE, '', '']], 'column1', 'Line 2 has 3 values', 'skipLines: 1'],
    [
      'csv',
      [
        [TITLE, '', ''],
        ['Prices', '', ''],
      ],
      'column',
      'Line 3 has 3 values',
      'skipLines: 2',
    ],
    [
      'csv',
      [
        [TITLE, '', ''],
        ['', '', ''],
      ],
      'column',
      'Line 3 has 3 values',
      'skipLines: 2',
    ],
    ['csv', [[TITLE]], 'column1', 'Line 2 has 3 values', 'skipLines: 1'],
    ['xlsx', [[TITLE]], 'A', 'Row 2 has 3 values', 'header: 2'],
    ['xlsx', [[TITLE], [], ['Prices']], 'A', 'Row 4 has 3 values', 'header: 4'],
  ])(
    'an export with a line above its header is suspected where the config names none of the columns: %s %#',
    async (connector, above, first, has, option) => {
      const lines = [...above, ['sku', 'name', 'GTIN'], ...rows.map((row) => [...row, ''])];
      const sheets = workbook({ sheet: lines.map((row, at) => textRow(at + 1, ...row)).join('') });
      const mapping = { to: 'product', key: `row.${first}`, fields: { sku: `row.${first}`, name: `row.${first}` } };
      const path = `products.${connector}`;
      const source = { ...sourceOf(connector, `./${path}`), mappings: [mapping] };
      const options = { ...source.options, key: [first] };
      await begin({ [path]: connector === 'csv' ? lines.map((row) => row.join(';')).join('\n') : sheets }, [
        { ...source, options },
      ]);
      const { exitCode, stdout } = await run('check');
      const said = stdout.replaceAll(/\s+/g, ' ');
      expect(exitCode).toBe(3);
      expect(said).toContain(`${has}, and the header has one name, so the header may be a title.`);
      expect(said).toContain(`If it is a title, set \`${option}\`, and write the names of the columns in the config.`);
    },
  );

  it('an export without a header is not suspected to have a title', async () => {
    const source = sourceOf('xlsx', './products.xlsx');
    const options = { ...source.options, header: false, key: ['A'] };
    const mappings = [{ to: 'product', key: 'row.A', fields: { sku: 'row.A', name: 'row.D' } }];
    await begin({ 'products.xlsx': sheet() }, [{ ...source, options, mappings }]);
    const { exitCode, stdout } = await run('check');
    expect(exitCode).toBe(3);
    expect(stdout).toContain('the column D is missing');
    expect(stdout).not.toContain('title');
  });

  it('an export whose first line names the delimiter is the same export', async () => {
    await begin({ 'products.csv': csv() }, [sourceOf('csv', './products.csv')]);
    await run('sync');
    world.write('products.csv', csv('sep=;'));
    expect((await run('check')).exitCode).toBe(0);
    const { exitCode, json } = await run('sync', '--json');
    expect(exitCode).toBe(0);
    expect(json()).toMatchObject({ runs: [{ read: 3, unchanged: 3 }] });
  });

  it('an export without rows is stopped by its header too, and one of several files is named', async () => {
    await begin({ 'p-1.csv': csv(), 'p-2.csv': 'No data' }, [sourceOf('csv', './p-*.csv')]);
    for (const command of [['check'], ['preview', 'erp'], ['sync']]) {
      const { exitCode, stdout, stderr } = await run(...command);
      expect(exitCode, command[0]).toBe(3);
      expect(`${stdout}${stderr}`).toContain('p-2.csv: these columns are missing: sku, name.');
    }
  });
});
