import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { csv } from '../../../connectors/csv/index.ts';
import { json } from '../../../connectors/json/index.ts';
import type { SourceRow } from '../../../src/sdk/index.ts';
import { readRows, textOf } from '../../support/connectors/connector-reader.ts';
import { describeRealExport } from '../../support/connectors/real-exports.ts';

const broken = (rows: SourceRow[]) => rows.filter((row) => row.issues !== undefined);
const column = (rows: SourceRow[], name: string) => rows.map((row) => row.fields[name]);

describeRealExport('adventureworks', 'AdventureWorks', (folder) => {
  const tabs = { delimiter: '\t', quote: null, header: false };

  it('the real exports give 504 products from tab-separated text without a header', async () => {
    const rows = await readRows(csv, { folder, options: tabs, stream: { path: 'Product.csv' } });
    expect(rows).toHaveLength(504);
    expect(broken(rows)).toEqual([]);
    expect(rows[0]?.fields).toMatchObject({ column1: '1', column2: 'Adjustable Race', column3: 'AR-5381' });
    expect(new Set(column(rows, 'column3')).size).toBe(504);
    expect(Object.keys(rows[503]?.fields ?? {})).toHaveLength(25);
    expect(rows[503]?.place).toEqual({ file: 'Product.csv', line: 504 });
  });

  it('the real exports give 2,679 BOM lines and keep the padding of their units', async () => {
    const rows = await readRows(csv, { folder, options: tabs, stream: { path: 'BillOfMaterials.csv' } });
    expect(rows).toHaveLength(2_679);
    expect(broken(rows)).toEqual([]);
    expect(column(rows, 'column6')).toContain('EA ');
  });

  it('the real exports give 128 models with delimiters of several characters and XML over many lines', async () => {
    const options = {
      ...tabs,
      delimiter: '+|',
      recordDelimiter: '&|\n',
      columns: ['id', 'name', 'catalogue', 'instructions', 'guid', 'modified'],
    };
    const rows = await readRows(csv, { folder, options, stream: { path: 'ProductModel.csv' } });
    const text = readFileSync(join(folder, 'ProductModel.csv'), 'utf8');
    expect(rows).toHaveLength(128);
    expect(broken(rows)).toEqual([]);
    expect(rows.map(({ fields }) => Object.values(fields).map(textOf).join('+|')).join('&|\n')).toBe(
      text.replace(/&\|\n$/, ''),
    );
    const lines = text.split('\n');
    for (const { fields, place } of rows)
      expect(lines[(place.line ?? 0) - 1]).toMatch(new RegExp(`^${textOf(fields['id'])}\\+\\|`));
  });
});

describeRealExport('akeneo-icecat', 'Akeneo', (folder) => {
  const options = { delimiter: ';' };

  it('the real exports give 1,239 products of 111 columns', async () => {
    const rows = await readRows(csv, { folder, options, stream: { path: 'products.csv' } });
    expect(rows).toHaveLength(1_239);
    expect(broken(rows)).toEqual([]);
    expect(new Set(column(rows, 'sku')).size).toBe(1_239);
    for (const { fields } of rows) expect(Object.keys(fields)).toHaveLength(111);
  });

  it('the real exports have the rows reported that are not UTF-8, and only those', async () => {
    const path = 'product_export_with_non_utf8_characters.csv';
    const rows = await readRows(csv, { folder, options, stream: { path } });
    const bad = broken(rows);
    expect(bad.length).toBeGreaterThan(0);
    expect(bad.length).toBeLessThan(rows.length);
    const text = readFileSync(join(folder, path), 'utf8');
    expect(bad.every((row) => row.issues?.every((issue) => issue.code === 'row.encoding'))).toBe(true);
    for (const row of rows) {
      const sku = textOf(row.fields['sku']);
      expect(text.split('\n')[(row.place.line ?? 0) - 1]).toContain(sku);
      expect(JSON.stringify(row.fields).includes('\uFFFD')).toBe(row.issues !== undefined);
    }
    const declared = await readRows(csv, {
      folder,
      options: { ...options, encoding: 'windows-1252' },
      stream: { path },
    });
    expect(declared).toHaveLength(rows.length);
  });
});

describeRealExport('inventree', 'InvenTree', (folder) => {
  const setup = { folder };
  const path = 'inventree_parts_company_bom.json';

  it.each([
    ['part.part', 414],
    ['part.bomitem', 228],
  ])('the real exports give the elements of %s out of one list of fixtures', async (model, count) => {
    const rows = await readRows(json, { ...setup, stream: { path, where: { model } } });
    expect(rows).toHaveLength(count);
    expect(broken(rows)).toEqual([]);
    const lines = readFileSync(join(setup.folder, path), 'utf8').split('\n');
    for (const { fields, place } of rows) {
      expect(lines[(place.line ?? 0) - 1]?.trim()).toBe('{');
      expect(lines[place.line ?? 0]?.trim()).toBe(`"model": "${textOf(fields['model'])}",`);
    }
  });

  it('the real exports give the same elements as JSON.parse', async () => {
    const rows = await readRows(json, { ...setup, stream: { path } });
    expect(rows.map((row) => row.fields)).toEqual(JSON.parse(readFileSync(join(setup.folder, path), 'utf8')));
  });
});
