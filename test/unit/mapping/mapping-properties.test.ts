import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseItem } from '../../../src/domain/item.ts';
import { canonicalJson, type JsonObject } from '../../../src/lib/json.ts';
import { type Draft, mapperOf, mapRow } from '../../support/connectors/map-row.ts';

const cell = fc.oneof(
  fc.jsonValue({ maxDepth: 4 }),
  fc.string({ unit: 'binary' }),
  fc.constantFrom('', ' ', 'DE', 'KG', '1.5', '1,5', '20210511', 'half \ud83d', null, 0, -0, 1e21, 5, true),
) as fc.Arbitrary<JsonObject[string]>;
const row = fc.dictionary(
  fc.oneof(fc.constantFrom('A', 'B', 'C', 'constructor', '__proto__', 'toString'), fc.string()),
  cell,
) as fc.Arbitrary<JsonObject>;

describe('any row', () => {
  it('any row is mapped, excluded or quarantined, and never throws, and its items can be hashed', async () => {
    const drafts: Draft[] = [
      {
        to: 'product',
        key: 'row.A',
        when: 'row.B != "x" || row.C > 3',
        fields: {
          sku: 'row.A',
          name: 'row.A + "-" + row.B',
          gtin: 'gtin(row.C)',
          country_of_origin: 'country(row.C)',
          extra: 'row',
        },
      },
      {
        to: 'bom_item',
        key: 'row["constructor"]',
        when: 'has(row.C) && row.C != null',
        refs: { product: 'row.A', material: 'row.B', component: 'row.toString' },
        fields: {
          quantity: 'row.C * 2 + row.A',
          unit: 'unit(row.B)',
          valid_from: 'date(row.B)',
          list: 'row.A.map(x, x.y)',
        },
      },
      {
        to: 'material',
        key: 'row.B',
        fields: { name: 'row.B', any: 'row.A == row.C', in: 'row.A in row.B', nested: '{"a": row.C}' },
      },
      { to: 'material', key: '"k"', fields: { name: '"n"', copy: 'row' } },
    ];
    const mappers = [await mapperOf(drafts), ...(await Promise.all(drafts.map((draft) => mapperOf([draft]))))];
    const seen = new Set<string>();
    fc.assert(
      fc.property(row, fc.constantFrom(...mappers), (fields, mapper) => {
        const text = JSON.stringify(fields);
        const result = mapRow(mapper, fields);
        seen.add(result.status);
        expect(JSON.stringify(fields)).toBe(text);
        if (result.status === 'quarantined') {
          expect(result.issues.length).toBeGreaterThan(0);
          for (const issue of result.issues) expect(issue.code).not.toBe('mapping.failed');
        }
        if (result.status !== 'mapped') return;
        for (const { mapping, ...item } of result.items) {
          expect(mapping).toBeLessThan(4);
          canonicalJson(item.payload);
          expect(parseItem(item)).toEqual({ ok: true, value: item });
        }
      }),
      { numRuns: 3000 },
    );
    expect([...seen].sort()).toEqual(['excluded', 'mapped', 'quarantined']);
  });

  it('any row gives the same result each time', async () => {
    const mapper = await mapperOf([{ to: 'material', key: '"k"', fields: { name: 'row.A + ""', copy: 'row' } }]);
    fc.assert(
      fc.property(row, cell, (fields, a) => {
        const full = { ...fields, A: a };
        expect(mapRow(mapper, full)).toEqual(mapRow(mapper, structuredClone(full)));
      }),
    );
  });
});
