import type { Database } from 'better-sqlite3';
import type { JsonObject } from '../lib/json.ts';
import { type Collection, present } from './collection.ts';
import type { Faults, FaultUse } from './faults.ts';
import type { Journal, SandboxEvent, WriteCount } from './journal.ts';
import type { KeyRecord, KeyStore, Plan } from './keys.ts';

/** Everything that an organisation has, as the API shows it. */
export interface OrganizationSnapshot {
  plan: Plan;
  products: JsonObject[];
  materials: JsonObject[];
  bomItems: JsonObject[];
}

/** The sandbox at one instant. It holds no full key. */
export interface SandboxSnapshot {
  /** By name. */
  organizations: Record<string, OrganizationSnapshot>;
  keys: KeyRecord[];
  /** Requests since the process started, by operation (`other` where there is none), then by status or `reset`. */
  requests: Record<string, Record<string, number>>;
  /** How many of them were answered 429. */
  throttled: number;
  /** Successful writes over the life of the storage. */
  writes: WriteCount[];
  /** The last requests, oldest first. */
  events: SandboxEvent[];
  faults: FaultUse[];
}

/** What a snapshot is taken of. */
export interface InspectedParts {
  database: Database;
  collections: Record<'products' | 'materials' | 'bomItems', Collection>;
  keys: KeyStore;
  journal: Journal;
  faults: Faults;
}

/** Makes the function that takes a snapshot. */
export function createInspection(parts: InspectedParts): () => SandboxSnapshot {
  const { database, collections, keys, journal, faults } = parts;
  const organizations = database.prepare<[], { id: number; name: string; plan: Plan }>(
    'SELECT id, name, plan FROM organization ORDER BY id',
  );
  const all = (collection: Collection, organizationId: number): JsonObject[] =>
    collection.slice(organizationId, { offset: 0, limit: collection.count(organizationId) }).map(present);

  return () => {
    const requests = journal.requests();
    return {
      organizations: Object.fromEntries(
        organizations.all().map(({ id, name, plan }) => [
          name,
          {
            plan,
            products: all(collections.products, id),
            materials: all(collections.materials, id),
            bomItems: all(collections.bomItems, id),
          },
        ]),
      ),
      keys: keys.list(),
      requests,
      throttled: Object.values(requests).reduce((total, counts) => total + (counts['429'] ?? 0), 0),
      writes: journal.writes(),
      events: journal.events(),
      faults: faults.list(),
    };
  };
}
