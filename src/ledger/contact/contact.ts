// First contact: suspends the creates of a kind until the platform's list of that kind was read and compared.
//
// The table `contacts` has one row for each source and kind, which says whether that source may create. The table
// `listings` has one row for each list, which says how far that list was read. No row is written for a single item: a
// batch counts its creates at its end, and a claim reads one row.

import type { Operation } from '../../domain/delivery.ts';
import type { ContactLedger } from '../../domain/ports/contact-ledger.ts';
import type { ContactEntry, ContactList, ContactStep } from '../../domain/ports/first-contact.ts';
import type { ListableKind } from '../../domain/ports/target.ts';
import type { JsonObject } from '../../lib/json.ts';
import type { Restored } from '../backup/restored.ts';
import { type LedgerContext, parseJson } from '../store/context.ts';
import { createMeta } from '../store/meta.ts';
import type { ListedEntries } from './listed.ts';

/** For use inside a transaction. */
export interface Contact
  extends Sync<
    Pick<
      ContactLedger,
      'contactSteps' | 'isFreshlyListed' | 'beginListing' | 'storeListed' | 'confirmListing' | 'failListing'
    >
  > {
  /** The create operations that must not be sent now. */
  suspendedCreates(): Operation[];
  isSuspended(operation: Operation): boolean;
  /**
   * Call it after creates were staged. Where the stored list has an entry that may be one of these items, all creates
   * of the kind are compared before they are sent.
   */
  noticeCreates(kind: ListableKind, creates: readonly { itemId: number; desired: string }[]): void;
  /** Call it at the end of a batch with the creates that the batch has staged, by source and kind. */
  countCreates(counts: CreateCounts): void;
  runBegan(source: string): void;
  /**
   * Call it when the platform has refused a create because the item exists, with the entries that its list shows.
   * Returns true where the create will be compared with these entries before it is sent again.
   */
  refusedDuplicate(kind: ListableKind, found: readonly ContactEntry[]): boolean;
  /** Has the list read again before creates of this kind are sent. */
  listAgain(kind: ListableKind): void;
  /** Ends the reading of a list. The stored entries that remain belong to no item of this ledger. */
  ended(list: ContactList, count: number | null): void;
  /** Lifts the suspension of a kind for every source, after all its staged creates were compared. */
  release(kind: ListableKind): void;
  standing(list: ContactList): { matchedTo: number; shown: string[]; hides: boolean };
  matchedTo(kind: ListableKind, itemId: number): void;
  /** Applies the config's rules of first contact. Call it once when the ledger is opened. */
  atStart(): void;
}

type Sync<T> = { [K in keyof T]: T[K] extends (...args: infer A) => Promise<infer R> ? (...args: A) => R : never };

interface ListingRow {
  kind: ContactList;
  needed: 0 | 1 | 2;
  position: string | null;
  storedAt: number | null;
  readAt: number | null;
  surplus: number | null;
  shown: string;
  hides: 0 | 1;
  matchedTo: number;
}

const LISTABLE: readonly ListableKind[] = ['product', 'material'];
/** A source that was in first contact may stage so many creates of a kind in one run before the list is read again. */
const CREATES_MAX = 20;
/** For this long after a list was read its entries count as current. */
const FRESH_MS = 600_000;
/** A reading that was interrupted for longer than this starts again, because its pages are outdated. */
const RESUME_MS = 3_600_000;

/** How many creates a batch has staged, by source and kind. */
export type CreateCounts = Map<string, { source: string; kind: ListableKind; count: number }>;

