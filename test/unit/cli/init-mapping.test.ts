import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { checkProposal } from '../../../src/cli/init/check-proposal.ts';
import { proposed, rowsOf, textOf } from './proposed.ts';

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
      '# TODO country_of_origin: no column has a known name for it, and none has names of countries; the',
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

  it.each([
    ['Artikelnummer', 'Materiaalcode', 'Hoeveelheid', 'Eenheid'],
    ['Artikel-Nr.', 'Werkstoff-Nr.', 'Menge', 'ME'],
    ['Artikel-Nr.', 'Rohstoff-Nr.', 'Menge', 'ME'],
    ['Artikel-Nr.', 'Materialnr', 'Menge', 'ME'],
    ['Artikel-Nr.', 'Material-Nr.', 'Menge', 'ME'],
    ['Artikel-Nr.', 'Komponenten-Nr.', 'Menge', 'ME'],
    ['Artikel-Nr.', 'Teile-Nr.', 'Menge', 'ME'],
    ['Kod wyrobu', 'Numer materiału', 'Ilość', 'JM'],
    ['Artikelnummer', 'Komponente', 'Menge', 'Mengeneinheit'],
    ['Code article', 'Composant', 'Quantité', 'Unité'],
    ['Código artículo', 'Componente', 'Cantidad', 'Unidad'],
    ['Codice articolo', 'Codice componente', 'Quantità', 'U.M.'],
    ['Kod wyrobu', 'Kod materiału', 'Ilość', 'Jednostka miary'],
    ['Código produto', 'Componente', 'Quantidade', 'Unidade'],
    ['Artikelnummer', 'Komponent', 'Antal', 'Enhet'],
    ['Varenummer', 'Komponent', 'Mængde', 'Måleenhed'],
  ])('the proposed mapping reads %s, %s, %s and %s as BOM items', (product, part, quantity, unit) => {
    const { mapping, line, key } = proposed(
      rowsOf(6, (at) => ({ [product]: `P${at % 2}`, [part]: `M${at}`, [quantity]: '1,5', [unit]: 'kg' })),
    );
    expect(mapping.to).toBe('bom_item');
    expect(key?.columns.map(({ label }) => label)).toEqual([product, part]);
    expect([line('product')?.expression, line('part')?.expression]).toEqual(key?.columns.map(({ access }) => access));
    expect(line('quantity')?.expression).toMatch(/^decimal\(row.+, ","\)$/);
    expect(line('unit')?.expression).toMatch(/^unit\(row/);
  });

  it('the proposed mapping makes products of articles that have a material and a number of pieces', () => {
    const article = { Materiaal: 'Staal', Materiaalcode: 'ST', Aantal: '5' };
    const stocked = rowsOf(6, (at) => ({ Artikelnummer: `A${at}`, Omschrijving: `Pan ${at}`, ...article }));
    expect(proposed(stocked).mapping.to).toBe('product');
    const variants = stocked.map((row, at) => ({ ...row, Artikelnummer: `A${at % 3}` }));
    expect(proposed(variants).mapping.to).toBe('product');
    const named = rowsOf(6, (at) => ({
      Artikelnummer: `A${at}`,
      Produkt: `Panna ${at}`,
      Material: 'Stål',
      Antal: '5',
    }));
    expect(proposed(named).mapping.to).toBe('product');
    const parts = named.map((row) => ({ ...row, Produkt: 'Panna' }));
    expect(proposed(parts).mapping.to).toBe('bom_item');
  });

  it('the proposed mapping of a file that its name shows to have BOM items uses the columns that are certain', () => {
    const rows = rowsOf(4, (at) => ({ Regel: `${at}`, Hoeveelheid: '1,5', Eenheid: 'kg', Wat: `M${at}` }));
    const { mapping, line } = proposed(rows, 'Stücklisten.csv');
    expect(mapping).toMatchObject({ to: 'bom_item', reason: 'the name of the file says so' });
    expect(line('product')).toMatchObject({ expression: null, isTodo: true });
    expect(line('quantity')?.expression).toBe('decimal(row.Hoeveelheid, ",")');
  });

  it('the proposed mapping takes the only text of an article for its name, and does not write it twice', () => {
    const dutch = proposed(rowsOf(4, (at) => ({ Artikelnummer: `A${at}`, Omschrijving: `Pan ${at}` })));
    expect(dutch.line('name')).toMatchObject({ expression: 'row.Omschrijving', isTodo: false });
    expect(dutch.line('description')).toBeNull();
    const german = proposed(rowsOf(4, (at) => ({ Artikelnummer: `A${at}`, Beschreibung: `Topf ${at}` })));
    expect(german.line('name')).toMatchObject({ expression: 'row.Beschreibung', isTodo: true });
    expect(german.line('description')).toBeNull();
    const both = proposed(rowsOf(4, (at) => ({ sku: `A${at}`, Omschrijving: 'Pan', Naam: 'Pan' })));
    expect(both.line('name')?.expression).toBe('row.Naam');
    expect(both.line('description')?.expression).toBe('row.Omschrijving');
    const html = proposed(rowsOf(4, (at) => ({ sku: `A${at}`, description: '<p>A pan of steel</p>' })));
    expect(html.line('name')?.expression).not.toBe('row.description');
    expect(html.line('description')?.expression).toBe('html_text(row.description)');
  });

  it('the proposed mapping of materials takes the code of the material, also beside a number of an article', () => {
    const rows = rowsOf(3, (at) => ({ Artikelnummer: 'A1', Materiaalcode: `M${at}`, Omschrijving: 'Staal' }));
    expect(proposed(rows, 'materialen.csv').line('code')?.expression).toBe('row.Materiaalcode');
    expect(proposed(rows, 'artikelen.csv').line('sku')?.expression).toBe('row.Artikelnummer');
  });

  it('the proposed mapping of BOM items keeps the product where no column has a known name for the part', () => {
    const rows = rowsOf(6, (at) => ({
      'Artikel-Nr.': `P${at % 2}`,
      'Pos.': `${at}`,
      'Zeug-Nr.': `M${at}`,
      Menge: '1,5',
    }));
    const { line } = proposed(rows, 'stueckliste.csv');
    expect(line('product')).toMatchObject({
      expression: 'row["Artikel-Nr."]',
      isTodo: true,
      reason: expect.stringContaining('keep it if it is not the part'),
    });
    expect(line('part')).toMatchObject({ expression: null, reason: expect.stringContaining('part: row["Zeug-Nr."]') });
  });

  it('the proposed mapping asks about numbers that can be read in two ways', () => {
    const { line } = proposed(rowsOf(4, (at) => ({ parent: `P${at}`, component: 'M', qty: '1.250' })));
    expect(line('quantity')).toMatchObject({ isTodo: true, reason: expect.stringContaining('if 1.250 means 1250') });
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
      expression: 'decimal(row.REZANT) != null ? double(decimal(row.REZANT)) / 100 : null',
    });
  });
});

