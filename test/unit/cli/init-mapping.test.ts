import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { columnsOf } from '../../../src/cli/init/columns.ts';
import { yamlLine, yamlValue } from '../../../src/cli/init/config-text.ts';
import { rankOf } from '../../../src/cli/init/field-names.ts';
import { keyColumnsOf } from '../../../src/cli/init/key-columns.ts';
import { productOfBomItems } from '../../../src/cli/init/propose-bom-items.ts';
import { proposeMapping } from '../../../src/cli/init/propose-mapping.ts';
import { sourcesText, todoOf } from '../../../src/cli/init/write-config.ts';
import type { JsonObject } from '../../../src/lib/json.ts';

const rowsOf = (count: number, row: (at: number) => JsonObject) => Array.from({ length: count }, (_, at) => row(at));

function proposed(rows: JsonObject[], name = 'export.csv') {
  const { columns, repeats } = columnsOf(rows);
  const key = keyColumnsOf(columns, { repeats, isWhole: true, owner: productOfBomItems(columns) });
  const mapping = proposeMapping(columns, key, name);
  const line = (wanted: string) =>
    [mapping.key, ...mapping.refs, ...mapping.fields].find((one) => one.name === wanted) ?? null;
  return { mapping, key, line };
}

/** The `sources` section for a file with these records. */
function textOf(rows: JsonObject[]): string {
  return sourcesText(partsOf(rows));
}

function partsOf(rows: JsonObject[]) {
  const { mapping, key } = proposed(rows);
  const recognised = { connector: 'csv', title: 'CSV', options: [], stream: [], hints: [] };
  return { source: 'erp', stream: 's', path: './x.csv', recognised, key, mapping, columns: columnsOf(rows) };
}