export function createContact(
  { db, clock, profile, contactRules }: Pick<LedgerContext, 'db' | 'clock' | 'profile' | 'contactRules'>,
  { listed, restored }: { listed: ListedEntries; restored: Pick<Restored, 'unprovenKinds'> },
): Contact {
  const meta = createMeta(db);
  const lists = contactRules.firstContact === 'list';
  const sql = {
    listing: db.prepare<[string], ListingRow>(
      `SELECT kind, needed, position, stored_at AS storedAt, read_at AS readAt, surplus, shown, hides,
         matched_to AS matchedTo FROM listings WHERE kind = ?`,
    ),
    needed: db.prepare<[], ListableKind>('SELECT kind FROM listings WHERE needed > 0').pluck(),
    isNeeded: db.prepare<[string], number>('SELECT needed FROM listings WHERE kind = ?').pluck(),
    need: db.prepare<[string]>('UPDATE listings SET needed = 1, failure = NULL WHERE kind = ? AND needed <> 1'),
    // The stored list is good enough for this comparison, however old it is: it has the entry that was asked for.
    compare: db.prepare<[string]>('UPDATE listings SET needed = 2, failure = NULL WHERE kind = ? AND needed = 0'),
    age: db.prepare<[string]>('UPDATE listings SET read_at = NULL, surplus = NULL WHERE kind = ?'),
    begin: db.prepare<[string]>(
      `UPDATE listings SET position = NULL, stored_at = NULL, read_at = NULL, surplus = NULL, shown = '[]', hides = 0,
         matched_to = 0, failure = NULL WHERE kind = ?`,
    ),
    shows: db.prepare<[{ kind: string; shown: string; hides: 0 | 1 }]>(
      'UPDATE listings SET shown = @shown, hides = max(hides, @hides) WHERE kind = @kind',
    ),
    reached: db.prepare<[{ kind: string; position: string | null; now: number }]>(
      'UPDATE listings SET position = @position, stored_at = @now WHERE kind = @kind',
    ),
    end: db.prepare<[{ kind: string; now: number; surplus: number | null }]>(
      `UPDATE listings SET position = NULL, stored_at = NULL, read_at = @now, surplus = @surplus, matched_to = 0,
         failure = NULL WHERE kind = @kind`,
    ),
    confirm: db.prepare<[number, string]>('UPDATE listings SET read_at = ?, failure = NULL WHERE kind = ?'),
    fail: db.prepare<[string, string]>('UPDATE listings SET failure = ? WHERE kind = ?'),
    forgetPosition: db.prepare<[string]>(
      'UPDATE listings SET position = NULL, read_at = NULL, surplus = NULL WHERE kind = ?',
    ),
    matched: db.prepare<[number, string]>('UPDATE listings SET matched_to = ? WHERE kind = ?'),
    // Sets a running comparison back to this item. It goes through the items by id, and may have passed this one.
    compareFrom: db.prepare<[{ kind: string; itemId: number }]>(
      'UPDATE listings SET matched_to = @itemId - 1 WHERE kind = @kind AND matched_to >= @itemId',
    ),
    release: db.prepare<[string]>('UPDATE listings SET needed = 0, failure = NULL WHERE kind = ?'),
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
    noneNeeded: db.prepare('UPDATE listings SET needed = 0 WHERE needed > 0'),
    runBeganAt: db
      .prepare<[string], number>('SELECT started_at FROM runs WHERE source = ? ORDER BY id DESC LIMIT 1')
      .pluck(),
    bound: db.prepare<[string], number>("SELECT count(*) FROM items WHERE kind = ? AND remote_id <> 'null'").pluck(),
  };

  const rowOf = (list: ContactList): ListingRow => {
    const row = sql.listing.get(list);
    if (row === undefined) throw new Error(`The ledger has no row for the list of ${list}.`);
    return row;
  };
  const isFresh = ({ readAt }: ListingRow): boolean => readAt !== null && clock.now() - readAt < FRESH_MS;
  const ours = (kind: ListableKind): number => (sql.bound.get(kind) ?? 0) + listed.count(kind);
  const refusesDuplicates = (kind: ListableKind): boolean =>
    profile.duplicateKeys === 'refused' || meta.get(duplicatesFact(kind)) !== null;

  /** True where these creates of a source have to wait for the list. */
  function asksForList(
    source: string,
    kind: ListableKind,
    { contacted, creates }: { contacted: 0 | 1; creates: number },
  ) {
    // A platform that refuses duplicates needs its list only once, at the first contact.
    if (refusesDuplicates(kind)) return sql.anyContacted.get(kind) === undefined;
    if (contacted === 0) return true;
    const { readAt } = rowOf(kind);
    return creates > CREATES_MAX && (readAt === null || readAt < (sql.runBeganAt.get(source) ?? 0));
  }

  function store(list: ContactList, entries: readonly ContactEntry[]): void {
    const before = parseJson<string[]>(rowOf(list).shown);
    const { shown, hides } = listed.store(list, entries);
    const all = [...new Set([...before, ...shown])];
    sql.shows.run({ kind: list, shown: JSON.stringify(all), hides: hides ? 1 : 0 });
  }

  function stepOf(kind: ListableKind): ContactStep {
    const row = rowOf(kind);
    const now = clock.now();
    if (row.position !== null && row.storedAt !== null && now - row.storedAt < RESUME_MS) {
      return { kind, step: 'read', from: { position: row.position, ids: listed.ids(kind) }, expected: null };
    }
    if (row.needed === 2 || isFresh(row)) return { kind, step: 'compare' };
    const expected = row.readAt === null || row.surplus === null ? null : ours(kind) + row.surplus;
    return { kind, step: 'read', from: null, expected };
  }

  return {
    suspendedCreates: () => (lists ? sql.needed.all().map((kind): Operation => `${kind}.create`) : []),
    isSuspended(operation) {
      const kind = lists ? CREATED_BY.get(operation) : undefined;
      return kind !== undefined && (sql.isNeeded.get(kind) ?? 0) > 0;
    },
    noticeCreates(kind, creates) {
      if (!lists || listed.isEmpty(kind)) return;
      if (sql.isNeeded.get(kind) === 0) {
        const isShown = creates.some(({ desired }) => listed.meets(kind, parseJson<JsonObject>(desired)));
        if (!isShown) return;
        sql.need.run(kind);
      }
      // A create may begin again on an item that was compared before, so the comparison goes back to the lowest id.
      sql.compareFrom.run({ kind, itemId: Math.min(...creates.map(({ itemId }) => itemId)) });
    },
    countCreates(counts) {
      const unproven = restored.unprovenKinds();
      for (const { source, kind, count } of counts.values()) {
        // A restored ledger looks up each create of an unproven kind before it is sent, so the list is not needed here.
        if (unproven.includes(kind)) continue;
        const standing = sql.count.get(source, kind, count) ?? { contacted: 0, creates: count };
        if (lists && asksForList(source, kind, standing)) sql.need.run(kind);
        else if (standing.contacted === 0) sql.takeAsContacted.run(source, kind);
      }
    },
    runBegan: (source) => void sql.resetCreates.run(source),
    refusedDuplicate(kind, found) {
      meta.set(duplicatesFact(kind), '1');
      store(kind, found);
      if (lists) sql.compare.run(kind);
      return lists;
    },
    listAgain(kind) {
      if (!lists) return;
      sql.age.run(kind);
      sql.need.run(kind);
    },
    contactSteps: () => (lists ? sql.needed.all().map(stepOf) : []),
    isFreshlyListed: (list) => isFresh(rowOf(list)),
    beginListing(list) {
      listed.clear(list);
      sql.begin.run(list);
    },
    storeListed({ list, entries, position }) {
      store(list, entries);
      sql.reached.run({ kind: list, position, now: clock.now() });
    },
    ended(list, count) {
      if (list !== 'publication') listed.prune(list);
      const surplus = count === null || list === 'publication' ? null : count - ours(list);
      sql.end.run({ kind: list, now: clock.now(), surplus });
    },
    confirmListing: (kind) => void sql.confirm.run(clock.now(), kind),
    failListing({ kind, reason, fromStart }) {
      if (fromStart) sql.forgetPosition.run(kind);
      sql.fail.run(JSON.stringify(reason), kind);
    },
    release(kind) {
      sql.release.run(kind);
      sql.contacted.run(kind);
    },
    standing(kind) {
      const { matchedTo, shown, hides } = rowOf(kind);
      return { matchedTo, shown: parseJson<string[]>(shown), hides: hides === 1 };
    },
    matchedTo: (kind, itemId) => void sql.matched.run(itemId, kind),
    atStart() {
      if (lists) return;
      sql.allContacted.run();
      sql.noneNeeded.run();
    },
  };
}

const CREATED_BY: ReadonlyMap<Operation, ListableKind> = new Map(
  LISTABLE.map((kind) => [`${kind}.create` satisfies Operation, kind]),
);

/** The kind of item that a create makes, where that kind can be listed; undefined for all other operations. */
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

/**
 * Deletes all stored entries of the lists. A restored ledger calls this, because its entries are as old as the backup.
 */
export function forgetListings(db: LedgerContext['db']): void {
  db.exec(`DELETE FROM listed; DELETE FROM listed_keys;
    UPDATE listings SET position = NULL, stored_at = NULL, read_at = NULL, surplus = NULL, shown = '[]', hides = 0,
      matched_to = 0`);
}
