import type { Database } from 'better-sqlite3';
import { COLUMNS, type Collection, type Collections, createCollection } from '../items/collection.ts';
import { createIdScheme, type IdScheme } from '../items/ids.ts';
import { createMemoryCollection } from '../items/memory-collection.ts';
import type { SandboxSettings } from '../settings/settings.ts';
import { openDatabase } from './database.ts';
import { createIdempotencyRecords, createMemoryIdempotencyRecords, type IdempotencyRecords } from './idempotency.ts';
import { createOrganizationStore, type OrganizationStore } from './organizations.ts';
import { createMemoryWriteCounts, createWriteCounts, type WriteCounts } from './write-counts.ts';

/** The storage of a sandbox. */
export interface Storage {
  /** The database. It has the organisations, keys and users even if all other data is in memory. */
  database: Database;
  ids: IdScheme;
  organizations: OrganizationStore;
  collections: Collections;
  writeCounts: WriteCounts;
  records: IdempotencyRecords;
  /**
   * Runs work that writes, as one transaction. In memory no transaction is needed, because nothing has to survive a
   * crash.
   */
  transact<T>(work: () => T): T;
}

/** Runs and counts writes. */
export type Writing = Pick<Storage, 'transact' | 'writeCounts'>;

/**
 * Opens a file, or the memory of the process. In memory, the data of every request is in plain structures instead of
 * tables. A statement costs many times more than the rest of a request, and a benchmark must not measure the sandbox.
 *
 * @throws Fault when the file cannot be used.
 */
export function openStorage(settings: SandboxSettings): Storage {
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
    transact: inMemory ? (work) => work() : <T>(work: () => T) => run.immediate(work) as T,
  };
}
