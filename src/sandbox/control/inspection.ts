import type { JsonObject } from '../../lib/json.ts';
import type { KeyRecord, KeyStore } from '../access/keys.ts';
import type { OperationName } from '../api/endpoints.ts';
import type { FaultRule, Faults, FaultUse } from '../faults/faults.ts';
import { type Collection, present } from '../items/collection.ts';
import type { Journal, SandboxEvent } from '../storage/journal.ts';
import type { OrganizationStore, Plan, WriteCount, WriteCounts } from '../storage/storage.ts';

/** The names of the kinds of resources in a snapshot. */
type ResourceKind = 'products' | 'materials' | 'bomItems' | 'passports' | 'publications' | 'reports';

/** Everything that an organisation has, in the form of the API. */
export interface OrganizationSnapshot extends Record<ResourceKind, JsonObject[]> {
  plan: Plan;
}

/** Counts of requests and writes, without their contents. */
export interface SandboxStatistics {
  /** Requests since the process started, by operation (`other` where there is none), then by status or `reset`. */
  requests: Record<string, Record<string, number>>;
  /** How many of the requests were answered 429. */
  throttled: number;
  /** How many requests were answered from an idempotency record. */
  replayed: number;
  /** Successful writes over the life of the storage. */
  writes: WriteCount[];
  /** The writes that created the same item more than once. */
  duplicates: WriteCount[];
  faults: FaultUse[];
  /** Requested faults that never happened. */
  unusedFaults: FaultRule[];
}

/** The sandbox at one instant. It holds no full key. */
export interface SandboxSnapshot extends SandboxStatistics {
  /** The contents of the organisations, by name. */
  organizations: Record<string, OrganizationSnapshot>;
  keys: KeyRecord[];
  /** The last requests, oldest first. */
  events: SandboxEvent[];
}

/** The parts that a snapshot shows. */
interface InspectedParts {
  collections: Record<ResourceKind, Collection>;
  organizations: OrganizationStore;
  keys: KeyStore;
  journal: Journal;
  writeCounts: WriteCounts;
  faults: Faults;
  /** Stores the imports that are due by now. */
  storeDue: () => void;
}

/** Shows all data of the sandbox, for tests and for people. */
export function createInspection({
  collections,
  organizations,
  keys,
  journal,
  writeCounts,
  faults,
  storeDue,
}: InspectedParts) {
  const kinds = Object.entries(collections) as [ResourceKind, Collection][];
  const contentsOf = (organizationId: number): Record<ResourceKind, JsonObject[]> =>
    Object.fromEntries(
      kinds.map(([kind, collection]) => [
        kind,
        collection.slice(organizationId, { offset: 0, limit: collection.count(organizationId) }).map(present),
      ]),
    ) as Record<ResourceKind, JsonObject[]>;

  const statistics = (): SandboxStatistics => {
    storeDue();
    const requests = journal.requests();
    const writes = writeCounts.list();
    return {
      requests,
      throttled: Object.values(requests).reduce((total, counts) => total + (counts['429'] ?? 0), 0),
      replayed: journal.replayed(),
      writes,
      duplicates: writes.filter(({ operation, count }) => count > 1 && isCreation(operation)),
      faults: faults.list(),
      unusedFaults: faults.unused(),
    };
  };
  return {
    statistics,
    snapshot: (): SandboxSnapshot => ({
      ...statistics(),
      organizations: Object.fromEntries(
        organizations.list().map(({ id, name, plan }) => [name, { plan, ...contentsOf(id) }]),
      ),
      keys: keys.list(),
      events: journal.events(),
    }),
  };
}

/** True for a create. An item that is updated, imported or published again is not a double. */
function isCreation(operation: OperationName): boolean {
  return operation.endsWith('.create');
}
