import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse as parseCsv } from 'csv-parse/sync';
import iconv from 'iconv-lite';
import { afterEach, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { runHere } from '../../support/cli/cli-here.ts';
import { describeRealExport } from '../../support/connectors/real-exports.ts';
import { loadText, REPOSITORY } from '../../support/worlds/config-folder.ts';
import { API_KEY, createWorld, type World } from '../../support/worlds/world.ts';

let world: World | undefined;
afterEach(async () => {
  await world?.remove();
  world = undefined;
});

const textOf = (preset: string) => readFileSync(join(REPOSITORY, `config/presets/${preset}.yaml`), 'utf8');

/** A world whose config has the sources of a preset, over these files. */
async function begin(preset: string, files: Record<string, string | Buffer>): Promise<World> {
  const { sources } = parse(textOf(preset)) as { sources: unknown[] };
  world = await createWorld({ config: { sources }, files });
  return world;
}

interface Preview {
  streams: { stream: string; records: { status: string; issues: { code: string }[] }[] }[];
}

async function preview({ configFile }: World, source: string): Promise<Preview['streams']> {
  const shown = await runHere(['preview', source, '-c', configFile, '--json', '--limit', '10']);
  expect(shown.exitCode).toBe(0);
  return (shown.json() as unknown as Preview).streams;
}

it.each(['akeneo-csv', 'inventree', 'sap-flat-files'])(
  'the preset %s is a whole config without a problem',
  async (preset) => {
    const env = { DPP_BASE_URL: 'https://dpp.example.com', DPP_API_KEY: API_KEY };
    const { sources, warnings } = await loadText(textOf(preset), { env });
    expect(sources).toHaveLength(1);
    expect(warnings).toEqual([]);
  },
);

describe('the preset sap-flat-files', () => {
  const pad = (...cells: [text: string, width: number][]) => cells.map(([text, width]) => text.padEnd(width)).join('');
  const material = (number: string, kind: string, name: string, country: string, gtin: string, deleted = '') =>
    pad(
      [number.padStart(18, '0'), 18],
      [kind, 4],
      [name, 40],
      ['GRP1', 9],
      [country, 3],
      [gtin, 18],
      [deleted, 1],
    ).trimEnd();
  const item = (position: string, part: string, quantity: string, unit: string, until: string) =>
    pad(
      ['I', 1],
      [position, 4],
      [part.padStart(18, '0'), 18],
      [quantity.padStart(14), 14],
      [unit, 3],
      ['20240101', 8],
      [until, 8],
    );
  const materials = [
    'MATERIALS 20240301',
    material('100', 'FERT', 'Rohrventilator größer', 'DE', '4006381333931'),
    material('200', 'ROH', 'Stahlblech', 'AT', ''),
    material('300', 'HALB', 'Motor', '', ''),
    material('400', 'FERT', 'Alt', 'DE', '', 'X'),
  ];
  const boms = [
    `H00000001${'100'.padStart(18, '0')}`,
    item('0010', '200', '2.500', 'KG', '99991231'),
    item('0020', '300', '1', 'ST', '20301231'),
  ];

  it('the preset sap-flat-files previews and syncs its example without an issue', async () => {
    const files = {
      'exports/materials.txt': iconv.encode(`${materials.join('\r\n')}\r\n`, 'windows-1252'),
      'exports/boms.txt': `${boms.join('\n')}\n`,
    };
    const given = await begin('sap-flat-files', files);
    for (const { records } of await preview(given, 'sap')) {
      expect(records.flatMap(({ issues }) => issues)).toEqual([]);
    }
    const { runs } = await given.sync();
    for (const run of runs) expect(run).toMatchObject({ quarantined: 0, missing: 0 });
    const { products, materials: made, bomItems } = given.contents();
    expect(products).toMatchObject([
      { sku: '000000000000000100', name: 'Rohrventilator größer', country_of_origin: 'DE', gtin: '04006381333931' },
      { sku: '000000000000000300', name: 'Motor' },
    ]);
    expect(made).toMatchObject([{ code: '000000000000000200', origin_country: 'AT' }]);
    expect(bomItems).toHaveLength(2);
  });
});

describeRealExport('akeneo-icecat', 'the preset akeneo-csv', (folder) => {
  // Vitest also runs this function for a skipped suite, so the file may be absent.
  const file = (name: string) => (existsSync(folder) ? readFileSync(join(folder, name), 'utf8') : '');
  const rowsOf = (text: string) =>
    parseCsv<Record<string, string>>(text, { columns: true, delimiter: ';' }) as Record<string, string>[];
  const products = rowsOf(file('products.csv'));
  const models = new Map(rowsOf(file('product_models.csv')).map((row) => [row['code'] ?? '', row]));

  /** Of a row, or of the models above it. */
  const inherited = (row: Record<string, string> | undefined, name: string): string => {
    if (row === undefined) return '';
    return (row[name] ?? '') === '' ? inherited(models.get(row['parent'] ?? ''), name) : (row[name] ?? '');
  };
  const hasWrongDigit = ({ ean = '' }: Record<string, string>): boolean => {
    const digits = ean.padStart(14, '0').split('').map(Number);
    const sum = digits.slice(0, 13).reduce((total, digit, index) => total + digit * (index % 2 === 0 ? 3 : 1), 0);
    return ean !== '' && (10 - (sum % 10)) % 10 !== digits[13];
  };

  it('the preset akeneo-csv maps all products but those with a wrong EAN, and variants inherit from models', async () => {
    const good = products.filter((row) => !hasWrongDigit(row));
    const given = await begin('akeneo-csv', {
      'exports/products.csv': file('products.csv'),
      'exports/product_models.csv': file('product_models.csv'),
    });
    const { runs } = await given.sync();
    expect(runs.find(({ stream }) => stream === 'products')).toMatchObject({
      read: 1_239,
      quarantined: products.length - good.length,
      excluded: 0,
    });
    const made = new Map(given.contents().products.map((product) => [product['sku'], product]));
    expect(made.size).toBe(good.length);
    for (const row of good) {
      const product = made.get(row['sku'] ?? '');
      expect(product?.['name']).toBe(inherited(row, 'name') || row['erp_name-en_US']);
      const hasDescription = inherited(row, 'description-en_US-ecommerce') !== '';
      expect((product?.['description'] ?? '') !== '').toBe(hasDescription);
    }
  });

  it('the preset akeneo-csv gives variants the values of their models where their own columns are empty', async () => {
    const quoted = (values: string[]) => `${values.map((value) => `"${value.replaceAll('"', '""')}"`).join(';')}\n`;
    const variants = products
      .filter((row) => row['parent'] !== '')
      .map((row): Record<string, string> => ({ ...row, name: '', ean: '', 'description-en_US-ecommerce': '' }));
    const export_ = [Object.keys(variants[0] ?? {}), ...variants.map((row) => Object.values(row))].map(quoted).join('');
    const given = await begin('akeneo-csv', {
      'exports/products.csv': export_,
      'exports/product_models.csv': file('product_models.csv'),
    });
    const { runs } = await given.sync();
    // The export lacks some of the models, and some models have no name.
    const nameOf = (row: Record<string, string>) => inherited(row, 'name') || (row['erp_name-en_US'] ?? '');
    const good = variants.filter((row) => models.has(row['parent'] ?? '') && nameOf(row) !== '');
    expect(runs.find(({ stream }) => stream === 'products')).toMatchObject({
      read: 240,
      quarantined: 240 - good.length,
    });
    const made = new Map(given.contents().products.map(({ sku, name }) => [sku, name]));
    expect(made).toEqual(new Map(good.map((row) => [row['sku'], nameOf(row)])));
    expect(new Set(made.values()).size).toBeGreaterThan(20);
  });
});

describeRealExport('inventree', 'the preset inventree', (folder) => {
  it('the preset inventree maps the parts and BOM lines of one file', async () => {
    const export_ = readFileSync(join(folder, 'inventree_parts_company_bom.json'));
    const given = await begin('inventree', { 'exports/inventree.json': export_ });
    const { runs } = await given.sync();
    expect(runs).toMatchObject([
      { stream: 'parts', read: 414, quarantined: 0 },
      { stream: 'boms', read: 228, quarantined: 0 },
    ]);
    const { products, materials, bomItems } = given.contents();
    expect(products.length + materials.length).toBe(414);
    expect(bomItems.length).toBeGreaterThan(200);
  });
});
