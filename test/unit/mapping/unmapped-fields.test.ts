import { expect, it } from 'vitest';
import type { Reason } from '../../../src/domain/delivery/stored-reason.ts';
import { unmappedCure } from '../../../src/domain/passport.ts';

const FROM = { source: 'erp', stream: 'products' };
const MAPPED = [{ ...FROM, path: 'sources[0].mappings[0]', fields: ['sku', 'name', 'status'] }];

function cureOf(reason: Partial<Reason>): string | null {
  return unmappedCure({ code: 'gate', message: 'The passport cannot be published.', ...reason }, FROM, MAPPED);
}

it.each([
  { message: 'gtin is missing.' },
  { message: 'Missing: "gtin".' },
  { fields: { missing: 'bom_items, gtin' } },
  { fields: { gtin: 'has no value' } },
])('the field that no mapping gives is found in the refusal %j', (reason) => {
  expect(cureOf(reason)).toBe(
    'No mapping gives gtin to the product. Add it to `fields` of sources[0].mappings[0] in the config.',
  );
});

it('several fields that no mapping gives are named together', () => {
  expect(cureOf({ fields: { missing: 'gtin, country_of_origin, status' } })).toBe(
    'No mapping gives country_of_origin, gtin to the product. Add them to `fields` of sources[0].mappings[0] in the config.',
  );
});

it('mapped fields, fields of materials, other refusals and unknown streams are not reported as unmapped', () => {
  expect(cureOf({ fields: { missing: 'status, review' } })).toBeNull();
  expect(cureOf({ fields: { missing: 'materials[ST-1].description' } })).toBeNull();
  expect(cureOf({ code: 'refused', message: 'gtin is missing.' })).toBeNull();
  const reason: Reason = { code: 'gate', message: 'gtin is missing.' };
  expect(unmappedCure(reason, { source: 'erp', stream: 'parts' }, MAPPED)).toBeNull();
  expect(unmappedCure(reason, null, MAPPED)).toBeNull();
});
