import type { Database } from 'better-sqlite3';
import type { OperationName } from '../api/endpoints.ts';
import type { OrganizationStore } from './organizations.ts';

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
