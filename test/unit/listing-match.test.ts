import { expect, it } from 'vitest';
import { createListingMatches } from '../../src/delivery/unconfirmed/listing-match.ts';
import type { NaturalKey } from '../../src/domain/natural-key.ts';
import type { ListableKind } from '../../src/domain/ports/target.ts';
import type { JsonObject } from '../../src/lib/json.ts';
import { covers } from '../support/reliability.ts';

const FIELDS = { product: ['sku'], material: ['code', 'name'] } as const;

/** What a listing of these entries says of what was sent under this key: the ids that it is found as, or why that is unclear. */
function sighting(kind: ListableKind, [field, value]: readonly [string, string], entries: JsonObject[]) {
  const key: NaturalKey = { field, value };
  const sightings = createListingMatches(kind, { fields: FIELDS[kind], keys: [key] });
  for (const [index, fields] of entries.entries()) sightings.add({ remoteId: index, naturalKey: null, fields });
  const { found, unclear } = sightings.of(key);
  return unclear ?? found.map(({ remoteId }) => remoteId);
}

it('finds what is shown under the key that was sent', () => {
  expect(sighting('product', ['sku', 'A-1'], [{ sku: 'A-2' }, { sku: 'A-1' }])).toEqual([1]);
  expect(sighting('product', ['sku', '17'], [{ sku: 17 }])).toEqual([0]);
  expect(sighting('product', ['sku', 'Mu\u0308ller'], [{ sku: 'M\u00fcller' }])).toEqual([0]);
  expect(sighting('material', ['name', 'Steel'], [{ code: null, name: 'Steel' }])).toEqual([0]);
  expect(sighting('material', ['code', 'S'], [{ code: 'S', name: 'Steel' }])).toEqual([0]);
});

it('takes what no entry shows for absent, where each shows what it has', () => {
  expect(sighting('product', ['sku', 'A-1'], [{ sku: 'A-2' }, { sku: null }, { sku: '' }])).toEqual([]);
  expect(sighting('material', ['name', 'Steel'], [{ code: 'C', name: 'Copper' }])).toEqual([]);
});

it(
  'proves nothing where an entry may be the item, shown otherwise than it was sent',
  covers('answer-lost', 'I6'),
  () => {
    expect(sighting('product', ['sku', 'a-1'], [{ name: 'Fan' }])).toMatch(/does not show the sku/);
    expect(sighting('product', ['sku', 'a-1'], [{ sku: 'A-1' }])).toMatch(/"A-1", which may be this one/);
    expect(sighting('product', ['sku', 'a-1'], [{ sku: ' a-1 ' }])).toMatch(/may be this one/);
    const coded = [{ code: 'MAT-1', name: 'Steel' }];
    expect(sighting('material', ['name', 'Steel'], coded)).toMatch(/a code that was not sent/);
  },
);

it('says whether an entry shows none of the fields that tell items apart', () => {
  const hides = (fields: JsonObject): boolean => {
    const sightings = createListingMatches('material', { fields: FIELDS.material, keys: [] });
    sightings.add({ remoteId: 1, naturalKey: null, fields });
    return sightings.hidesKeys();
  };
  expect([hides({}), hides({ name: 'Steel' }), hides({ code: null })]).toEqual([true, false, false]);
});
