// The platform's lists: how far each was read, and how far staged creates were compared with it. The table `listings` has
// one row for each list.

import type { Operation } from '../../domain/delivery/operation.ts';
import type {
  ContactEntry,
  ContactLedger,
  ContactList,
  ContactStep,
} from '../../domain/ports/ledger/contact-ledger.ts';
import type { ListableKind } from '../../domain/ports/target.ts';
import { column, parseJson, type Reads, statement, type Tx } from '../store/tx.ts';
import { clearListed, countListed, listedIds, pruneListed, storeListedEntries } from './entries.ts';

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

const SQL = {
  listing: statement<[string], ListingRow>(
    `SELECT kind, needed, position, stored_at AS storedAt, read_at AS readAt, surplus, shown, hides,
       matched_to AS matchedTo FROM listings WHERE kind = ?`,
  ),
  needed: column<[], ListableKind>('SELECT kind FROM listings WHERE needed > 0 ORDER BY kind'),
  isNeeded: column<[string], number>('SELECT needed FROM listings WHERE kind = ?'),
  need: statement<[string]>('UPDATE listings SET needed = 1, failure = NULL WHERE kind = ? AND needed <> 1'),
  // The stored list is good enough for this comparison, however old it is: it has the entry in question.
  compare: statement<[string]>('UPDATE listings SET needed = 2, failure = NULL WHERE kind = ? AND needed = 0'),
  age: statement<[string]>('UPDATE listings SET read_at = NULL, surplus = NULL WHERE kind = ?'),
  begin: statement<[string]>(
    `UPDATE listings SET position = NULL, stored_at = NULL, read_at = NULL, surplus = NULL, shown = '[]', hides = 0,
       matched_to = 0, failure = NULL WHERE kind = ?`,
  ),
  shows: statement<[{ kind: string; shown: string; hides: 0 | 1 }]>(
    'UPDATE listings SET shown = @shown, hides = max(hides, @hides) WHERE kind = @kind',
  ),
  reached: statement<[{ kind: string; position: string | null; now: number }]>(
    'UPDATE listings SET position = @position, stored_at = @now WHERE kind = @kind',
  ),
  end: statement<[{ kind: string; now: number; surplus: number | null }]>(
    `UPDATE listings SET position = NULL, stored_at = NULL, read_at = @now, surplus = @surplus, matched_to = 0,
       failure = NULL WHERE kind = @kind`,
  ),
  confirm: statement<[number, string]>('UPDATE listings SET read_at = ?, failure = NULL WHERE kind = ?'),
  fail: statement<[string, string]>('UPDATE listings SET failure = ? WHERE kind = ?'),
  forgetPosition: statement<[string]>(
    'UPDATE listings SET position = NULL, read_at = NULL, surplus = NULL WHERE kind = ?',
  ),
  matched: statement<[number, string]>('UPDATE listings SET matched_to = ? WHERE kind = ?'),
  compareFrom: statement<[{ kind: string; itemId: number }]>(
    'UPDATE listings SET matched_to = @itemId - 1 WHERE kind = @kind AND matched_to >= @itemId',
  ),
  release: statement<[string]>('UPDATE listings SET needed = 0, failure = NULL WHERE kind = ?'),
  noneNeeded: statement('UPDATE listings SET needed = 0 WHERE needed > 0'),
  sending: column<[Operation], number>("SELECT 1 FROM items WHERE state = 'sending' AND operation = ? LIMIT 1"),
  bound: column<[string], number>("SELECT count(*) FROM items WHERE kind = ? AND remote_id <> 'null'"),
};

/** The kinds whose lists have to be read or compared before creates are sent. */
export function neededLists(reads: Reads): ListableKind[] {
  return SQL.needed(reads).all();
}

export function isListNeeded(tx: Tx, kind: ListableKind): boolean {
  return (SQL.isNeeded(tx).get(kind) ?? 0) > 0;
}

/**
 * Requests that staged creates are compared with the list, and that the list is read first unless the stored entries
 * are fresh.
 */
export function needList(tx: Tx, kind: ListableKind): void {
  SQL.need(tx).run(kind);
}

/** Requests that the list is read and compared, even if the stored entries are fresh. */
export function needListAgain(tx: Tx, kind: ListableKind): void {
  SQL.age(tx).run(kind);
  SQL.need(tx).run(kind);
}

/** Requests that staged creates are compared with the stored list, however old the list is. */
export function compareStoredList(tx: Tx, kind: ListableKind): void {
  SQL.compare(tx).run(kind);
}

/** Moves the comparison back to this item if the comparison is already past the item. Items are compared in the order of their ids. */
export function compareListFrom(tx: Tx, kind: ListableKind, itemId: number): void {
  SQL.compareFrom(tx).run({ kind, itemId });
}

