import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { bmecat } from '../../../connectors/bmecat/index.ts';
import type { SourceRow } from '../../../src/sdk/index.ts';
import { fixtureFolder, readPages, readRows, temporaryFolder } from '../../support/connectors/connector-reader.ts';
import { describeRealExport } from '../../support/connectors/real-exports.ts';

const folder = fixtureFolder('bmecat');
const fixture = (name: string) => readFileSync(join(folder, name), 'utf8');
const read = (stream: object, options: object = {}) => readRows(bmecat, { folder, stream, options });
const fieldsOf = (rows: SourceRow[]) => rows.map((row) => row.fields);

/** Reads a catalogue with this content. */
async function readText(text: string, stream: object = {}, options: object = {}): Promise<SourceRow[]> {
  await using temporary = await temporaryFolder({ 'catalog.xml': text });
  return await readRows(bmecat, { folder: temporary.path, stream: { path: 'catalog.xml', ...stream }, options });
}

/** Fields that only version 2005 has. */
const OF_2005 = {
  WEIGHT: '',
  LENGTH: '',
  COUNTRY_OF_ORIGIN: [],
  CUSTOMS_TARIFF_NUMBER: [],
  INTERNATIONAL_PID: [],
  'DESCRIPTION_SHORT@lang': {},
  'DESCRIPTION_LONG@lang': {},
  'KEYWORD@lang': undefined,
};

