import { expect, test } from 'vitest';
import { ENDPOINTS } from '../../../src/sandbox/api/endpoints.ts';
import { cas, gtin, isCountryCode } from '../../../src/sandbox/items/fields.ts';
import { honoursKeys } from '../../../src/sandbox/storage/idempotency.ts';

test('the sandbox knows 249 countries, each of which has a name', () => {
  const names = new Intl.DisplayNames('en', { type: 'region', fallback: 'none' });
  const letters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ'.split('');
  const codes = letters.flatMap((first) => letters.map((second) => first + second)).filter(isCountryCode);
  expect(codes).toHaveLength(249);
  expect(codes.filter((code) => names.of(code) === undefined)).toEqual([]);
});

test('a GTIN has one valid check digit of ten', () => {
  const valid = Array.from({ length: 10 }, (_, digit) => `0401234567890${digit}`).filter(
    (value) => gtin().safeParse(value).success,
  );
  expect(valid).toEqual(['04012345678901']);
});

test('the sandbox recognises CAS numbers by their check digit', () => {
  for (const number of ['7732-18-5', '7439-89-6', '50-00-0', '1317-65-3']) expect(cas().parse(number)).toBe(number);
  for (const number of ['7732-18-4', '07732-18-5', '7732185']) expect(cas().safeParse(number).success).toBe(false);
});

test('the sandbox obeys Idempotency-Key on publishing alone by default, on every write when configured, on reads never', () => {
  const publish = ENDPOINTS['passport.publish'];
  const obeyed = (mode: 'honoured' | 'publish-only' | 'ignored') =>
    [publish, ENDPOINTS['product.create'], ENDPOINTS['product.list']].map((endpoint) => honoursKeys(mode, endpoint));
  expect(obeyed('publish-only')).toEqual([true, false, false]);
  expect(obeyed('honoured')).toEqual([true, true, false]);
  expect(obeyed('ignored')).toEqual([false, false, false]);
});
