import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import iconv from 'iconv-lite';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { cli } from '../../support/cli/cli.ts';
import { runHere } from '../../support/cli/cli-here.ts';
import { fixtureFolder, temporaryFolder } from '../../support/connectors/connector-reader.ts';
import { describeRealExport } from '../../support/connectors/real-exports.ts';
import { textRow, workbook, zip } from '../../support/connectors/workbook.ts';
import { API_KEY, createWorld } from '../../support/worlds/world.ts';

let folder: Awaited<ReturnType<typeof temporaryFolder>>;
beforeEach(async () => {
  folder = await temporaryFolder({});
});
afterEach(() => folder[Symbol.asyncDispose]());

function write(name: string, content: string | Buffer): string {
  const path = join(folder.path, name);
  mkdirSync(join(path, '..'), { recursive: true });
  writeFileSync(path, content);
  return path;
}

interface Init {
  recognised: {
    connector: string;
    preset: string | null;
    options: { name: string; value: unknown }[];
    stream: unknown[];
  };
  key: string[];
  mapping: { to: string } | null;
  todo: string[];
  counts: { records: number; mapped: number; excluded: number; items: Record<string, number> };
}

let count = 0;

/** Runs `init --from` with a config of its own, and gives its document. The first case passes at once. */
async function initFrom(file: string): Promise<Init> {
  const config = join(folder.path, `config-${(count += 1)}.yaml`);
  const { exitCode, stdout, stderr, json } = await runHere(['init', '--from', file, '-c', config, '--json']);
  expect({ exitCode, stderr: exitCode === 0 ? '' : stderr + stdout }).toEqual({ exitCode: 0, stderr: '' });
  expect(json()).toMatchObject({ cases: config.replace('.yaml', '.cases.yaml') });
  const tested = await runHere(['test', '-c', config, '--json']);
  expect(tested.json()).toMatchObject({ ok: true, passed: 1, failed: 0 });
  return json() as unknown as Init;
}

const ARTICLES = [
  'Artikelnummer;Bezeichnung;Gewicht;Ursprungsland;EAN',
  ...Array.from({ length: 40 }, (_, at) => `A-${at};Lüfter groß ${at};${at},25;Deutschland;4006381333931`),
].join('\r\n');