describe('the key of records', () => {
  it('is the column that is filled and different in all records; a number of articles goes before other columns', () => {
    const rows = rowsOf(6, (at) => ({
      name: `x${at}`,
      uuid: `u${at}`,
      Artikelnummer: `A${at}`,
      note: at === 3 ? '' : `n${at}`,
    }));
    const { key } = proposed(rows);
    expect(key?.columns.map(({ label }) => label)).toEqual(['Artikelnummer']);
    expect(key?.others.map(({ label }) => label)).toEqual(['uuid', 'name']);
  });

  it('is two columns if only both together are different', () => {
    const rows = rowsOf(12, (at) => ({ STLNR: `B${Math.floor(at / 3)}`, POSNR: `${at % 3}0`, qty: '1' }));
    expect(proposed(rows).key).toMatchObject({ columns: [{ label: 'STLNR' }, { label: 'POSNR' }] });
    expect(proposed(rows).line('key')?.expression).toBe('row.STLNR + "/" + row.POSNR');
  });

  it('of a BOM item has its product in it, although other columns may be different in all records of a small file', () => {
    const line = (at: number) => ({ STLNR: `B${at % 2}`, POSNR: `${at}0`, IDNRK: `M${at}`, MENGE: '1' });
    expect(proposed(rowsOf(6, line)).key).toMatchObject({ columns: [{ label: 'STLNR' }, { label: 'POSNR' }] });
    const rows = ['a', 'b'].flatMap((part) =>
      ['1', '2'].map((POSNR) => ({ STLNR: 'B', POSNR, IDNRK: part, MENGE: '1' })),
    );
    expect(proposed(rows).line('key')?.expression).toBe('row.STLNR + "/" + row.POSNR + "/" + row.IDNRK');
    expect(proposed(rowsOf(6, (at) => ({ ID: `${at}`, ...line(at) }))).line('key')?.expression).toBe('row.ID');
  });

  it('is none if a column has a value twice or none once, and the line says so', () => {
    const rows = [{ sku: 'A' }, { sku: 'A' }, { sku: '' }];
    expect(proposed(rows).key).toBeNull();
    expect(proposed(rows).line('key')).toMatchObject({ expression: 'row.sku', isTodo: true });
    expect(proposed([{ sku: 'A' }, { sku: 'B' }, { sku: 'A ' }]).key).toBeNull();
  });

  it('is a number of articles of which a few are there twice, before names and prices that happen to differ', () => {
    const numbers = ['M-1', 'M-2', 'M-3', 'M-2', 'M-4', 'M-5'];
    const rows = numbers.map((number, at) => ({ 'Art.-Nr.': number, Bezeichnung: `Stuhl ${at}`, Preis: `${at},50` }));
    const { line, key } = proposed(rows);
    expect(key).toMatchObject({ columns: [{ label: 'Art.-Nr.' }], isRepeated: true });
    expect(line('key')).toMatchObject({
      expression: 'row["Art.-Nr."]',
      isTodo: true,
      reason: '5 of 6 values are different. Only one row of each value can be sent, and several rows have "M-2"',
    });
    expect(line('sku')).toMatchObject({ expression: 'row["Art.-Nr."]', isTodo: false });
  });

  it('is no number of articles that is there twice if another column is an id, or if the rows have quantities', () => {
    const numbers = ['M-1', 'M-2', 'M-3', 'M-2', 'M-4', 'M-5'];
    const withIds = numbers.map((number, at) => ({ 'Art.-Nr.': number, uuid: `u${at}` }));
    expect(proposed(withIds).key).toMatchObject({ columns: [{ label: 'uuid' }], isRepeated: false });
    const bom = numbers.map((number, at) => ({ MATNR: number, IDNRK: `part ${at % 4}`, MENGE: '1' }));
    expect(proposed(bom).key).toMatchObject({ columns: [{ label: 'MATNR' }, { label: 'IDNRK' }], isRepeated: false });
  });

  it('says when it has seen only a part of the file', () => {
    const rows = rowsOf(3, (at) => ({ sku: `A${at}` }));
    const { columns, repeats } = columnsOf(rows);
    expect(keyColumnsOf(columns, { repeats, isWhole: false, owner: null })?.reason).toContain('the first 3 records');
  });

  const lamp = (at: number) => ({ Indeks: `LMP-00${at}`, Nazwa: `Lampa ${at}`, Masa: `${at},45` });

  it('counts records that are equal in all columns once', () => {
    const { line } = proposed([...rowsOf(6, lamp), lamp(3)]);
    const reason = 'filled and different in all 7 records, equal ones counted once';
    expect(line('key')).toMatchObject({ expression: 'row.Indeks', isTodo: false, reason: `${reason}; so is Nazwa` });
    expect(line('sku')).toMatchObject({ expression: 'row.Indeks', isTodo: false });
    const pairs = rowsOf(6, (at) => ({ list: `B${at % 3}`, place: `${at % 2}`, text: 'x' }));
    expect(proposed([...pairs, ...pairs]).key?.columns.map(({ label }) => label)).toEqual(['list', 'place']);
  });

  it('is a column of codes of which a few are there twice, whatever it is called, and the SKU follows it', () => {
    const coded = (at: number) => ({ Coś: `LMP-${100 + at}`, Nazwa: 'Lampa', Kolor: at % 2 === 0 ? 'biały' : 'szary' });
    const { line } = proposed([...rowsOf(11, coded), { ...coded(3), Nazwa: 'Kinkiet' }]);
    expect(line('key')).toMatchObject({ expression: 'row["Coś"]', isTodo: true });
    expect(line('key')?.reason).toBe(
      '11 of 12 values are different; one row of each value can be sent, and there are several of "LMP-103"; no other column has codes that differ so often',
    );
    expect(line('sku')).toMatchObject({ expression: 'row["Coś"]', isTodo: true });
    const ambiguous = rowsOf(11, (at) => ({ one: `A-${at}`, two: `B-${at}` }));
    expect(
      proposed([...ambiguous, { one: 'A-3', two: 'B-4' }, { one: 'A-4', two: 'B-4' }]).key?.columns,
    ).not.toHaveLength(1);
  });

  it('is an id of which a few are there twice', () => {
    const rows = [...rowsOf(6, (at) => ({ id: `${at}`, text: 'some words' })), { id: '3', text: 'other words' }];
    expect(proposed(rows).line('key')).toMatchObject({ expression: 'row.id', isTodo: true });
  });

  it('is no column with prices or weights', () => {
    const rows = rowsOf(6, (at) => ({ price: `${at},45`, name: at < 2 ? 'Lamp' : `Lamp ${at}` }));
    expect(proposed(rows).key).toBeNull();
  });

  it('is left to a person with an example if there is none', () => {
    const rows = [
      { Indeks: 'A', Nazwa: '' },
      { Indeks: '', Nazwa: 'x' },
      { Indeks: 'A', Nazwa: 'x' },
    ];
    expect(proposed(rows.map(({ Nazwa }) => ({ Nazwa }))).line('key')).toMatchObject({
      expression: null,
      reason:
        'no column is filled and different in all records; write what identifies an item, for example key: row.Nazwa',
    });
    expect(textOf(rows)).toContain('# key: [Indeks]');
  });
});