describe('the bmecat connector', () => {
  it('the bmecat connector gives the same rows for 1.2 and 2005', async () => {
    const [older] = fieldsOf(await read({ path: 'catalog-1.2.xml' }));
    const [newer] = fieldsOf(await read({ path: 'catalog-2005.xml' }));
    expect({ ...newer, ...OF_2005 }).toEqual({ ...older, 'KEYWORD@lang': undefined });
    for (const records of ['references', 'features', 'classes', 'prices', 'group-members']) {
      const of2005 = fieldsOf(await read({ path: 'catalog-2005.xml', records }));
      expect(fieldsOf(await read({ path: 'catalog-1.2.xml', records }))).toEqual(of2005);
    }
  });

  it('the bmecat connector gives a product with its features, units, classes and logistic details', async () => {
    const [row] = fieldsOf(await read({ path: 'catalog-2005.xml' }));
    expect(row).toMatchObject({
      SUPPLIER_PID: 'TW-0100',
      mode: 'new',
      DESCRIPTION_SHORT: 'Rohrventilator 100 mm',
      'DESCRIPTION_SHORT@lang': { eng: 'Duct fan 100 mm', deu: 'Rohrventilator 100 mm' },
      EAN: '4006381333931',
      KEYWORD: ['Lüfter', 'Rohr'],
      COUNTRY_OF_ORIGIN: ['DE-BY'],
      CUSTOMS_TARIFF_NUMBER: ['84145925'],
      WEIGHT: '1.250',
      FEATURES: { EF000049: '0100', EF003118: 'EV000128', Werkstoff: 'Polypropylen', Farbe: ['weiß', 'grau'] },
      FEATURE_UNITS: { EF000049: 'MMT' },
      ETIM_CLASS: 'EC000059',
      ETIM: { EF000049: '0100', EF003118: 'EV000128' },
      BUYER_PID: [{ type: 'acme', value: 'A-77' }],
      USER_DEFINED_EXTENSIONS: { 'UDX.TW.ARTICLE_NOTE': 'Schüttgut' },
    });
  });

  const classified = (features: string, system = '') =>
    `<BMECAT><HEADER/><T_NEW_CATALOG>${system}<PRODUCT><SUPPLIER_PID>1</SUPPLIER_PID><PRODUCT_FEATURES><REFERENCE_FEATURE_SYSTEM_NAME>ECLASS-9.0</REFERENCE_FEATURE_SYSTEM_NAME>${features}</PRODUCT_FEATURES></PRODUCT></T_NEW_CATALOG></BMECAT>`;
  const WEIGHT = '0173-1#02-AAF040#004';

  it('the bmecat connector gives features with a template under its name and its id', async () => {
    const weight = `<FEATURE><FTEMPLATE><FT_ID>${WEIGHT}</FT_ID><FT_NAME>Nettogewicht</FT_NAME><FEATURE_CONTENT><FT_UNIT>kg</FT_UNIT></FEATURE_CONTENT></FTEMPLATE><FVALUE>0.00013</FVALUE></FEATURE>`;
    const height = '<FEATURE><FTEMPLATE><FT_NAME>Hoehe</FT_NAME></FTEMPLATE><FVALUE>5.2</FVALUE></FEATURE>';
    const text = classified(`${weight}${height}<FEATURE><FNAME>Farbe</FNAME><FVALUE>rot</FVALUE></FEATURE>`);
    const [row] = fieldsOf(await readText(text));
    expect(row).toMatchObject({
      FEATURES: { Nettogewicht: '0.00013', [WEIGHT]: '0.00013', Hoehe: '5.2', Farbe: 'rot' },
      FEATURE_UNITS: { Nettogewicht: 'kg', [WEIGHT]: 'kg' },
    });
    expect(fieldsOf(await readText(text, { records: 'features' }))).toEqual([
      expect.objectContaining({ FNAME: 'Nettogewicht', FT_ID: WEIGHT, FT_NAME: 'Nettogewicht', FUNIT: 'kg' }),
      expect.objectContaining({ FNAME: 'Hoehe', FT_ID: '', FT_NAME: 'Hoehe' }),
      expect.not.objectContaining({ FT_ID: '' }),
    ]);
  });

  it('the bmecat connector finds the templates, values and units that features refer to in the catalogue', async () => {
    const template = (name: string) =>
      `<CLASSIFICATION_SYSTEM_FEATURE_TEMPLATES><CLASSIFICATION_SYSTEM_FEATURE_TEMPLATE><FT_ID>W1</FT_ID><FT_NAME>${name}</FT_NAME><FT_CONTENT><FT_UNIT_IDREF>U1</FT_UNIT_IDREF></FT_CONTENT></CLASSIFICATION_SYSTEM_FEATURE_TEMPLATE></CLASSIFICATION_SYSTEM_FEATURE_TEMPLATES>`;
    const system = (name: string, parts: string) =>
      `<CLASSIFICATION_SYSTEM><CLASSIFICATION_SYSTEM_NAME>${name}</CLASSIFICATION_SYSTEM_NAME>${parts}</CLASSIFICATION_SYSTEM>`;
    const values =
      '<ALLOWED_VALUES><ALLOWED_VALUE><ALLOWED_VALUE_ID>V1</ALLOWED_VALUE_ID><ALLOWED_VALUE_NAME>Stahl</ALLOWED_VALUE_NAME></ALLOWED_VALUE></ALLOWED_VALUES>';
    const units = '<UNITS><UNIT><UNIT_ID>U1</UNIT_ID><UNIT_CODE>KGM</UNIT_CODE></UNIT></UNITS>';
    const systems = `${system('ECLASS-9.0', `${values}${units}${template('Nettogewicht')}`)}${system('OTHER', template('Breite'))}`;
    const features =
      '<FEATURE><FT_IDREF>W1</FT_IDREF><FVALUE>2</FVALUE></FEATURE><FEATURE><FT_IDREF>M1</FT_IDREF><VALUE_IDREF>V1</VALUE_IDREF><VALUE_IDREF>V2</VALUE_IDREF></FEATURE>';
    const rows = fieldsOf(await readText(classified(features, systems)));
    expect(rows).toMatchObject([
      { FEATURES: { W1: '2', Nettogewicht: '2', M1: ['Stahl', 'V2'] }, FEATURE_UNITS: { Nettogewicht: 'KGM' } },
    ]);
    // A feature that is named by its id stays so, because the name may be a part of a key.
    expect(fieldsOf(await readText(classified(features, systems), { records: 'features' }))).toMatchObject([
      { FNAME: 'W1', FT_ID: 'W1', FT_NAME: 'Nettogewicht', FUNIT: 'KGM' },
      { FNAME: 'M1', FT_ID: 'M1', FT_NAME: '' },
    ]);
  });

  it('the bmecat connector gives references a number, so that a part that is named twice has two keys', async () => {
    const rows = await read({ path: 'catalog-1.2.xml', records: 'references' });
    expect(fieldsOf(rows)).toEqual([
      { SUPPLIER_PID: 'TW-0100', mode: 'new', type: 'consists_of', PROD_ID_TO: 'TW-0900', NUMBER: '1', quantity: '1' },
      { SUPPLIER_PID: 'TW-0100', mode: 'new', type: 'accessories', PROD_ID_TO: 'TW-0700', NUMBER: '1', quantity: '' },
      { SUPPLIER_PID: 'TW-0100', mode: 'new', type: 'consists_of', PROD_ID_TO: 'TW-0900', NUMBER: '2', quantity: '2' },
    ]);
  });

  it('the bmecat connector chooses the languages of the config before that of the header', async () => {
    const [english] = fieldsOf(await read({ path: 'catalog-2005.xml' }, { language: ['eng'] }));
    expect(english).toMatchObject({ DESCRIPTION_SHORT: 'Duct fan 100 mm', KEYWORD: ['fan'] });
    expect(english?.['FEATURES']).toMatchObject({ Material: 'polypropylene' });
    expect(english?.['DESCRIPTION_LONG']).toBe('<p>Leise & sparsam</p>');
  });

  it('the bmecat connector keeps elements that it does not know', async () => {
    const text = fixture('catalog-1.2.xml').replace('<EAN>', '<ARTICLE_NEWS>n</ARTICLE_NEWS><EAN>');
    expect((await readText(text.replace('ISO-8859-1', 'UTF-8')))[0]?.fields).toMatchObject({ PRODUCT_NEWS: 'n' });
  });

  it('the bmecat connector gives the mode of an update of each product', async () => {
    const stream = { path: 'update-products.xml', contents: 'changes' };
    const rows: SourceRow[] = [];
    for await (const page of readPages(bmecat, { folder, stream, mode: 'changes' })) rows.push(...page.rows);
    expect(fieldsOf(rows)).toMatchObject([
      { SUPPLIER_PID: 'TW-0900', mode: 'update', DESCRIPTION_SHORT: 'Laufrad, gewuchtet' },
      { SUPPLIER_PID: 'TW-0700', mode: 'delete' },
    ]);
  });

  it('the bmecat connector refuses an update as a whole catalogue', async () => {
    await expect(read({ path: 'update-products.xml' })).rejects.toThrow(
      'update-products.xml is a T_UPDATE_PRODUCTS, which has only changes and not the whole catalogue.',
    );
  });

  it('the bmecat connector takes an update of prices for nothing but prices', async () => {
    const changes = { path: 'update-prices.xml', contents: 'changes' };
    const read = async (records: string) => {
      const rows: SourceRow[] = [];
      const stream = { ...changes, records };
      for await (const page of readPages(bmecat, { folder, stream, mode: 'changes' })) rows.push(...page.rows);
      return fieldsOf(rows);
    };
    expect(await read('products')).toEqual([]);
    expect(await read('prices')).toMatchObject([{ SUPPLIER_PID: 'TW-0100', mode: 'update', PRICE_AMOUNT: '52.40' }]);
  });

  it('the bmecat connector refuses another catalogue, other XML, and a file without a transaction', async () => {
    await expect(read({ path: 'catalog-2005.xml' }, { catalog: 'TW-2027' })).rejects.toThrow(
      'catalog-2005.xml is the catalogue TW-2026, not TW-2027.',
    );
    await expect(readText('<ORDER/>')).rejects.toThrow('catalog.xml is an XML document of <ORDER>, not of <BMECAT>.');
    await expect(readText('<BMECAT><HEADER/></BMECAT>')).rejects.toThrow('has no T_NEW_CATALOG and no update, so');
    const headless =
      '<BMECAT><T_NEW_CATALOG><ARTICLE><SUPPLIER_AID>1</SUPPLIER_AID></ARTICLE></T_NEW_CATALOG></BMECAT>';
    expect(await readText(headless)).toHaveLength(1);
    await expect(readText(headless, {}, { catalog: 'X' })).rejects.toThrow('has no HEADER');
    expect(await readText('<BMECAT><T_NEW_CATALOG/></BMECAT>')).toEqual([]);
  });

  it('the bmecat connector reads a catalogue without products, and without any elements', async () => {
    const group = '<CATALOG_GROUP_SYSTEM><CATALOG_STRUCTURE type="root"/></CATALOG_GROUP_SYSTEM>';
    const header = '<HEADER><CATALOG><CATALOG_ID>X</CATALOG_ID></CATALOG></HEADER>';
    for (const start of ['<BMECAT>', `<BMECAT>${header}`]) {
      expect(await readText(`${start}<T_NEW_CATALOG>${group}</T_NEW_CATALOG></BMECAT>`)).toEqual([]);
      expect(await readText(`${start}<T_NEW_CATALOG/></BMECAT>`)).toEqual([]);
      expect(await readText(`${start}<T_NEW_CATALOG/></BMECAT>`, { records: 'groups' })).toEqual([]);
    }
  });

  it('the bmecat connector reports a product that is too long in every stream', async () => {
    const text = fixture('catalog-1.2.xml').replace('Rohrventilator', 'x'.repeat(5_000));
    for (const records of ['products', 'references', 'prices']) {
      const [row] = await readText(text, { records }, { maxRecordBytes: 4_000 });
      expect(row).toMatchObject({ fields: { SUPPLIER_PID: 'TW-0100' }, issues: [{ code: 'row.length' }] });
    }
  });
});

