import type { Database } from 'better-sqlite3';
import { z } from 'zod';
import type { OperationName } from '../api/endpoints.ts';
import {
  COLUMNS,
  type Collection,
  createCollection,
  createIdScheme,
  createMemoryCollection,
} from '../items/collection.ts';
import type { SandboxSettings } from '../settings/settings.ts';
import { openDatabase } from './database.ts';
import { createIdempotencyRecords, createMemoryIdempotencyRecords } from './idempotency.ts';

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

/** How many times an item was written successfully. More than one creation of one natural key is a double. */
export interface WriteCount {
  organization: string;
  operation: OperationName;
  naturalKey: string;
  count: number;
}

/** Counts the successful writes of a storage. */
export interface WriteCounts {
  /** Call it in the transaction that writes, so that the count and the effect cannot differ after a crash. */
  add(organizationId: number, operation: OperationName, naturalKey: string): void;
  list(): WriteCount[];
}

export function createWriteCounts(database: Database): WriteCounts {
  const count = database.prepare(
    `INSERT INTO write_count (organization_id, operation, natural_key, count) VALUES (?, ?, ?, 1)
     ON CONFLICT DO UPDATE SET count = count + 1`,
  );
  const list = database.prepare<[], WriteCount>(
    `SELECT o.name AS organization, w.operation, w.natural_key AS naturalKey, w.count
     FROM write_count w JOIN organization o ON o.id = w.organization_id
     ORDER BY w.organization_id, w.operation, w.natural_key`,
  );
  return {
    add(organizationId, operation, naturalKey) {
      count.run(organizationId, operation, naturalKey);
    },
    list: () => list.all(),
  };
}

/** Counts in the memory of the process. */
export function createMemoryWriteCounts(organizations: OrganizationStore): WriteCounts {
  const counts = new Map<number, Map<OperationName, Map<string, number>>>();
  return {
    add(organizationId, operation, naturalKey) {
      const byOperation = entry(counts, organizationId, () => new Map<OperationName, Map<string, number>>());
      const byKey = entry(byOperation, operation, () => new Map<string, number>());
      byKey.set(naturalKey, (byKey.get(naturalKey) ?? 0) + 1);
    },
    list: () =>
      organizations
        .list()
        .flatMap(({ id, name }) =>
          sorted(counts.get(id)).flatMap(([operation, byKey]) =>
            sorted(byKey).map(([naturalKey, count]) => ({ organization: name, operation, naturalKey, count })),
          ),
        ),
  };
}

function entry<K, V>(map: Map<K, V>, key: K, make: () => V): V {
  const known = map.get(key);
  if (known !== undefined) return known;
  const made = make();
  map.set(key, made);
  return made;
}

function sorted<K extends string, V>(map: Map<K, V> | undefined): [K, V][] {
  return [...(map ?? [])].sort(([a], [b]) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
}

/** The plan of an organisation. Only `enterprise` has access to the API. */
export const PLANS = ['enterprise', 'standard'] as const;
export type Plan = (typeof PLANS)[number];

/** Stores the organisations. */
export function createOrganizationStore(database: Database) {
  const add = database.prepare(
    `INSERT INTO organization (name, plan) VALUES (?, 'enterprise') ON CONFLICT (name) DO NOTHING`,
  );
  const find = database.prepare<[string], number>('SELECT id FROM organization WHERE name = ?').pluck();
  const setPlan = database.prepare('UPDATE organization SET plan = ? WHERE name = ?');
  const list = database.prepare<[], { id: number; name: string; plan: Plan }>(
    'SELECT id, name, plan FROM organization ORDER BY id',
  );
  const ensure = (name: string): number => {
    add.run(name);
    return find.get(name) ?? 0;
  };
  return {
    /** The number of an organisation. A new organisation gets the enterprise plan. */
    ensure,
    find: (name: string): number | undefined => find.get(name),
    setPlan(name: string, plan: Plan): void {
      ensure(name);
      setPlan.run(z.enum(PLANS).parse(plan), name);
    },
    list: (): { id: number; name: string; plan: Plan }[] => list.all(),
  };
}

export type OrganizationStore = ReturnType<typeof createOrganizationStore>;