describe('the names of columns', () => {
  it.each([
    ['Artikelnummer', 'sku'],
    ['Código artículo', 'sku'],
    ['SUPPLIER_AID', 'sku'],
    ['Bezeichnung', 'name'],
    ['Libellé', 'name'],
    ['Land van herkomst', 'country'],
    ["Pays d'origine", 'country'],
    ['Paese di origine', 'country'],
    ['Stückzahl', 'quantity'],
    ['fields.sub_part', 'component'],
    ['country_of_manufacture', 'country'],
    ['Art.-Nr.', 'sku'],
    ['Pos.', 'position'],
    ['Indeks', 'sku'],
    ['Kod', 'sku'],
    ['Symbol', 'sku'],
    ['Referencia', 'sku'],
    ['Codice', 'sku'],
    ['Číslo zboží', 'sku'],
    ['Cikkszám', 'sku'],
    ['Cod articol', 'sku'],
    ['Κωδικός', 'sku'],
    ['Каталожен номер', 'sku'],
    ['Varenr.', 'sku'],
    ['Tuotenumero', 'sku'],
    ['Nazwa wyrobu', 'name'],
    ['Megnevezés', 'name'],
    ['Benämning', 'name'],
    ['Kod kreskowy', 'gtin'],
    ['Kraj pochodzenia', 'country'],
    ['Země původu', 'country'],
    ['Krajina pôvodu', 'country'],
    ['Származási ország', 'country'],
    ['Țara de origine', 'country'],
    ['País de origem', 'country'],
    ['Χώρα προέλευσης', 'country'],
    ['Страна на произход', 'country'],
    ['Država porekla', 'country'],
    ['Zemlja podrijetla', 'country'],
    ['Oprindelsesland', 'country'],
    ['Alkuperämaa', 'country'],
    ['Päritolumaa', 'country'],
    ['Izcelsmes valsts', 'country'],
    ['Kilmės šalis', 'country'],
    ['Pajjiż tal-oriġini', 'country'],
  ] as const)('%s is known', (label, concept) => {
    expect(rankOf(label, concept)).toBeLessThan(1_000);
  });

  it('names of columns that only begin or end with a known one come last, and others do not count', () => {
    expect(rankOf('description-en_US-print', 'description')).toBeGreaterThanOrEqual(1_000);
    expect(rankOf('erpName', 'name')).toBeGreaterThanOrEqual(1_000);
    expect(rankOf('surname', 'name')).toBeNull();
    expect(rankOf('name.#text', 'name')).toBeLessThan(1_000);
    expect(rankOf('name.@lang', 'name')).toBeNull();
    expect(rankOf('Variant SKU', 'sku')).toBeGreaterThanOrEqual(1_000);
    expect(rankOf('Mean', 'gtin')).toBeNull();
  });
});