describeRealExport('bmecat', 'BMEcat of other makers', (path) => {
  const of = (name: string, stream: object = {}) =>
    readRows(bmecat, { folder: path, stream: { path: name, ...stream } });

  it.each([
    ['bmecat101_new_catalog_ok.xml', 2, 2],
    ['crossbase_kstools_dtd.xml', 1, 13],
    ['sap_sample.xml', 4, 3],
  ])('the bmecat connector reads the real file %s', async (name, products, references) => {
    const rows = await of(name);
    expect(rows).toHaveLength(products);
    expect(rows.filter((row) => row.issues !== undefined)).toEqual([]);
    for (const { fields } of rows) {
      expect(fields['SUPPLIER_PID']).not.toBe('');
      expect(fields['DESCRIPTION_SHORT']).not.toBe('');
      expect(JSON.stringify(fields)).not.toContain('_AID"');
    }
    expect(await of(name, { records: 'references' })).toHaveLength(references);
    for (const records of ['features', 'classes', 'prices', 'groups', 'group-members']) {
      const parts = await of(name, { records });
      expect(parts.filter((row) => row.issues !== undefined)).toEqual([]);
    }
  });

  it('the bmecat connector finds the features and groups of a catalogue with a DTD and a namespace', async () => {
    const [row] = await of('crossbase_kstools_dtd.xml');
    expect(row?.fields['FEATURES']).toMatchObject({ 'Breite B': '188.0' });
    expect(row?.fields['FEATURE_UNITS']).toMatchObject({ 'Breite B': 'mm' });
    const text = readFileSync(join(path, 'crossbase_kstools_dtd.xml'), 'utf8');
    const groups = await of('crossbase_kstools_dtd.xml', { records: 'groups' });
    expect(groups).toHaveLength(text.split('<CATALOG_STRUCTURE ').length - 1);
  });
});
