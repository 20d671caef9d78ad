// Stores the progress for each list of the platform: how far it was read, and how far staged creates were compared with
// it. The table `listings` has one row for each list.

import type { Operation } from '../../domain/delivery/operation.ts';
import type { ContactEntry, ContactList, ContactStep } from '../../domain/ports/first-contact.ts';
import type { ContactLedger } from '../../domain/ports/ledger/contact-ledger.ts';
import type { ListableKind } from '../../domain/ports/target.ts';
import { type LedgerContext, parseJson } from '../store/context.ts';
import type { ListedEntries } from './listed.ts';

/** Use it inside a transaction. */
export interface Listings
  extends Sync<
    Pick<ContactLedger, 'isFreshlyListed' | 'beginListing' | 'storeListed' | 'confirmListing' | 'failListing'>
  > {
  /** The kinds whose lists have to be read or compared before creates are sent. */
  needed(): ListableKind[];
  isNeeded(kind: ListableKind): boolean;
  /**
   * Requests that staged creates are compared with the list, and that the list is read first unless the stored entries
   * are fresh.
   */
  need(kind: ListableKind): void;
  /** Requests that the list is read and compared, even if the stored entries are fresh. */
  needAgain(kind: ListableKind): void;
  /** Requests that staged creates are compared with the stored list, however old the list is. */
  compareStored(kind: ListableKind): void;
  /** Moves the comparison back to this item if the comparison is already past the item. Items are compared in the order of their ids. */
  compareFrom(kind: ListableKind, itemId: number): void;
  /** Stores entries that were not read as part of the whole list. */
  store(list: ContactList, entries: readonly ContactEntry[]): void;
  /** The next step of first contact for this kind. Call it only while the list of the kind is needed. */
  stepOf(kind: ListableKind): ContactStep;
  /** When the list was read to its end; null if it was not. */
  readAt(kind: ListableKind): number | null;
  /** Ends the reading of a list. The stored entries that remain belong to no item of this ledger. */
  ended(list: ContactList, count: number | null): void;
  standing(list: ContactList): { matchedTo: number; shown: string[]; hides: boolean };
  matchedTo(kind: ListableKind, itemId: number): void;
  /** Call it when all staged creates of the kind were compared. */
  release(kind: ListableKind): void;
  /** Call it when the config no longer needs any list. */
  releaseAll(): void;
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

/** For this long after a list was read its entries count as current. */
const FRESH_MS = 600_000;
/** A reading that was interrupted for longer than this starts again, because its pages are outdated. */
const RESUME_MS = 3_600_000;

export function createListings({ db, clock }: Pick<LedgerContext, 'db' | 'clock'>, listed: ListedEntries): Listings {
  const sql = {
    listing: db.prepare<[string], ListingRow>(
      `SELECT kind, needed, position, stored_at AS storedAt, read_at AS readAt, surplus, shown, hides,
         matched_to AS matchedTo FROM listings WHERE kind = ?`,
    ),
    needed: db.prepare<[], ListableKind>('SELECT kind FROM listings WHERE needed > 0').pluck(),
    isNeeded: db.prepare<[string], number>('SELECT needed FROM listings WHERE kind = ?').pluck(),
    need: db.prepare<[string]>('UPDATE listings SET needed = 1, failure = NULL WHERE kind = ? AND needed <> 1'),
    // The stored list is good enough for this comparison, however old it is: it has the entry in question.
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
    compareFrom: db.prepare<[{ kind: string; itemId: number }]>(
      'UPDATE listings SET matched_to = @itemId - 1 WHERE kind = @kind AND matched_to >= @itemId',
    ),
    release: db.prepare<[string]>('UPDATE listings SET needed = 0, failure = NULL WHERE kind = ?'),
    noneNeeded: db.prepare('UPDATE listings SET needed = 0 WHERE needed > 0'),
    sending: db
      .prepare<[Operation], number>("SELECT 1 FROM items WHERE state = 'sending' AND operation = ? LIMIT 1")
      .pluck(),
    bound: db.prepare<[string], number>("SELECT count(*) FROM items WHERE kind = ? AND remote_id <> 'null'").pluck(),
  };

  function rowOf(list: ContactList): ListingRow {
    const row = sql.listing.get(list);
    if (row === undefined) throw new Error(`The ledger has no row for the list of ${list}.`);
    return row;
  }

  /**
   * True if the time is less than `ms` ago. False for a time in the future, which was stored before the clock was set
   * back.
   */
  function isWithin(ms: number, at: number | null): boolean {
    const age = clock.now() - (at ?? Number.NEGATIVE_INFINITY);
    return age >= 0 && age < ms;
  }

  const isFresh = ({ readAt }: ListingRow): boolean => isWithin(FRESH_MS, readAt);
  const ours = (kind: ListableKind): number => (sql.bound.get(kind) ?? 0) + listed.count(kind);

  function store(list: ContactList, entries: readonly ContactEntry[]): void {
    const before = parseJson<string[]>(rowOf(list).shown);
    const { shown, hides } = listed.store(list, entries);
    const all = [...new Set([...before, ...shown])];
    sql.shows.run({ kind: list, shown: JSON.stringify(all), hides: hides ? 1 : 0 });
  }

  function stepOf(kind: ListableKind): ContactStep {
    const row = rowOf(kind);
    if (row.position !== null && isWithin(RESUME_MS, row.storedAt)) {
      return { kind, step: 'read', from: { position: row.position, ids: listed.ids(kind) }, expected: null };
    }
    if (row.needed === 2 || isFresh(row)) return { kind, step: 'compare' };
    if (sql.sending.get(`${kind}.create`) !== undefined) return { kind, step: 'wait' };
    const expected = row.readAt === null || row.surplus === null ? null : ours(kind) + row.surplus;
    return { kind, step: 'read', from: null, expected };
  }

  return {
    needed: () => sql.needed.all(),
    isNeeded: (kind) => (sql.isNeeded.get(kind) ?? 0) > 0,
    need: (kind) => void sql.need.run(kind),
    needAgain(kind) {
      sql.age.run(kind);
      sql.need.run(kind);
    },
    compareStored: (kind) => void sql.compare.run(kind),
    compareFrom: (kind, itemId) => void sql.compareFrom.run({ kind, itemId }),
    store,
    stepOf,
    readAt: (kind) => rowOf(kind).readAt,
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
    standing(list) {
      const { matchedTo, shown, hides } = rowOf(list);
      return { matchedTo, shown: parseJson<string[]>(shown), hides: hides === 1 };
    },
    matchedTo: (kind, itemId) => void sql.matched.run(itemId, kind),
    release: (kind) => void sql.release.run(kind),
    releaseAll: () => void sql.noneNeeded.run(),
  };
}

/**
 * Deletes all stored entries of the lists. A restored ledger calls this, because its entries are as old as the backup.
 */
export function forgetListings(db: LedgerContext['db']): void {
  db.exec(`DELETE FROM listed; DELETE FROM listed_keys;
    UPDATE listings SET position = NULL, stored_at = NULL, read_at = NULL, surplus = NULL, shown = '[]', hides = 0,
      matched_to = 0`);
}