describe('the proposed mapping', () => {
  const article = (at: number) => ({
    sku: `A${at}`,
    name: `Pump ${at}`,
    Ursprungsland: at === 0 ? 'EU' : 'DE',
    EAN: '4006381333931',
    Status: at % 2 === 0 ? 'aktiv' : 'neu',
  });

  it('has a line for each field that a column fits, with what shows it', () => {
    const { mapping, line } = proposed(rowsOf(10, article));
    expect(mapping).toMatchObject({ to: 'product' });
    expect(line('gtin')).toMatchObject({
      expression: 'gtin(row.EAN)',
      reason: expect.stringContaining('10 of 10 values are GTINs'),
    });
    expect(line('status')).toMatchObject({
      expression: '"DRAFT"',
      reason: expect.stringContaining('Status has aktiv, neu'),
    });
  });

  it('marks what not all values fit, and shows some that do not', () => {
    const { line } = proposed(rowsOf(10, article));
    expect(line('country_of_origin')).toEqual({
      name: 'country_of_origin',
      expression: 'country(row.Ursprungsland)',
      reason: '9 of 10 values are countries, not "EU"',
      isTodo: true,
    });
  });

  it('takes a column for the country of which most values are countries, whatever it is called', () => {
    const lands = ['Polska', 'Polska', 'Czechy', 'Plska'];
    const { line } = proposed(rowsOf(4, (at) => ({ sku: `A${at}`, name: 'x', Skąd: lands[at] ?? '' })));
    expect(line('country_of_origin')).toEqual({
      name: 'country_of_origin',
      expression: 'country(row["Skąd"])',
      reason: '3 of 4 values are countries, not "Plska"; no column has a known name for it',
      isTodo: true,
    });
    const short = proposed(rowsOf(4, (at) => ({ sku: `A${at}`, name: 'x', unit: 'KG', size: 'IT' })));
    expect(short.line('country_of_origin')?.expression).toBeNull();
  });

  it('says that the platform asks for a country where no column has one, and sends records without it', () => {
    const rows = rowsOf(4, (at) => ({ sku: `A${at}`, name: 'Pump' }));
    expect(proposed(rows).line('country_of_origin')).toMatchObject({ expression: null, isTodo: true });
    expect(textOf(rows)).toContain(
      '# TODO country_of_origin: no column has countries; the platform asks for it before it publishes. One',
    );
    expect(parse(textOf(rows)).sources[0].mappings[0].fields).not.toHaveProperty('country_of_origin');
  });

  it('leaves a required field to a person if no column fits, and names the columns that could', () => {
    const { line } = proposed(rowsOf(4, (at) => ({ sku: `A${at}`, one: 'some words here', two: 'more words here' })));
    expect(line('name')).toMatchObject({
      expression: null,
      isTodo: true,
      reason: expect.stringContaining('one and two have text'),
    });
  });

  it('names the other columns that could be it too', () => {
    const { line } = proposed(
      rowsOf(4, (at) => ({ sku: `A${at}`, name: 'Pump', 'name-de': 'Pumpe', title: 'The pump' })),
    );
    expect(line('name')).toMatchObject({
      expression: 'row.name',
      reason: expect.stringContaining('title could be it too'),
    });
  });

  it('takes numbers with a right check digit for GTINs, whatever their column is called', () => {
    const { line } = proposed(rowsOf(6, (at) => ({ sku: `A${at}`, name: 'x', custom1: '4006381333931' })));
    expect(line('gtin')?.expression).toBe('gtin(row.custom1)');
    expect(
      proposed(rowsOf(6, (at) => ({ sku: `A${at}`, name: 'x', custom1: '4006381333930' }))).line('gtin'),
    ).toBeNull();
  });

  it('makes BOM items of records that name a product, a part and a quantity', () => {
    const rows = rowsOf(6, (at) => ({
      parent: `P${at}`,
      component: 'M1',
      qty: '1,5',
      uom: at === 0 ? 'smidgen' : 'kg',
      valid_from: '31.12.2024',
    }));
    const { mapping, line } = proposed(rows);
    expect(mapping.to).toBe('bom_item');
    expect(line('product')?.expression).toBe('row.parent');
    expect(line('part')?.expression).toBe('row.component');
    expect(line('quantity')).toMatchObject({ expression: 'decimal(row.qty, ",")', isTodo: false });
    expect(line('unit')).toMatchObject({ isTodo: true, reason: expect.stringContaining('"smidgen"') });
    expect(line('valid_from')?.expression).toBe('date(row.valid_from, "DD.MM.YYYY")');
  });

  it('asks about numbers that can be read in two ways', () => {
    const { line } = proposed(rowsOf(4, (at) => ({ parent: `P${at}`, component: 'M', qty: '1.250' })));
    expect(line('quantity')).toMatchObject({ isTodo: true, reason: expect.stringContaining('or 1250?') });
  });

  it('takes the kind from the name of the file where the columns do not say it', () => {
    const rows = rowsOf(3, (at) => ({ column1: `${at}` }));
    expect(proposed(rows, 'BillOfMaterials.csv').mapping.to).toBe('bom_item');
    expect(proposed(rows, 'materials-2024.csv').mapping.to).toBe('material');
    expect(proposed(rows, 'bombs.csv').mapping.to).toBe('product');
  });

  it('asks for members that not every record has, and reads members of objects', () => {
    const rows = rowsOf(4, (at) => ({ id: at, data: { name: 'Pump' }, ...(at === 1 ? { ean: '4006381333931' } : {}) }));
    const { line } = proposed(rows);
    expect(line('name')?.expression).toBe('row.data.name');
    expect(line('gtin')?.expression).toBe('has(row.ean) ? gtin(row.ean) : null');
  });

  it('takes the tags out of a description', () => {
    const withText = (text: string) =>
      proposed(rowsOf(3, (at) => ({ sku: `A${at}`, name: 'x', description: text }))).line('description');
    expect(withText('<p>Oak &amp; beech</p>')).toMatchObject({
      expression: 'html_text(row.description)',
      isTodo: false,
    });
    expect(withText('<p>Oak</p>')?.reason).toContain('3 of its values have HTML');
    expect(withText('1 < 2 & 3 > 2')?.expression).toBe('row.description');
  });

  it('says why a column with the right name is left out', () => {
    const { line } = proposed(rowsOf(6, (at) => ({ sku: `A${at}`, ean: `400638133393${at}`, origin: 'Moon' })));
    expect(line('gtin')).toMatchObject({ expression: null, isTodo: false });
    expect(line('gtin')?.reason).toMatch(
      /^ean has the name, and 1 of 6 values are GTINs with a right check digit, not "400/,
    );
    expect(line('country_of_origin')?.reason).toMatch(
      /^origin has the name, and 0 of 6 values are countries, not "Moon"/,
    );
  });

  it('takes false for no value where other records have one', () => {
    const rows = rowsOf(8, (at) => ({
      id: at,
      default_code: at === 2 || at === 3 ? false : `A${at}`,
      name: 'Chair',
      barcode: at === 1 ? '4006381333931' : false,
      active: at > 2,
    }));
    const { line } = proposed(rows);
    expect(line('sku')).toMatchObject({ expression: 'row.default_code != false ? row.default_code : null' });
    expect(line('gtin')?.expression).toBe('row.barcode != false ? gtin(row.barcode) : null');
  });

  it('makes a fraction of a share in percent', () => {
    const rows = rowsOf(3, (at) => ({ code: `M${at}`, name: 'Steel', REZANT: '28' }));
    expect(proposed(rows, 'materials.csv').line('recycled_mass_fraction')).toMatchObject({
      expression: 'row.REZANT == "" ? null : double(decimal(row.REZANT)) / 100',
    });
  });
});

