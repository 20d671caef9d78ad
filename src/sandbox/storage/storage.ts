import { COLUMNS, type Collection, createCollection } from '../items/collection.ts';
import { createIdScheme } from '../items/ids.ts';
import { createMemoryCollection } from '../items/memory-collection.ts';
import type { SandboxSettings } from '../settings/settings.ts';
import { openDatabase } from './database.ts';
import { createIdempotencyRecords, createMemoryIdempotencyRecords } from './idempotency.ts';
import { createOrganizationStore } from './organizations.ts';
import { createMemoryWriteCounts, createWriteCounts } from './write-counts.ts';

/**
 * Opens a file, or the memory of the process. In memory, the data of every request is in plain structures instead of
 * tables. A statement costs many times more than the rest of a request, and a benchmark must not measure the sandbox.
 *
 * @throws Fault when the file cannot be used.
 */
export function openStorage(settings: SandboxSettings) {
  const database = openDatabase(settings);
  const ids = createIdScheme(settings.ids);
  const organizations = createOrganizationStore(database);
  const inMemory = settings.storage === ':memory:';
  const retention = { retentionMs: settings.idempotencyRetentionMs, keysMax: settings.idempotencyKeysMax };
  const collection = (table: keyof typeof COLUMNS): Collection => {
    const columns: readonly string[] = COLUMNS[table];
    return inMemory ? createMemoryCollection(ids, { columns }) : createCollection(database, ids, { table, columns });
  };
  const run = database.transaction((work: () => unknown) => work());
  return {
    /** It has the organisations, keys and users even if all other data is in memory. */
    database,
    ids,
    organizations,
    collections: {
      products: collection('product'),
      materials: collection('material'),
      bomItems: collection('bom_item'),
      passports: collection('passport'),
      publications: collection('publication'),
      reports: collection('report'),
    },
    writeCounts: inMemory ? createMemoryWriteCounts(organizations) : createWriteCounts(database),
    records: inMemory ? createMemoryIdempotencyRecords(retention) : createIdempotencyRecords(database, retention),
    /**
     * Runs work that writes, as one transaction. In memory no transaction is needed, because nothing has to survive a
     * crash.
     */
    transact: <T>(work: () => T): T => (inMemory ? work() : (run.immediate(work) as T)),
  };
}

export type Storage = ReturnType<typeof openStorage>;

/** Runs and counts writes. */
export type Writing = Pick<Storage, 'transact' | 'writeCounts'>;
