import { describe, expect, it } from 'vitest';
import { formatIssue } from '../../../src/cli/text/words.ts';
import { columnsAtFault } from '../../../src/domain/issue.ts';
import type { JsonObject, JsonValue } from '../../../src/lib/json.ts';
import { mapperOf } from '../../support/connectors/map-row.ts';

const CODES: Record<string, JsonValue> = { MANG01: '4006381333932', MANG02: '', LAND: 'Utopia', FACTOR: '2,5 kg' };
const TABLE = 'Lookup table "codes" (pim/articles), column EAN11, key';

/** The one issue of a row of a mapping with this field, as people see it, and the columns of the row that are marked. */
async function seen(field: string, expression: string, row: JsonObject) {
  const lookups = { codes: { source: 'pim', stream: 'articles', key: ['code'], value: 'EAN11' } };
  const fields = { sku: 'row.MATNR', name: 'row.MATNR', [field]: expression };
  const mapper = await mapperOf([{ to: 'product', key: 'row.MATNR', fields }], import.meta.dirname, { lookups });
  const record = { source: 'erp', stream: 'products', fields: row, place: { file: 'a.csv', line: 2 }, issues: [] };
  const result = mapper.map(record, ({ key }) => ({ values: key in CODES ? [CODES[key] ?? null] : [], isRead: true }));
  if (result.status !== 'quarantined' || result.issues.length !== 1) throw new Error(JSON.stringify(result));
  const [issue] = result.issues;
  if (issue === undefined) throw new Error('no issue');
  return { text: formatIssue(issue, { fields: row }), columns: columnsAtFault(row, issue), cure: issue.cure ?? '' };
}

describe('an issue about a value of a lookup table', () => {
  it.each<[string, string, JsonObject, string]>([
    [
      'gtin',
      'gtin(lookup("codes", row.MATNR))',
      { MATNR: 'MANG01' },
      `${TABLE} "MANG01": The check digit of GTIN 4006381333932 is 2 and should be`,
    ],
    ['name', 'lookup("codes", row.MATNR)', { MATNR: 'MANG02' }, `${TABLE} "MANG02": `],
    ['country_of_origin', 'country(lookup("codes", row.L, row.MATNR))', { MATNR: 'M', L: 'LAND' }, `${TABLE} "LAND": `],
    ['name', 'row.MATNR + string(decimal(lookup("codes", row.F)))', { MATNR: 'M', F: 'FACTOR' }, `${TABLE} "FACTOR": `],
  ])('names the table, its column and the key: %s = %s', async (field, expression, row, text) => {
    const found = await seen(field, expression, row);
    expect(found.text).toContain(text);
    expect(found.text).not.toMatch(/^columns? |Found: MANG/);
    expect(found.columns).toEqual([]);
  });

  it('says to fill the value in the table', async () => {
    expect((await seen('name', 'lookup("codes", row.MATNR)', { MATNR: 'MANG02' })).cure).toContain('lookup table');
  });

  it.each<[string, JsonObject, string]>([
    ['country(lookup("codes", row.L))', { MATNR: 'M', L: 'NONE' }, 'L'],
    ['country(lookup("codes", row.L, row.C))', { MATNR: 'M', L: 'NONE', C: 'Nowhere' }, 'C'],
    ['country(row.C) + lookup("codes", row.L)', { MATNR: 'M', L: 'LAND', C: 'Nowhere' }, 'C'],
  ])('names the column of the row where the value of the row is wrong: %s', async (expression, row, column) => {
    const found = await seen('country_of_origin', expression, row);
    expect(found.columns).toEqual([column]);
    expect(found.text).toMatch(new RegExp(`^column ${column} `));
  });
});