describe('init --from, check and preview in an empty folder', () => {
  it('init names values that an earlier conversion has damaged by file, line and column', async () => {
    const config = join(folder.path, 'damaged.yaml');
    const some = write('some.csv', 'sku;name\nA1;Gr\ufffdn\nA2;Gelb\nA3;Rot\n');
    const { stdout } = await runHere(['init', '--from', some, '-c', config]);
    expect(stdout.replaceAll(/\s+/g, ' ')).toContain('1 value is damaged (U+FFFD): some.csv, line 2, column name.');
    const all = write('all.csv', 'sku;name\nA1;Gr\ufffdn\nA2;B\ufffdck\n');
    const { exitCode, stderr } = await runHere(['init', '--from', all, '-c', join(folder.path, 'all.yaml')]);
    expect(exitCode).toBe(2);
    expect(stderr).toContain('all.csv, line 2, column name; all.csv, line 3, column name');
  });

  it('init gives each column its own name where two names look the same', async () => {
    const config = join(folder.path, 'twins.yaml');
    const file = write('twins.csv', 'sku;name;Gr\u00f6sse;Gro\u0308sse\nA1;Pump;1;2\nA2;Seal;1;4\n');
    const { stdout } = await runHere(['init', '--from', file, '-c', config]);
    expect(stdout.replaceAll(/\s+/g, ' ')).toContain('more than once, in characters that look the same');
    const { sources } = parse(readFileSync(config, 'utf8')) as { sources: { options: { columns?: string[] } }[] };
    expect(sources[0]?.options.columns).toEqual(['sku', 'name', 'Gr\u00f6sse', 'Gr\u00f6sse_2']);
    expect((await runHere(['preview', 'erp', '-c', config])).stdout).toContain('2 records: 2 mapped');
    const book = write(
      'twins.xlsx',
      workbook({
        sheet:
          textRow(1, 'sku', 'Gr\u00f6sse', 'Gro\u0308sse') + textRow(2, 'A1', 'x', 'y') + textRow(3, 'A2', 'v', 'w'),
      }),
    );
    const found = await runHere(['init', '--from', book, '-c', join(folder.path, 'book.yaml')]);
    expect(found.stdout.replaceAll(/\s+/g, ' ')).toContain(
      '2 columns have the name "Gr\u00f6sse" in characters that look the same.',
    );
  });

  it('init says what the first line names as the delimiter, if it does not divide the rows', async () => {
    const file = write('sep.csv', 'sep=|\nsku;name\nA1;x\nA2;y\n');
    const { exitCode, stderr } = await runHere(['init', '--from', file, '-c', join(folder.path, 'sep.yaml')]);
    expect(exitCode).toBe(2);
    expect(stderr).toContain('Its first line sep=| says that "|" divides the values');
    expect(stderr).toContain('Correct the first line of the file, or remove it.');
  });

  it('init writes the names of columns without what nobody can see', async () => {
    const file = write('parts.csv', '\ufeff\ufeffsku\u00a0;na\u0308me\nA1;Pump\nA2;Seal\n');
    const config = join(folder.path, 'unseen.yaml');
    await runHere(['init', '--from', file, '-c', config]);
    const text = readFileSync(config, 'utf8');
    expect(text).toContain('key: row.sku');
    for (const unseen of ['\ufeff', '\u00a0', '\u0308']) expect(text).not.toContain(unseen);
  });

  it('init --from, check and preview in an empty folder go from a file to products at the platform', async () => {
    const world = await createWorld({ config: { sources: [] } });
    try {
      write('exports/artikel.csv', iconv.encode(ARTICLES, 'windows-1252'));
      const env = { DPP_BASE_URL: world.baseUrl, DPP_API_KEY: API_KEY };
      const run = (...args: string[]) => cli(args, { cwd: folder.path, env });
      const init = await run('init', '--from', 'exports/artikel.csv');
      expect(init).toMatchObject({ exitCode: 0, stderr: '' });
      expect(init.stdout).toContain('erp/artikel  40 records: 40 mapped');
      expect(init.stdout).toContain(' preview erp --issues\n');
      expect(init.stdout).not.toContain('set DPP_');
      const without = (set: Record<string, string>) =>
        cli(['init', '--from', 'exports/artikel.csv', '-c', 'other.yaml', '--force'], { cwd: folder.path, env: set });
      expect((await without({ DPP_BASE_URL: '', DPP_API_KEY: '' })).stdout).toContain(
        '  set DPP_API_KEY to the key of the platform, and DPP_BASE_URL to the address of the platform;',
      );
      expect((await without({ DPP_BASE_URL: world.baseUrl, DPP_API_KEY: '' })).stdout).toContain(
        '  set DPP_API_KEY to the key of the platform\n',
      );
      expect(readFileSync(join(folder.path, 'dpp-sync.yaml'), 'utf8')).toContain(
        'gtin: gtin(row.EAN) # 40 of 40 values are GTINs with a right check digit',
      );
      const marked = readFileSync(join(folder.path, 'dpp-sync.yaml'), 'utf8').split('\n');
      const line = marked.findIndex((text) => text.includes('# TODO ')) + 1;
      expect(await run('check')).toMatchObject({
        exitCode: 0,
        stderr: `warning: line ${line}: The line has a TODO. Correct or keep each such line, and delete the word TODO.\n`,
      });
      expect((await run('preview', 'erp', '--json')).json()).toMatchObject({ counts: { records: 40, mapped: 40 } });
      expect((await run('sync')).exitCode).toBe(0);
      expect(world.contents().products).toHaveLength(40);
      expect(world.contents().products).toContainEqual(
        expect.objectContaining({ sku: 'A-3', name: 'Lüfter groß 3', country_of_origin: 'DE', gtin: '04006381333931' }),
      );
    } finally {
      await world.remove();
    }
  });

  it('init --from, check and preview need neither address nor key until the platform is asked', async () => {
    write('artikel.csv', ARTICLES);
    const run = (...args: string[]) => cli(args, { cwd: folder.path });
    expect(await run('init', '--from', 'artikel.csv')).toMatchObject({ exitCode: 0, stderr: '' });
    expect(await run('preview', 'erp', '--limit', '1')).toMatchObject({ exitCode: 0, stderr: '' });
    expect(existsSync(join(folder.path, 'data'))).toBe(false);
  });

  it('init --from, check and preview say what to do with a line that needs a person', async () => {
    const config = join(folder.path, 'todo.yaml');
    const file = write('descripcion.csv', 'Ref;Texto\nA1;Mesa de roble\nA2;Silla de pino\n');
    const { stdout } = await runHere(['init', '--from', file, '-c', config]);
    expect(stdout).toMatch(/read the \d lines with TODO in .*: correct or keep each line, and delete/);
    expect(readFileSync(config, 'utf8')).toMatch(/# TODO keep it if the column is right; no column has a known name/);
  });

  it('init --from writes the next commands into the config with the file that they need', async () => {
    const file = write('artikel.csv', ARTICLES);
    const config = join(folder.path, 'my parts.yaml');
    await runHere(['init', '--from', file, '-c', config]);
    const text = readFileSync(config, 'utf8');
    expect(text).toContain(`#   dpp-sync -c '${config}' preview erp `);
    expect(text).toContain(`#   dpp-sync -c '${config}' check `);
  });

  it('init --from leaves a config that is there alone, unless it is to replace it', async () => {
    const file = write('artikel.csv', ARTICLES);
    const config = write('mine.yaml', 'mine');
    const refused = await runHere(['init', '--from', file, '-c', config, '--json']);
    expect(refused.exitCode).toBe(2);
    expect(refused.json()).toMatchObject({ error: { code: 'usage', message: expect.stringContaining('--force') } });
    expect((await runHere(['init', '-c', config])).exitCode).toBe(2);
    expect(readFileSync(config, 'utf8')).toBe('mine');
    expect((await runHere(['init', '--from', file, '-c', config, '--force'])).exitCode).toBe(0);
    expect(readFileSync(config, 'utf8')).toContain('Artikelnummer');
  });

  it('init writes the example config without a file', async () => {
    const config = join(folder.path, 'new.yaml');
    const cases = join(folder.path, 'new.cases.yaml');
    expect((await runHere(['init', '-c', config, '--json'])).json()).toEqual({
      ok: true,
      file: config,
      from: null,
      cases,
    });
    expect(readFileSync(config, 'utf8')).toContain('An example of a config');
    expect((await runHere(['test', '-c', config])).exitCode).toBe(0);
    for (const file of [config, cases]) {
      const [, schema = ''] = /^# yaml-language-server: \$schema=(\S+)\n/.exec(readFileSync(file, 'utf8')) ?? [];
      expect(existsSync(join(folder.path, schema)), schema).toBe(true);
      expect(schema).toMatch(/^\.\.?\/.*\.schema\.json$/);
    }
  });

  it('init writes a first case of a row that becomes an item, and keeps cases that are there', async () => {
    const file = write('articles.csv', 'sku;name;country\nA1;;DE\nA2;Pump;DE\n');
    const config = join(folder.path, 'first.yaml');
    const cases = join(folder.path, 'first.cases.yaml');
    const { stdout } = await runHere(['init', '--from', file, '-c', config]);
    expect(stdout).toContain(`✓ wrote ${cases} with a first case of the mappings: a row, and what it becomes now.\n`);
    expect(stdout).toContain(' test\n');
    expect(parse(readFileSync(cases, 'utf8'))).toMatchObject({
      cases: [{ name: 'row A2 of articles', expect: { items: [{ kind: 'product', key: 'A2' }] } }],
    });
    writeFileSync(cases, 'mine');
    const again = await runHere(['init', '--from', file, '-c', config, '--force', '--json']);
    expect(again.json()).toMatchObject({ ok: true, cases: null });
    const byHand = await runHere(['init', '-c', config, '--force', '--json']);
    expect(byHand.json()).toMatchObject({ ok: true, cases: null });
    expect(readFileSync(cases, 'utf8')).toBe('mine');
  });
});

describe('init --from recognises', () => {
  it('init --from recognises the same in a packed file', async () => {
    const text = Buffer.from(ARTICLES);
    const packed = [write('a.csv.gz', gzipSync(text)), write('b.zip', zip([{ name: 'in/a.csv', data: text }]))];
    for (const file of packed) {
      const found = await initFrom(file);
      expect(found).toMatchObject({ recognised: { connector: 'csv' }, key: ['Artikelnummer'], counts: { mapped: 40 } });
    }
  });

  it('init --from needs no key of the stream where the article number is within an object', async () => {
    const features = Array.from({ length: 5 }, (_, at) => ({
      type: 'item',
      properties: { sku: `A-${at}`, name: 'Pump' },
    }));
    const found = await initFrom(write('nested.json', JSON.stringify({ features })));
    expect(found).toMatchObject({ key: [], counts: { mapped: 5 } });
    expect(found.todo.filter((line) => line.includes('key'))).toEqual([]);
    expect(readFileSync(join(folder.path, `config-${count}.yaml`), 'utf8')).toContain(
      'key: row.properties.sku # filled and different in all 5 records',
    );
  });

  it('init --from recognises the header below a title that is as wide as the table, in CSV and in a workbook', async () => {
    const rows = [
      ['Artikelstamm Tischlerei Wald GmbH, Stand 15.03.2025', '', '', ''],
      ['', '', '', ''],
      ['Artikelnummer', 'Bezeichnung', 'Ursprungsland', 'EAN'],
      ['M-1', 'Esstisch', 'Deutschland', '4006381333931'],
      ['M-2', 'Stuhl', '', ''],
    ];
    const csv = await initFrom(write('moebel.csv', rows.map((row) => row.join(';')).join('\r\n')));
    const sheet = rows.map((row, at) => textRow(at + 1, ...row)).join('');
    const xlsx = await initFrom(write('moebel.xlsx', workbook({ sheet })));
    expect(csv.recognised.options).toContainEqual(expect.objectContaining({ name: 'skipLines', value: 2 }));
    expect(xlsx.recognised.stream).toEqual([expect.objectContaining({ name: 'header', value: 3 })]);
    for (const found of [csv, xlsx]) {
      expect(found).toMatchObject({ key: ['Artikelnummer'], counts: { records: 2, mapped: 2 } });
      expect(JSON.stringify(found.mapping)).toContain('gtin(row.EAN)');
    }
  });

  it('init --from recognises the row of the header in a workbook', async () => {
    const sheet =
      textRow(1, 'Export') +
      textRow(3, 'sku', 'name', 'EAN') +
      textRow(4, 'A', 'Pump', '') +
      textRow(5, 'B', 'Fan', '');
    const found = await initFrom(write('articles.xlsx', workbook({ sheet })));
    expect(found.recognised).toMatchObject({ connector: 'xlsx', stream: [{ name: 'header', value: 3 }] });
    expect(found).toMatchObject({ key: ['sku'], counts: { records: 2, mapped: 2 } });
  });

  it('init --from recognises the sheet with the records behind a cover, and names the other sheets', async () => {
    const sheets = [{ name: 'Cover' }, { name: 'Codes' }, { name: 'Old', state: 'hidden' }, { name: 'Articles: all' }];
    const sheet = textRow(1, 'sku', 'name', 'EAN') + textRow(2, 'A', 'Pump', '1') + textRow(3, 'B', 'Fan', '2');
    const small = (rows: string) => Buffer.from(`<worksheet><sheetData>${rows}</sheetData></worksheet>`);
    const parts = [
      { name: 'xl/worksheets/sheet1.xml', data: small(textRow(1, 'Price list of 2026')) },
      { name: 'xl/worksheets/sheet2.xml', data: small(textRow(1, 'code') + textRow(2, 'x') + textRow(3, 'y')) },
    ];
    const found = await initFrom(write('sheets.xlsx', workbook({ sheets, sheet, parts })));
    expect(found.recognised).toMatchObject({
      stream: [{ name: 'sheet', value: 'Articles: all', reason: 'of the 3 sheets the one with the most cells' }],
      hints: ['Another stream could be of the sheet "Codes", which has 3 rows.'],
    });
    expect(found).toMatchObject({ key: ['sku'], counts: { records: 2, mapped: 2 } });
  });

  it.each<[string, string, string | null, object]>([
    ['bmecat', 'catalog-2005.xml', 'bmecat-2005', { product: 2, bom_item: 2 }],
    ['bmecat', 'catalog-1.2.xml', 'bmecat-1.2', { product: 2, bom_item: 2 }],
    ['bmecat', 'update-products.xml', 'bmecat-2005', { product: 1 }],
    ['gdsn', 'notification.xml', 'gdsn', { product: 1 }],
    ['sap-idoc', 'matmas.xml', 'sap-idoc', { product: 1, material: 1 }],
    ['sap-idoc', 'bommat.xml', 'sap-idoc', { bom_item: 2 }],
    ['xml', 'parts.xml', null, {}],
    ['json', 'products-1.ndjson', null, {}],
  ])('init --from recognises %s: %s', async (connector, name, preset, items) => {
    const found = await initFrom(join(fixtureFolder(connector), name));
    expect(found).toMatchObject({ recognised: { connector, preset }, counts: { items } });
  });

  it('init --from recognises a large file by its first records, and says so', async () => {
    const rows = Array.from({ length: 20_050 }, (_, at) => `A${at};Pump\n`);
    const found = await initFrom(write('large.csv', `sku;name\n${rows.join('')}`));
    expect(found).toMatchObject({
      sample: { records: 20_000, isWhole: false },
      mapping: { key: { reason: 'filled and different in the first 20,000 records' } },
      counts: { records: 20_050 },
    });
  });

  it('init --from recognises a Polish export with a doubled row, an unknown country and an empty name', async () => {
    const lamps = [
      'Indeks;Nazwa wyrobu;Kraj pochodzenia;Materiał;Masa [kg];Cena netto',
      'LMP-001;Lampa stołowa „Żuraw”;Polska;Stal;1,450;149,00',
      'LMP-002;Lampa podłogowa;Czechy;Drewno;3,200;329,00',
      'LMP-003;;Polska;Szkło;0,680;89,90',
      'LMP-004;Kinkiet „Łuk”;Plska;Stal;1,100;119,00',
      'LMP-005;Żyrandol;Słowacja;Mosiądz;6,750;1 249,00',
      'LMP-005;Żyrandol;Słowacja;Mosiądz;6,750;1 249,00',
    ];
    const found = await initFrom(write('lampy.csv', iconv.encode(lamps.join('\r\n'), 'windows-1250')));
    expect(found).toMatchObject({
      recognised: {
        options: [{ name: 'delimiter' }, { name: 'encoding', value: 'windows-1250' }],
        hints: ['1 record is equal to an earlier one in all columns: line 7 repeats line 6.'],
      },
      key: ['Indeks'],
      todo: ['country_of_origin: 5 of 6 values are countries, not "Plska"'],
      counts: { records: 6, quarantined: 2, items: { product: 3 } },
    });
    const text = readFileSync(join(folder.path, `config-${count}.yaml`), 'utf8');
    expect(text).toContain('name: row["Nazwa wyrobu"]');
    expect(text.match(/# TODO /g)).toHaveLength(found.todo.length);
  });

  it('init --from recognises a file without a column for a name, and the config then sends no name by a guess', async () => {
    const found = await initFrom(write('x.csv', 'sku;a;b\n1;some words;other words\n2;more words;and others\n'));
    expect(found.todo).toEqual([
      expect.stringContaining('name: required'),
      expect.stringContaining('country_of_origin: no column has a known name for it, and none has names of countries'),
    ]);
    expect(found.counts).toMatchObject({ records: 2, mapped: 0, quarantined: 2 });
    expect(parse(readFileSync(join(folder.path, `config-${count}.cases.yaml`), 'utf8'))).toMatchObject({
      cases: [{ expect: { issue: { code: 'field.required', field: 'name' } } }],
    });
  });
});

describe('init --from refuses, and writes nothing,', () => {
  const hostile: [string, () => string | Buffer, string][] = [
    ['an empty file', () => '', 'is empty'],
    ['a file with only a byte order mark', () => '\ufeff\r\n', 'is empty'],
    ['a file with a header alone', () => 'sku;name\n', 'no record'],
    ['bytes', () => Buffer.from(Array.from({ length: 5_000 }, (_, at) => at % 256)), 'not a text file'],
    ['an archive with an empty file', () => zip([{ name: 'a.csv', data: Buffer.alloc(0) }]), 'is empty'],
    [
      'an archive that is cut off',
      () => zip([{ name: 'a.csv', data: Buffer.from(ARTICLES) }]).subarray(0, 60),
      'cut off',
    ],
    ['a value without an end', () => `sku;name\nA;"${'x'.repeat(20_000_000)}`, 'no record'],
    ['an object without an end', () => `[{"sku":"${'x'.repeat(20_000_000)}`, ''],
    ['lists without an end', () => '['.repeat(3_000_000), ''],
    ['elements without an end', () => '<a><b>'.repeat(500_000), ''],
    ['a zip bomb', () => gzipSync(Buffer.alloc(100_000_000, 'a')), 'not recognised'],
  ];

  it.each(hostile)('init --from refuses, and writes nothing: %s', async (_about, content, message) => {
    const file = write('hostile.csv', content());
    const config = join(folder.path, 'dpp-sync.yaml');
    const { exitCode, json } = await runHere(['init', '--from', file, '-c', config, '--json']);
    expect([2, 3]).toContain(exitCode);
    expect(json()).toMatchObject({ ok: false, error: { message: expect.stringContaining(message) } });
    expect(existsSync(config)).toBe(false);
  });

  it('init --from refuses a folder, and a file that does not exist, and writes nothing', async () => {
    for (const file of [folder.path, join(folder.path, 'nowhere.csv')]) {
      const { exitCode, json } = await runHere(['init', '--from', file, '-c', join(folder.path, 'x.yaml'), '--json']);
      expect(exitCode).toBe(2);
      expect(json()).toMatchObject({ error: { code: 'usage' } });
    }
  });
});

describeRealExport('.', 'init --from real exports', (exports) => {
  const from = (file: string) => initFrom(join(exports, file));
  const optionsOf = ({ recognised }: Init) =>
    Object.fromEntries(recognised.options.map(({ name, value }) => [name, value]));

  it.each<[string, object, object, number, number]>([
    ['adventureworks/Product.csv', { delimiter: '\t', header: false }, { key: ['column1'] }, 504, 504],
    [
      'adventureworks/BillOfMaterials.csv',
      { delimiter: '\t', header: false },
      { mapping: { to: 'bom_item' } },
      2_679,
      0,
    ],
    ['adventureworks/ProductDescription.csv', { delimiter: '\t', quote: null }, { key: ['column1'] }, 762, 762],
    ['adventureworks/ProductModel.csv', { delimiter: '+|', recordDelimiter: '&|\n', quote: null }, {}, 128, 0],
    ['adventureworks/ProductCategory.csv', { header: false }, {}, 4, 0],
    ['adventureworks/ProductSubcategory.csv', { header: false }, {}, 37, 37],
    ['adventureworks/UnitMeasure.csv', { header: false }, { key: ['column1'] }, 38, 0],
    ['adventureworks/ProductModelProductDescriptionCulture.csv', { header: false }, { key: ['column2'] }, 762, 0],
    ['akeneo-icecat/products.csv', { delimiter: ';', encoding: 'utf-8' }, { key: ['sku'] }, 1_239, 1_234],
    ['akeneo-icecat/product_models.csv', { delimiter: ';' }, { key: ['code'] }, 81, 80],
    ['akeneo-icecat/families.csv', { delimiter: ';' }, { key: ['code'] }, 17, 17],
    ['akeneo-icecat/attributes.csv', { delimiter: ';' }, { key: ['code'] }, 77, 77],
    ['akeneo-icecat/product_export_with_non_utf8_characters.csv', { encoding: 'utf-8' }, { key: ['sku'] }, 112, 111],
    ['akeneo-icecat/products_with_floats.xlsx', {}, { key: ['sku'], recognised: { connector: 'xlsx' } }, 2, 0],
    ['akeneo-icecat/products_with_integers.xlsx', {}, { key: ['sku'] }, 2, 0],
    ['akeneo-icecat/products_with_string_dates.xlsx', {}, { key: ['sku'] }, 2, 0],
    ['bmecat/bmecat101_new_catalog_ok.xml', {}, { recognised: { preset: 'bmecat-1.2' } }, 4, 2],
    ['bmecat/sap_sample.xml', {}, { recognised: { preset: 'bmecat-1.2' } }, 7, 4],
    ['bmecat/crossbase_kstools_dtd.xml', {}, { recognised: { preset: 'bmecat-1.2' } }, 14, 14],
    ['inventree/inventree_parts_company_bom.json', {}, { recognised: { preset: 'inventree' } }, 642, 639],
  ])('init --from reads the real export %s', async (file, options, expected, records, mapped) => {
    const found = await from(file);
    expect(optionsOf(found)).toMatchObject(options);
    expect(found).toMatchObject(expected);
    expect({ records: found.counts.records, mapped: found.counts.mapped }).toEqual({ records, mapped });
  });
});

describe('init --preset', () => {
  it('names the page of docs/connectors for each preset', async () => {
    const root = join(import.meta.dirname, '../../..');
    for (const file of readdirSync(join(root, 'config/presets'))) {
      const config = join(folder.path, `page-of-${file}`);
      const { stdout } = await runHere(['init', '--preset', file.replace('.yaml', ''), '-c', config]);
      const [, page] = /^ {2}read (docs\/connectors\/[\w-]+\.md)$/m.exec(stdout) ?? [];
      expect(page, file).toBeDefined();
      expect(readFileSync(join(root, page ?? ''), 'utf8'), file).toMatch(/^# /);
    }
  });

  it('writes each preset as a config, and names all of them if there is no such preset', async () => {
    const folderOfPresets = join(import.meta.dirname, '../../../config/presets');
    const names = readdirSync(folderOfPresets).map((file) => file.replace('.yaml', ''));
    expect(names).toContain('bmecat-2005');
    for (const name of names) {
      const config = join(folder.path, `${name}.yaml`);
      const { exitCode, json } = await runHere(['init', '--preset', name, '-c', config, '--json']);
      expect({ exitCode, document: json() }).toEqual({
        exitCode: 0,
        document: { ok: true, file: config, preset: name },
      });
      expect(readFileSync(config, 'utf8')).toBe(readFileSync(join(folderOfPresets, `${name}.yaml`), 'utf8'));
    }
    const unknown = await runHere(['init', '--preset', '../profiles/default', '-c', join(folder.path, 'x.yaml')]);
    expect(unknown).toMatchObject({ exitCode: 2, stderr: expect.stringContaining(names.sort().join(', ')) });
    expect(existsSync(join(folder.path, 'x.yaml'))).toBe(false);
    const both = await runHere(['init', '--preset', 'gdsn', '--from', 'a.csv', '-c', join(folder.path, 'x.yaml')]);
    expect(both).toMatchObject({ exitCode: 2, stderr: expect.stringContaining('cannot be used together') });
  });
});