describe('columns whose names only look like a number or a name', () => {
  it.each([
    ['WEEE-Reg.-Nr', 'a TODO', (at: number) => `DE ${at}`],
    ['articleType', 'a TODO', (at: number) => `Type ${String.fromCharCode(65 + at)} pump`],
    ['identifier_exists', 'a TODO', (at: number) => (at % 2 === 0 ? 'yes' : 'no')],
  ])('a column %s is no article number without %s', (column, _, value) => {
    const { line } = proposed(rowsOf(8, (at) => ({ [column]: value(at), text: `Some pump ${at}` })));
    const sku = line('sku');
    expect(sku === null || sku.expression === null || sku.isTodo).toBe(true);
  });

  it('a column of codes is an article number also where only a part of its name says so', () => {
    const { line } = proposed(rowsOf(8, (at) => ({ 'sku supplier': `LMP-00${at}`, name: `Lamp ${at}` })));
    expect(line('sku')).toMatchObject({ isTodo: false });
  });

  it('a column of places is no name without a TODO, and a column of names is one', () => {
    const { line } = proposed(rowsOf(8, (at) => ({ sku: `A${at}`, 'location name': at < 6 ? 'Hall 1' : 'Hall 2' })));
    expect(line('name')).toMatchObject({ isTodo: true });
    const named = proposed(rowsOf(8, (at) => ({ sku: `A${at}`, 'name-en_US': `Pump ${at}` }))).line('name');
    expect(named).toMatchObject({ isTodo: false });
  });
});

describe('the check of a proposed mapping', () => {
  it('a line that fails for some records although no value is at fault gets a TODO with the message', async () => {
    const rows = rowsOf(4, (at) => ({ code: `M${at}`, name: 'Steel', share: at < 2 ? null : 35.5 }));
    const { mapping } = proposed(rows, 'materials.json');
    const share = { name: 'recycled_mass_fraction', expression: 'double(row.share) / 100', reason: 'x', isTodo: false };
    const fields = [...mapping.fields, share];
    const checked = await checkProposal({ ...mapping, fields }, { rows, source: 'erp', stream: 's' });
    expect(checked.fields.filter(({ isTodo }) => isTodo)).toEqual([
      expect.objectContaining({ name: 'origin_country' }),
      { ...share, isTodo: true, reason: 'x; fails for 2 of 4 records: double() cannot be called with null.' },
    ]);
  });

  it('a line is not marked because some records lack a value', async () => {
    const rows = rowsOf(8, (at) => ({ sku: `A${at}`, name: at === 3 ? '' : `Pump ${at}` }));
    const { mapping } = proposed(rows);
    expect(await checkProposal(mapping, { rows, source: 'erp', stream: 's' })).toEqual(mapping);
  });
});
