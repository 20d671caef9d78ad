import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { JsonObject } from '../../src/lib/json.ts';
import { decodeData, encodeData, toStorableText } from '../../src/queue/doorbell-codec.ts';

const text = fc.string({ unit: 'binary' });
const data = fc.dictionary(
  fc.oneof(text, fc.constant('base64Json')),
  fc.oneof(text, fc.constant('\0'), fc.constant('\ud800'), fc.jsonValue()),
) as fc.Arbitrary<JsonObject>;

test('data come out as they went in, and hold nothing that jsonb refuses on the way', () => {
  fc.assert(
    fc.property(data, (original) => {
      const stored = JSON.stringify(encodeData(original));
      expect(stored).not.toMatch(/(?<!\\)(?:\\\\)*\\u(?:0000|d[89a-f])/i);
      expect(decodeData(JSON.parse(stored))).toEqual(JSON.parse(JSON.stringify(original)));
    }),
  );
});

test('ordinary data stay readable', () => {
  const ordinary = { key: 'Größe 🧵', ids: [1, 2] };
  expect(encodeData(ordinary)).toBe(ordinary);
});

test('data that are no object count as empty', () => {
  for (const stored of [null, undefined, 'text', 7, [1]]) expect(decodeData(stored)).toEqual({});
});

test('text becomes storable and no longer than 4,000 characters', () => {
  fc.assert(
    fc.property(fc.oneof(text, fc.string({ unit: 'binary', minLength: 4_100, maxLength: 4_200 })), (original) => {
      const stored = toStorableText(original);
      expect(stored).not.toContain('\0');
      expect(stored.isWellFormed()).toBe(true);
      expect(stored.length).toBeLessThanOrEqual(4_000);
    }),
  );
  expect(toStorableText('as it is ✓')).toBe('as it is ✓');
  expect(toStorableText(`${'x'.repeat(3_998)}🧵🧵`)).toBe(`${'x'.repeat(3_998)}\uFFFD…`);
});
