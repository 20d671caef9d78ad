import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createCollection, createIdScheme, createMemoryCollection } from '../../../src/sandbox/items/collection.ts';
import { openDatabase } from '../../../src/sandbox/storage/database.ts';
import { createIdempotencyRecords, createMemoryIdempotencyRecords } from '../../../src/sandbox/storage/idempotency.ts';
import {
  createMemoryWriteCounts,
  createOrganizationStore,
  createWriteCounts,
} from '../../../src/sandbox/storage/storage.ts';

const ids = createIdScheme('numeric');
const COLUMNS = ['code', 'uncoded_name'];

/** A database with two organisations, closed at the end. */
function withDatabase<T>(work: (database: ReturnType<typeof openDatabase>) => T): T {
  const database = openDatabase({ storage: ':memory:', ids: 'numeric' });
  try {
    for (const name of ['acme', 'rival']) createOrganizationStore(database).ensure(name);
    return work(database);
  } finally {
    database.close();
  }
}

const organization = fc.constantFrom(1, 2);
const code = fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f', null);

test('tables and plain structures hold the same rows, whatever is done to them', () => {
  const step = fc.record({ organization, code, id: fc.integer({ min: 1, max: 12 }), updates: fc.boolean() });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 40 }), (steps) =>
      withDatabase((database) => {
        const both = [
          createCollection(database, ids, { table: 'material', columns: COLUMNS }),
          createMemoryCollection(ids, { columns: COLUMNS }),
        ];
        for (const [now, { organization: owner, code: value, id, updates }] of steps.entries()) {
          const taken = value !== null && both[0]?.find(owner, 'code', value) !== undefined;
          for (const collection of both) {
            const known = collection.get(owner, id);
            const columns = { code: taken ? null : value, uncoded_name: null };
            const row = { columns, fields: { step: now }, now };
            if (updates && known) collection.update(known, row);
            if (!updates) collection.insert(owner, row);
          }
        }
        const views = both.map((collection) =>
          [1, 2].map((owner) => [
            collection.count(owner),
            collection.slice(owner, { offset: 0, limit: 100 }),
            collection.slice(owner, { offset: 3, limit: 2 }),
            Array.from({ length: 13 }, (_, id) => collection.get(owner, id)),
            ['a', 'b', 'c', 'z'].map((one) => [
              collection.find(owner, 'code', one),
              collection.all(owner, 'code', one),
            ]),
          ]),
        );
        expect(views[1]).toEqual(views[0]);
      }),
    ),
    { numRuns: 200 },
  );
});

test('tables and plain structures keep the same idempotency records, for as long and as many as they are told', () => {
  const step = fc.record({
    organizationId: organization,
    key: fc.constantFrom('a', 'b', 'c', 'd', 'e'),
    wait: fc.nat(400),
  });
  const keysMax = fc.option(fc.integer({ min: 1, max: 4 }));
  fc.assert(
    fc.property(fc.array(step, { maxLength: 40 }), keysMax, (steps, most) =>
      withDatabase((database) => {
        const retention = { retentionMs: 1000, keysMax: most };
        const both = [createIdempotencyRecords(database, retention), createMemoryIdempotencyRecords(retention)];
        let now = 0;
        for (const { organizationId, key, wait } of steps) {
          now += wait;
          const [table, memory] = both.map((records) => records.find({ organizationId, key }, now)?.body);
          expect(memory).toBe(table);
          for (const records of both) {
            const record = { fingerprint: 'f', status: 201, headers: null, type: null, body: `${now}` };
            records.keep({ organizationId, key }, record, now);
          }
        }
      }),
    ),
    { numRuns: 200 },
  );
});

test('tables and plain structures count writes alike and in the same order', () => {
  const write = fc.tuple(
    organization,
    fc.constantFrom('product.create', 'report.create'),
    fc.string({ unit: 'grapheme' }),
  );
  fc.assert(
    fc.property(fc.array(write, { maxLength: 30 }), (writes) =>
      withDatabase((database) => {
        const both = [createWriteCounts(database), createMemoryWriteCounts(createOrganizationStore(database))];
        for (const counts of both) {
          for (const [owner, operation, key] of writes) counts.add(owner, operation, key.replaceAll('\0', ''));
        }
        expect(both[1]?.list()).toEqual(both[0]?.list());
      }),
    ),
  );
});
