import { describe, expect, it } from 'vitest';
import type { ForeignCode, Issue } from '../../../src/domain/issue.ts';
import { type Item, partRef } from '../../../src/domain/item.ts';
import type { MapResult } from '../../../src/domain/mapping.ts';
import type { Expectation } from '../../../src/domain/mapping-case.ts';
import type { JsonObject, JsonValue } from '../../../src/lib/json.ts';
import { compareCase, expectationOf } from '../../../src/pipeline/cases/compare-case.ts';

const product = (key: string, payload: JsonObject = { sku: key, name: 'Pump' }): Item => ({
  kind: 'product',
  key,
  payload,
  refs: [],
});
const bomItem = (key: string, quantity = '2.5'): Item => ({
  kind: 'bom_item',
  key,
  payload: { quantity },
  refs: [{ role: 'product', kind: 'product', key: 'A' }, partRef('B')],
});
const mapped = (...items: Item[]): MapResult => ({
  status: 'mapped',
  items: items.map((item) => ({ ...item, mapping: 0 })),
});
const issue = (code: string, field?: string, value?: JsonValue): Issue => ({
  code: code as ForeignCode,
  message: `It has ${code}.`,
  ...(field === undefined ? {} : { field }),
  ...(value === undefined ? {} : { value }),
});
const quarantined = (issues: Issue[], items?: Item[]): MapResult => ({
  status: 'quarantined',
  issues,
  blockedProducts: [],
  ...(items === undefined ? {} : { items: items.map((item) => ({ ...item, mapping: 0 })) }),
});
const EXCLUDED: MapResult = { status: 'excluded' };

/** The differences by their paths: what was expected, and what it got. */
function compared(expected: Expectation, result: MapResult): Record<string, [unknown, unknown]> {
  return Object.fromEntries(
    compareCase(expected, result).map(({ path, expected: wanted, got }) => [path.join('.'), [wanted, got]]),
  );
}

