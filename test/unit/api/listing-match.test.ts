import { expect, it } from 'vitest';
import { createListingMatches } from '../../../src/delivery/unconfirmed/decide-read-back.ts';
import type { NaturalKey } from '../../../src/domain/natural-key.ts';
import type { ListableKind } from '../../../src/domain/ports/target.ts';
import type { JsonObject } from '../../../src/lib/json.ts';
import { covers } from '../../support/docs/reliability.ts';

const FIELDS = { product: ['sku'], material: ['code', 'name'] } as const;

/** The match of a key in a listing of these entries: the ids that were found, or why the match is unclear. */
function match(kind: ListableKind, [field, value]: readonly [string, string], entries: JsonObject[]) {
  const key: NaturalKey = { field, value };
  const matches = createListingMatches(kind, { fields: FIELDS[kind], keys: [key] });
  for (const [index, fields] of entries.entries()) matches.add({ remoteId: index, naturalKey: null, fields });
  const { found, unclear } = matches.of(key);
  return unclear ?? found.map(({ remoteId }) => remoteId);
}

it('the listing match finds the entry under the key that was sent', () => {
  expect(match('product', ['sku', 'A-1'], [{ sku: 'A-2' }, { sku: 'A-1' }])).toEqual([1]);
  expect(match('product', ['sku', '17'], [{ sku: 17 }])).toEqual([0]);
  expect(match('product', ['sku', 'Mu\u0308ller'], [{ sku: 'M\u00fcller' }])).toEqual([0]);
  expect(match('material', ['name', 'Steel'], [{ code: null, name: 'Steel' }])).toEqual([0]);
  expect(match('material', ['code', 'S'], [{ code: 'S', name: 'Steel' }])).toEqual([0]);
});

it('the listing match counts an item as absent if no entry shows it and every entry shows its key', () => {
  expect(match('product', ['sku', 'A-1'], [{ sku: 'A-2' }, { sku: null }, { sku: '' }])).toEqual([]);
  expect(match('material', ['name', 'Steel'], [{ code: 'C', name: 'Copper' }])).toEqual([]);
});

it('the listing match proves nothing if an entry may be the item in another form', covers('answer-lost', 'I6'), () => {
  expect(match('product', ['sku', 'a-1'], [{ name: 'Fan' }])).toMatch(/does not show the sku/);
  expect(match('product', ['sku', 'a-1'], [{ sku: 'A-1' }])).toMatch(
    /"A-1", which may be this product in another form/,
  );
  expect(match('product', ['sku', 'a-1'], [{ sku: ' a-1 ' }])).toMatch(/may be this product/);
  const coded = [{ code: 'MAT-1', name: 'Steel' }];
  expect(match('material', ['name', 'Steel'], coded)).toMatch(/a code that was not sent/);
});

it('the listing match reports an entry that shows none of the natural keys', () => {
  const hides = (fields: JsonObject): boolean => {
    const matches = createListingMatches('material', { fields: FIELDS.material, keys: [] });
    matches.add({ remoteId: 1, naturalKey: null, fields });
    return matches.hidesKeys();
  };
  expect([hides({}), hides({ name: 'Steel' }), hides({ code: null })]).toEqual([true, false, false]);
});