describe('the text of a config', () => {
  it('is YAML with every name and value as it was, however odd', () => {
    const odd = [
      'a: b',
      '# c',
      '"q"',
      "it's",
      '${HOME}',
      'two\nlines',
      'tab\there',
      '- x',
      'null',
      '{a}',
      'Größe',
      '\u2028',
    ];
    const rows = rowsOf(3, (at) => ({
      sku: `A${at}`,
      name: 'x',
      ...Object.fromEntries(odd.map((name) => [name, `1,${at}`])),
    }));
    const { mapping, key } = proposed(rows);
    const recognised = { connector: 'csv', title: 'CSV', options: [], stream: [], hints: odd };
    const path = './odd ${x}: #1.csv';
    const text = sourcesText({ source: 'erp', stream: 's', path, recognised, key, mapping, columns: columnsOf(rows) });
    expect(parse(text)).toMatchObject({
      sources: [
        {
          streams: { s: { path: './odd $${x}: #1.csv', key: ['sku'] } },
          mappings: [{ key: 'row.sku', fields: { name: 'row.name' } }],
        },
      ],
    });
    for (const value of odd) {
      expect(parse(yamlLine(0, `v: ${yamlValue(value)}`, value).join('\n'))).toEqual({
        v: value.replace('${', () => '$${'),
      });
    }
  });

  it.each<[string, JsonObject[]]>([
    ['no key and no names', [{ a: 'x' }, { a: 'y' }, { a: 'x' }, { a: '' }]],
    ['nothing to do', rowsOf(3, (at) => ({ sku: `A${at}`, name: 'x', origin: 'DE' }))],
    ['BOM items without a unit', rowsOf(3, (at) => ({ parent: `P${at}`, component: 'M', qty: '1.250' }))],
  ])('has as many marks as there are lines with TODO: %s', (_about, rows) => {
    const parts = partsOf(rows);
    const option = { name: 'encoding', value: 'cp852', reason: 'a guess', isTodo: true };
    parts.recognised = { ...parts.recognised, options: [option] as never[] };
    expect(sourcesText(parts).match(/# TODO /g)).toHaveLength(todoOf(parts).length);
  });

  it('puts a long comment above its line, and a short one beside it', () => {
    expect(yamlLine(2, 'a: 1', 'short')).toEqual(['  a: 1 # short']);
    const lines = yamlLine(2, 'a: 1', 'word '.repeat(50).trim());
    expect(lines.at(-1)).toBe('  a: 1');
    expect(lines.slice(0, -1).every((line) => line.startsWith('  # word') && line.length <= 110)).toBe(true);
  });
});