describe('a case', () => {
  it.each<[string, MapResult]>([
    ['items', mapped(product('A'), bomItem('A/1'))],
    ['issues', quarantined([issue('a.b', 'name', 'x'), issue('a.b', 'sku')])],
    ['items beside an issue', quarantined([issue('a.b')], [product('A')])],
    ['an excluded row', EXCLUDED],
  ])('a case passes with what the result was before: %s', (_what, result) => {
    expect(compared(expectationOf(result), result)).toEqual({});
  });

  it('a case fails for each field that has changed, is gone, or is new', () => {
    const expected: Expectation = {
      items: [
        { kind: 'product', key: 'A', fields: { sku: 'A', name: 'Pump', gtin: '1', size: { height: 1, width: 2 } } },
      ],
    };
    const result = mapped(product('A', { sku: 'A', name: 'Motor', status: 'DRAFT', size: { height: 1, width: 3 } }));
    expect(compared(expected, result)).toEqual({
      'items.0.fields.name': ['Pump', 'Motor'],
      'items.0.fields.gtin': ['1', undefined],
      'items.0.fields.size.width': [2, 3],
      'items.0.fields.status': [undefined, 'DRAFT'],
    });
    expect(compareCase(expected, result)[0]).toMatchObject({ item: { kind: 'product', key: 'A' } });
  });

  it('a case compares neither fields nor refs that it leaves out', () => {
    expect(compared({ items: [{ kind: 'bom_item', key: 'A/1' }] }, mapped(bomItem('A/1')))).toEqual({});
    const withRefs: Expectation = { items: [{ kind: 'bom_item', key: 'A/1', refs: { product: 'A', material: 'B' } }] };
    expect(compared(withRefs, mapped(bomItem('A/1')))).toEqual({
      'items.0.refs.material': ['B', undefined],
      'items.0.refs.part': [undefined, 'B'],
    });
  });

  it('a case finds items in any order, and fails for one that is missing or that it does not have', () => {
    const expected: Expectation = {
      items: [
        { kind: 'product', key: 'A' },
        { kind: 'bom_item', key: 'A/1' },
      ],
    };
    expect(compared(expected, mapped(bomItem('A/1'), product('A')))).toEqual({});
    expect(compared(expected, mapped(bomItem('A/1')))).toEqual({
      'items.0': [{ kind: 'product', key: 'A' }, undefined],
    });
    expect(compared(expected, mapped(product('A'), bomItem('A/1'), bomItem('A/2')))).toEqual({
      'items.2': [undefined, expect.objectContaining({ kind: 'bom_item', key: 'A/2', fields: { quantity: '2.5' } })],
    });
  });

  it('a case compares an item whose key has changed with the item of its kind that is left', () => {
    const expected = expectationOf(mapped(product('A'), product('B')));
    expect(compared(expected, mapped(product('B'), product('0A')))).toEqual({
      'items.0.key': ['A', '0A'],
      'items.0.fields.sku': ['A', '0A'],
    });
  });

  it('a case may have the values of canonical fields as numbers, and other values only as they are', () => {
    const expected = (fields: JsonObject): Expectation => ({ items: [{ kind: 'bom_item', key: '1', fields }] });
    const item: Item = {
      ...bomItem('1'),
      payload: { quantity: '2.5', mass: { value: '0.3', unit: 'KGM' }, position: '10', own: '7' },
    };
    const fields = { quantity: 2.5, mass: { value: '0.30', unit: 'KGM' }, position: 10, own: '7' };
    expect(compared(expected(fields), mapped(item))).toEqual({});
    expect(compared(expected({ ...fields, own: 7 }), mapped(item))).toEqual({ 'items.0.fields.own': [7, '7'] });
    expect(compared(expected({ ...fields, position: '010' }), mapped(item))).toEqual({
      'items.0.fields.position': ['010', '10'],
    });
  });

  it('a case fails for an issue that it does not expect, and says nothing more about the items that are missing then', () => {
    const expected = expectationOf(mapped(product('A'), product('B')));
    expect(compared(expected, quarantined([issue('a.b', 'name', 'x')]))).toEqual({
      'issue.0': [undefined, { code: 'a.b', field: 'name', value: 'x', message: 'It has a.b.' }],
    });
  });

  it('a case expects all issues of the row, and compares the field and the value only if it has them', () => {
    const result = quarantined([issue('a.b', 'name', 'x'), issue('c.d', 'sku')]);
    expect(compared({ issue: [{ code: 'c.d' }, { code: 'a.b', value: 'x' }] }, result)).toEqual({});
    expect(compared({ issue: [{ code: 'a.b' }] }, result)).toEqual({
      'issue.1': [undefined, { code: 'c.d', field: 'sku', message: 'It has c.d.' }],
    });
    expect(compared({ issue: [{ code: 'a.b', field: 'sku' }, { code: 'c.d' }] }, result)).toEqual({
      'issue.0': [
        { code: 'a.b', field: 'sku' },
        { code: 'a.b', field: 'name', value: 'x', message: 'It has a.b.' },
      ],
    });
    expect(compared({ issue: [{ code: 'a.b', value: 'y' }, { code: 'c.d' }, { code: 'e.f' }] }, result)).toEqual({
      'issue.0': [{ code: 'a.b', value: 'y' }, expect.objectContaining({ code: 'a.b', value: 'x' })],
      'issue.2': [{ code: 'e.f' }, undefined],
    });
  });

  it('a case of items beside an issue fails if the issue now keeps all items back', () => {
    const expected = expectationOf(quarantined([issue('a.b')], [product('A')]));
    expect(compared(expected, quarantined([issue('a.b')]))).toEqual({
      'items.0': [expect.objectContaining({ key: 'A' }), undefined],
    });
  });

  it('a case of an issue alone fails if items of the row are used nevertheless', () => {
    expect(compared({ issue: [{ code: 'a.b' }] }, quarantined([issue('a.b')], [product('A')]))).toEqual({
      'items.0': [undefined, expect.objectContaining({ key: 'A' })],
    });
  });

  it('a case of an excluded row fails if the row is taken, and every other case if the row is excluded', () => {
    expect(compared({ excluded: true }, mapped(product('A')))).toEqual({
      excluded: [true, undefined],
      'items.0': [undefined, expect.objectContaining({ key: 'A' })],
    });
    expect(compared({ excluded: true }, quarantined([issue('a.b')]))).toEqual({
      excluded: [true, undefined],
      'issue.0': [undefined, expect.objectContaining({ code: 'a.b' })],
    });
    expect(compared({ items: [{ kind: 'product', key: 'A' }] }, EXCLUDED)).toEqual({ excluded: [undefined, true] });
  });
});
