import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { JsonObject } from '../../../src/lib/json.ts';
import { ownData, stampData, toStorableText } from '../../../src/queue/bullmq-queues.ts';

const text = fc.string({ unit: 'binary' });
const data = fc.dictionary(text, fc.jsonValue()) as fc.Arbitrary<JsonObject>;

test('the data of a job come out as they went in', () => {
  fc.assert(
    fc.property(data, (original) => {
      const stored: unknown = JSON.parse(JSON.stringify(stampData(original)));
      expect(ownData(stored)).toEqual(JSON.parse(JSON.stringify(original)));
    }),
  );
});

test('the data of a job of another version, or of somebody else, count as none', () => {
  const ofTheFirstVersion = { type: 'failed', deliveryId: 1, kind: 'product', key: 'A-1' };
  const ofTheNext = { ...stampData({ type: 'failed' }), dppSync: 4 };
  for (const stored of [ofTheFirstVersion, ofTheNext, {}, null, undefined, 'text', 7, [1]]) {
    expect(ownData(stored)).toBeNull();
  }
});

test('a text for a job becomes storable and no longer than 4,000 characters', () => {
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