/** Stores entries that were not read as part of the whole list. */
export function storeEntries(tx: Tx, list: ContactList, entries: readonly ContactEntry[]): void {
  const before = parseJson<string[]>(rowOf(tx, list).shown);
  const { shown, hides } = storeListedEntries(tx, list, entries);
  const all = [...new Set([...before, ...shown])];
  SQL.shows(tx).run({ kind: list, shown: JSON.stringify(all), hides: hides ? 1 : 0 });
}

/** The next step of first contact for this kind. Call it only while the list of the kind is needed. */
export function contactStepOf(reads: Reads, kind: ListableKind): ContactStep {
  const row = rowOf(reads, kind);
  if (row.position !== null && isWithin(reads, RESUME_MS, row.storedAt)) {
    return { kind, step: 'read', from: { position: row.position, ids: listedIds(reads, kind) }, expected: null };
  }
  if (row.needed === 2 || isFresh(reads, row)) return { kind, step: 'compare' };
  if (SQL.sending(reads).get(`${kind}.create`) !== undefined) return { kind, step: 'wait' };
  const expected = row.readAt === null || row.surplus === null ? null : ours(reads, kind) + row.surplus;
  return { kind, step: 'read', from: null, expected };
}

/** When the list was read to its end; null if it was not. */
export function listReadAt(tx: Tx, kind: ListableKind): number | null {
  return rowOf(tx, kind).readAt;
}

export function isFreshlyListed(reads: Reads, list: ContactList): boolean {
  return isFresh(reads, rowOf(reads, list));
}

export function beginListing(tx: Tx, list: ContactList): void {
  clearListed(tx, list);
  SQL.begin(tx).run(list);
}

export function storeListed(tx: Tx, { list, entries, position }: Parameters<ContactLedger['storeListed']>[0]): void {
  storeEntries(tx, list, entries);
  SQL.reached(tx).run({ kind: list, position, now: tx.clock.now() });
}

/** Ends the reading of a list. The stored entries that remain belong to no item of this ledger. */
export function setListEnded(tx: Tx, list: ContactList, count: number | null): void {
  if (list !== 'publication') pruneListed(tx, list);
  const surplus = count === null || list === 'publication' ? null : count - ours(tx, list);
  SQL.end(tx).run({ kind: list, now: tx.clock.now(), surplus });
}

export function confirmListing(tx: Tx, kind: ContactList): void {
  SQL.confirm(tx).run(tx.clock.now(), kind);
}

export function failListing(tx: Tx, { kind, reason, fromStart }: Parameters<ContactLedger['failListing']>[0]): void {
  if (fromStart) SQL.forgetPosition(tx).run(kind);
  SQL.fail(tx).run(JSON.stringify(reason), kind);
}

export function listStanding(tx: Tx, list: ContactList): { matchedTo: number; shown: string[]; hides: boolean } {
  const { matchedTo, shown, hides } = rowOf(tx, list);
  return { matchedTo, shown: parseJson<string[]>(shown), hides: hides === 1 };
}

export function setMatchedTo(tx: Tx, kind: ListableKind, itemId: number): void {
  SQL.matched(tx).run(itemId, kind);
}

/** Call it when all staged creates of the kind were compared. */
export function releaseList(tx: Tx, kind: ListableKind): void {
  SQL.release(tx).run(kind);
}

/** Call it when the config no longer needs any list. */
export function releaseAllLists(tx: Tx): void {
  SQL.noneNeeded(tx).run();
}

function rowOf(reads: Reads, list: ContactList): ListingRow {
  const row = SQL.listing(reads).get(list);
  if (row === undefined) throw new Error(`The ledger has no row for the list of ${list}.`);
  return row;
}

/**
 * True if the time is less than `ms` ago. False for a time in the future, which was stored before the clock was set
 * back.
 */
function isWithin(reads: Reads, ms: number, at: number | null): boolean {
  const age = reads.clock.now() - (at ?? Number.NEGATIVE_INFINITY);
  return age >= 0 && age < ms;
}

function isFresh(reads: Reads, { readAt }: ListingRow): boolean {
  return isWithin(reads, FRESH_MS, readAt);
}

function ours(reads: Reads, kind: ListableKind): number {
  return (SQL.bound(reads).get(kind) ?? 0) + countListed(reads, kind);
}

/**
 * Deletes all stored entries of the lists. A restored ledger calls this, because its entries are as old as the backup.
 */
export function forgetListings(tx: Tx): void {
  tx.db.exec(`DELETE FROM listed; DELETE FROM listed_keys;
    UPDATE listings SET position = NULL, stored_at = NULL, read_at = NULL, surplus = NULL, shown = '[]', hides = 0,
      matched_to = 0`);
}
