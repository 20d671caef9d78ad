import { expect, it } from 'vitest';
import { isMisspelt } from '../../../src/lib/text/suggest.ts';

it.each([
  ['prat', 'part'],
  ['Part', 'PART'],
  ['part', 'parts'],
  ['aprt', 'PART'],
  ['spare_part', 'sparepart'],
  ['FIELD01', 'FIEDL01'],
])('a misspelt name is recognised: %s and %s', (name, other) => {
  expect(isMisspelt(name, other)).toBe(true);
  expect(isMisspelt(other, name)).toBe(true);
});

it.each([
  ['part', 'part'],
  ['E1MARAM', 'E1MARCM'],
  ['FIELD12', 'FIELD21'],
  ['ITEM', 'ITEM2'],
  ['part', 'port'],
  ['part', 'trap'],
  ['a', 'ab'],
  ['ab', 'ba'],
  ['product', 'products_removed'],
])('different names are not recognised as misspelt: %s and %s', (name, other) => {
  expect(isMisspelt(name, other)).toBe(false);
  expect(isMisspelt(other, name)).toBe(false);
});
