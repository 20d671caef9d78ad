// First contact: suspends the creates of a kind until the platform's list of that kind was read and compared.
//
// The table `contacts` has one row for each source and kind, which says whether that source may create. No row is written
// for a single item: a batch counts its creates at its end, and a claim reads one row.

import type { Operation } from '../../domain/delivery/operation.ts';
import type { ContactEntry, ContactStep } from '../../domain/ports/first-contact.ts';
import type { ListableKind } from '../../domain/ports/target.ts';
import type { JsonObject } from '../../lib/json.ts';
import type { Restored } from '../backup/restored.ts';
import { type LedgerContext, parseJson } from '../store/context.ts';
import { createMeta } from '../store/meta.ts';
import type { ListedEntries } from './listed.ts';
import type { Listings } from './listings.ts';

/** Use it inside a transaction. */
export interface Contact {
  /** The next step of each kind; empty if no creates are suspended. */
  contactSteps(): ContactStep[];
  /** The create operations that must not be sent now. */
  suspendedCreates(): Operation[];
  isSuspended(operation: Operation): boolean;
  /**
   * Call it after creates were staged. If the stored list has an entry that may be one of these items, all creates of
   * the kind are compared before they are sent.
   */
  noticeCreates(kind: ListableKind, creates: readonly { itemId: number; desired: string }[]): void;
  /** Call it at the end of a batch with the creates that the batch has staged, by source and kind. */
  countCreates(counts: CreateCounts): void;
  runBegan(source: string): void;
  /**
   * Call it when a create has met an item of the platform, with the entries that its list shows. `isRefused` is true if
   * the platform has refused the create for that reason. Returns true if the create will be compared with these entries
   * before it is sent again.
   */
  metDuplicate(met: { kind: ListableKind; found: readonly ContactEntry[]; isRefused: boolean }): boolean;
  /** Requests that the list is read again before creates of this kind are sent. */
  listAgain(kind: ListableKind): void;
  /** Lifts the suspension of a kind for every source, after all its staged creates were compared. */
  release(kind: ListableKind): void;
  /** Applies the config's rules of first contact. Call it once when the ledger is opened. */
  atStart(): void;
}

const LISTABLE: readonly ListableKind[] = ['product', 'material'];
/**
 * A source that was in first contact may stage this many creates of a kind in one run before the list is read again.
 */
const CREATES_MAX = 20;
/** How many creates a batch has staged, by source and kind. */
export type CreateCounts = Map<string, { source: string; kind: ListableKind; count: number }>;

export function createContact(
  { db, profile, contactRules }: Pick<LedgerContext, 'db' | 'profile' | 'contactRules'>,
  {
    listings,
    listed,
    restored,
  }: {
    listings: Listings;
    listed: Pick<ListedEntries, 'isEmpty' | 'meets'>;
    restored: Pick<Restored, 'unprovenKinds'>;
  },
): Contact {
  const meta = createMeta(db);
  const lists = contactRules.firstContact === 'list';
  const sql = {
    contacted: db.prepare<[string]>('UPDATE contacts SET contacted = 1, creates = 0 WHERE kind = ?'),
    count: db.prepare<[string, string, number], { contacted: 0 | 1; creates: number }>(
      `INSERT INTO contacts (source, kind, creates) VALUES (?, ?, ?)
       ON CONFLICT DO UPDATE SET creates = creates + excluded.creates RETURNING contacted, creates`,
    ),
    takeAsContacted: db.prepare<[string, string]>('UPDATE contacts SET contacted = 1 WHERE source = ? AND kind = ?'),
    anyContacted: db
      .prepare<[string], number>('SELECT 1 FROM contacts WHERE kind = ? AND contacted = 1 LIMIT 1')
      .pluck(),
    resetCreates: db.prepare<[string]>('UPDATE contacts SET creates = 0 WHERE source = ?'),
    allContacted: db.prepare('UPDATE contacts SET contacted = 1'),
    runBeganAt: db
      .prepare<[string], number>(
        "SELECT started_at FROM runs WHERE source = ? AND cause <> 'upload' ORDER BY id DESC LIMIT 1",
      )
      .pluck(),
  };

  const refusesDuplicates = (kind: ListableKind): boolean =>
    profile.duplicateKeys === 'refused' || meta.get(duplicatesFact(kind)) !== null;

  /** True if these creates of a source have to wait for the list. */
  function asksForList(
    source: string,
    kind: ListableKind,
    { contacted, creates }: { contacted: 0 | 1; creates: number },
  ) {
    // A platform that refuses duplicates needs its list to be read only once, at the first contact.
    if (refusesDuplicates(kind)) return sql.anyContacted.get(kind) === undefined;
    if (contacted === 0) return true;
    const readAt = listings.readAt(kind);
    return creates > CREATES_MAX && (readAt === null || readAt < (sql.runBeganAt.get(source) ?? 0));
  }

  return {
    contactSteps: () => (lists ? listings.needed().map((kind) => listings.stepOf(kind)) : []),
    suspendedCreates: () => (lists ? listings.needed().map((kind): Operation => `${kind}.create`) : []),
    isSuspended(operation) {
      const kind = lists ? CREATED_BY.get(operation) : undefined;
      return kind !== undefined && listings.isNeeded(kind);
    },
    noticeCreates(kind, creates) {
      if (!lists || listed.isEmpty(kind)) return;
      if (!listings.isNeeded(kind)) {
        const isShown = creates.some(({ desired }) => listed.meets(kind, parseJson<JsonObject>(desired)));
        if (!isShown) return;
        listings.need(kind);
      }
      // A new create may begin for an item that was compared before, so the comparison goes back to the lowest id.
      listings.compareFrom(kind, Math.min(...creates.map(({ itemId }) => itemId)));
    },
    countCreates(counts) {
      const unproven = restored.unprovenKinds();
      for (const { source, kind, count } of counts.values()) {
        // A restored ledger looks up each create of an unproven kind before it is sent, so the list is not needed here.
        if (unproven.includes(kind)) continue;
        const standing = sql.count.get(source, kind, count) ?? { contacted: 0, creates: count };
        if (lists && asksForList(source, kind, standing)) listings.need(kind);
        else if (standing.contacted === 0) sql.takeAsContacted.run(source, kind);
      }
    },
    runBegan: (source) => void sql.resetCreates.run(source),
    metDuplicate({ kind, found, isRefused }) {
      if (isRefused) meta.set(duplicatesFact(kind), '1');
      listings.store(kind, found);
      if (lists) listings.compareStored(kind);
      return lists;
    },
    listAgain(kind) {
      if (lists) listings.needAgain(kind);
    },
    release(kind) {
      listings.release(kind);
      sql.contacted.run(kind);
    },
    atStart() {
      if (lists) return;
      sql.allContacted.run();
      listings.releaseAll();
    },
  };
}

const CREATED_BY: ReadonlyMap<Operation, ListableKind> = new Map(
  LISTABLE.map((kind) => [`${kind}.create` satisfies Operation, kind]),
);

/** The kind of item that a create makes, if that kind can be listed; undefined for all other operations. */
export function kindCreatedBy(operation: Operation): ListableKind | undefined {
  return CREATED_BY.get(operation);
}

/** Adds creates to the counts of a batch. */
export function addCreates(counts: CreateCounts, source: string, kind: ListableKind, count = 1): void {
  const name = `${kind} ${source}`;
  const known = counts.get(name) ?? { source, kind, count: 0 };
  known.count += count;
  counts.set(name, known);
}

const duplicatesFact = (kind: ListableKind): string => `refuses_duplicates:${kind}`;
