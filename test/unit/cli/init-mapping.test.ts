import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { rankOf } from '../../../src/cli/init/field-names.ts';
import { proposed, rowsOf, textOf } from '../../support/cli/proposed.ts';

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
  ] as const)('the name of the column %s is known', (label, concept) => {
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

  it('the proposed mapping has a line for each field that a column fits, with the evidence', () => {
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

  it('the proposed mapping marks a column that not all values fit, and shows some that do not', () => {
    const { line } = proposed(rowsOf(10, article));
    expect(line('country_of_origin')).toEqual({
      name: 'country_of_origin',
      expression: 'country(row.Ursprungsland)',
      reason: '9 of 10 values are countries, not "EU"',
      isTodo: true,
    });
  });

  it('the proposed mapping takes a column for the country of which most values are countries, whatever its name', () => {
    const lands = ['Polska', 'Polska', 'Czechy', 'Plska'];
    const { line } = proposed(rowsOf(4, (at) => ({ sku: `A${at}`, name: 'x', Skąd: lands[at] ?? '' })));
    expect(line('country_of_origin')).toEqual({
      name: 'country_of_origin',
      expression: 'country(row["Skąd"])',
      reason: '3 of 4 values are countries, not "Plska"; no column has a known name for it',
      isTodo: true,
    });
    const two = proposed(rowsOf(4, (at) => ({ sku: `A${at}`, Skąd: lands[at] ?? '', Surowiec: 'Niemcy' })));
    expect(two.line('country_of_origin')?.expression).toBe('country(row["Skąd"])');
    const short = proposed(rowsOf(4, (at) => ({ sku: `A${at}`, name: 'x', unit: 'KG', size: 'IT' })));
    expect(short.line('country_of_origin')?.expression).toBeNull();
  });

  it('the proposed mapping sends records without a country where no column has one, and says that the platform asks for it', () => {
    const rows = rowsOf(4, (at) => ({ sku: `A${at}`, name: 'Pump' }));
    expect(proposed(rows).line('country_of_origin')).toMatchObject({ expression: null, isTodo: true });
    expect(textOf(rows)).toContain(
      '# TODO country_of_origin: no column has countries; the platform asks for it before it publishes. One',
    );
    expect(parse(textOf(rows)).sources[0].mappings[0].fields).not.toHaveProperty('country_of_origin');
  });

  it('the proposed mapping leaves a required field to a person if no column fits, and names the columns that could', () => {
    const { line } = proposed(rowsOf(4, (at) => ({ sku: `A${at}`, one: 'some words here', two: 'more words here' })));
    expect(line('name')).toMatchObject({
      expression: null,
      isTodo: true,
      reason: expect.stringContaining('one and two have text'),
    });
  });

  it('the proposed mapping names the other columns that could be it too', () => {
    const { line } = proposed(
      rowsOf(4, (at) => ({ sku: `A${at}`, name: 'Pump', 'name-de': 'Pumpe', title: 'The pump' })),
    );
    expect(line('name')).toMatchObject({
      expression: 'row.name',
      reason: expect.stringContaining('title could be it too'),
    });
  });

  it('the proposed mapping takes numbers with a right check digit for GTINs, whatever their column is called', () => {
    const { line } = proposed(rowsOf(6, (at) => ({ sku: `A${at}`, name: 'x', custom1: '4006381333931' })));
    expect(line('gtin')?.expression).toBe('gtin(row.custom1)');
    expect(
      proposed(rowsOf(6, (at) => ({ sku: `A${at}`, name: 'x', custom1: '4006381333930' }))).line('gtin'),
    ).toBeNull();
  });

  it('the proposed mapping makes BOM items of records that name a product, a part and a quantity', () => {
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

  it('the proposed mapping asks about numbers that can be read in two ways', () => {
    const { line } = proposed(rowsOf(4, (at) => ({ parent: `P${at}`, component: 'M', qty: '1.250' })));
    expect(line('quantity')).toMatchObject({ isTodo: true, reason: expect.stringContaining('or 1250?') });
  });

  it('the proposed mapping takes the kind from the name of the file where the columns do not show it', () => {
    const rows = rowsOf(3, (at) => ({ column1: `${at}` }));
    expect(proposed(rows, 'BillOfMaterials.csv').mapping.to).toBe('bom_item');
    expect(proposed(rows, 'materials-2024.csv').mapping.to).toBe('material');
    expect(proposed(rows, 'bombs.csv').mapping.to).toBe('product');
  });

  it('the proposed mapping asks for members that not every record has, and reads members of objects', () => {
    const rows = rowsOf(4, (at) => ({ id: at, data: { name: 'Pump' }, ...(at === 1 ? { ean: '4006381333931' } : {}) }));
    const { line } = proposed(rows);
    expect(line('name')?.expression).toBe('row.data.name');
    expect(line('gtin')?.expression).toBe('has(row.ean) ? gtin(row.ean) : null');
  });

  it('the proposed mapping takes the tags out of a description', () => {
    const withText = (text: string) =>
      proposed(rowsOf(3, (at) => ({ sku: `A${at}`, name: 'x', description: text }))).line('description');
    expect(withText('<p>Oak &amp; beech</p>')).toMatchObject({
      expression: 'html_text(row.description)',
      isTodo: false,
    });
    expect(withText('<p>Oak</p>')?.reason).toContain('3 of its values have HTML');
    expect(withText('1 < 2 & 3 > 2')?.expression).toBe('row.description');
  });

  it('the proposed mapping says why a column with the right name is left out', () => {
    const { line } = proposed(rowsOf(6, (at) => ({ sku: `A${at}`, ean: `400638133393${at}`, origin: 'Moon' })));
    expect(line('gtin')).toMatchObject({ expression: null, isTodo: false });
    expect(line('gtin')?.reason).toMatch(
      /^ean has the name, and 1 of 6 values are GTINs with a right check digit, not "400/,
    );
    expect(line('country_of_origin')?.reason).toMatch(
      /^origin has the name, and 0 of 6 values are countries, not "Moon"/,
    );
  });

  it('the proposed mapping takes false for no value where other records have one', () => {
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

  it('the proposed mapping makes a fraction of a share in percent', () => {
    const rows = rowsOf(3, (at) => ({ code: `M${at}`, name: 'Steel', REZANT: '28' }));
    expect(proposed(rows, 'materials.csv').line('recycled_mass_fraction')).toMatchObject({
      expression: 'row.REZANT == "" ? null : double(decimal(row.REZANT)) / 100',
    });
  });
});
