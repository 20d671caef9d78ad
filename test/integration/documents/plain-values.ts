// Values that differ between two runs of one test become words that keep their form.

import type { World } from '../../support/worlds/world.ts';

const UUID = /\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b/g;
const DIGEST = /\b[0-9a-f]{64}\b/g;
const COMPACT_TIME = /\b\d{8}T\d{6}Z/g;
/** Members whose value differs between runs: ids in the order of arrival, sizes, durations, rates, counts of requests. */
const VARIES = /^(remoteId|productId|idempotencyKey|bytes|now|sent|throttled|retried)$|(Ms|Bytes)$/;

/** Replaces times, ids, digests and paths in a document by words for their form. */
export function plainValues(value: unknown, world: Pick<World, 'folder' | 'baseUrl'>, name = ''): unknown {
  if (Array.isArray(value)) return value.map((entry) => plainValues(entry, world, name));
  if (typeof value === 'object' && value !== null) {
    return Object.fromEntries(Object.entries(value).map(([key, entry]) => [key, plainValues(entry, world, key)]));
  }
  if (typeof value === 'number') {
    // Milliseconds since 1970.
    if (value > 1.5e12 && value < 4e12) return '<ms since 1970>';
    return VARIES.test(name) ? '<number>' : value;
  }
  if (typeof value !== 'string') return value;
  if (VARIES.test(name)) return '<text>';
  return plainText(value, world);
}

function plainText(text: string, { folder, baseUrl }: Pick<World, 'folder' | 'baseUrl'>): string {
  return text
    .replaceAll(folder, '<folder>')
    .replaceAll(baseUrl, '<platform>')
    .replaceAll(/\b127\.0\.0\.1:\d+/g, '127.0.0.1:<port>')
    .replaceAll(/\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{3})?Z/g, (_, millis) => (millis ? '<ISO UTC ms>' : '<ISO UTC>'))
    .replaceAll(/\b\d{4}-\d\d-\d\d \d\d:\d\d(:\d\d)?( UTC)?/g, '<time>')
    .replaceAll(COMPACT_TIME, '<compact time>')
    .replaceAll(UUID, '<uuid>')
    .replaceAll(DIGEST, '<digest>');
}
