// The platform's lists: how far each was read, how far staged creates were compared with it, and its entries that belong to
// no item of this ledger. The table `listings` has one row for each list.

import type { Operation } from '../../domain/delivery/operation.ts';
import { foldedKey, keyText } from '../../domain/natural-key.ts';
import type { ContactEntry, ContactList, ContactStep } from '../../domain/ports/first-contact.ts';
import type { ContactLedger } from '../../domain/ports/ledger/contact-ledger.ts';
import type { ListableKind } from '../../domain/ports/target.ts';
import type { Profile } from '../../domain/profile.ts';
import type { JsonObject } from '../../lib/json.ts';
import { column, statement } from '../store/statement.ts';
import type { Reads, Tx } from '../store/tx.ts';
import { parseJson } from '../store/tx.ts';

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

const SHOWN_MAX = 10;

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
  clear: statement<[string]>('DELETE FROM listed WHERE kind = ?'),
  clearKeys: statement<[string]>('DELETE FROM listed_keys WHERE kind = ?'),
  store: statement<[string, string]>(
    `INSERT INTO listed (kind, remote_id, fields) SELECT CAST(? AS TEXT), value ->> 0, value ->> 1 FROM json_each(?) WHERE TRUE
     ON CONFLICT (kind, remote_id) DO UPDATE SET fields = excluded.fields`,
  ),
  storeKeys: statement<[string, string]>(
    `INSERT INTO listed_keys (kind, remote_id, field, folded, value, standing)
     SELECT CAST(? AS TEXT), value ->> 0, value ->> 1, value ->> 2, value ->> 3, value ->> 4 FROM json_each(?) WHERE TRUE
     ON CONFLICT (kind, field, folded, remote_id) DO UPDATE SET value = excluded.value, standing = excluded.standing`,
  ),
  prune: statement<[{ kind: string }]>(
    `DELETE FROM listed WHERE kind = @kind
     AND EXISTS (SELECT 1 FROM items i
       WHERE i.kind = @kind AND i.remote_id = listed.remote_id AND i.remote_id <> 'null')`,
  ),
  pruneKeys: statement<[{ kind: string }]>(
    `DELETE FROM listed_keys WHERE kind = @kind
     AND NOT EXISTS (SELECT 1 FROM listed l WHERE l.kind = @kind AND l.remote_id = listed_keys.remote_id)`,
  ),
  remove: statement<[string, string]>(
    'DELETE FROM listed WHERE kind = ? AND remote_id IN (SELECT value FROM json_each(?))',
  ),
  removeKeys: statement<[string, string]>(
    `DELETE FROM listed_keys WHERE kind = ?
     AND (field, folded, remote_id) IN (SELECT value ->> 0, value ->> 1, value ->> 2 FROM json_each(?))`,
  ),
  ids: column<[string], string>('SELECT remote_id FROM listed WHERE kind = ?'),
  count: column<[string], number>('SELECT count(*) FROM listed WHERE kind = ?'),
  any: column<[string], number>('SELECT 1 FROM listed WHERE kind = ? LIMIT 1'),
  entries: statement<[string, string], { remoteId: string; fields: string }>(
    `SELECT l.remote_id AS remoteId, l.fields FROM json_each(?) k CROSS JOIN listed l ON l.kind = +? AND l.remote_id = k.value`,
  ),
  // Of each key the first entries.
  byKeys: statement<[string, string], KeyRow & { at: number }>(
    `SELECT * FROM (
       SELECT k.key AS at, row_number() OVER (PARTITION BY k.key ORDER BY l.remote_id) AS number, l.remote_id AS remoteId, l.value, l.standing
       FROM json_each(?) k CROSS JOIN listed_keys l ON l.kind = +? AND l.field = k.value ->> 0 AND l.folded = k.value ->> 1
     ) e WHERE number <= ${2 * SHOWN_MAX} ORDER BY at, number`,
  ),
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

const PUBLICATION_KEYS = ['product_id', 'sku'];

function clearListed(tx: Tx, list: ContactList): void {
  SQL.clear(tx).run(list);
  SQL.clearKeys(tx).run(list);
}

/**
 * Stores entries. Returns which fields of the natural key they show, and whether some entry shows none of these
 * fields.
 */
function storeListedEntries(
  tx: Tx,
  list: ContactList,
  entries: readonly ContactEntry[],
): { shown: string[]; hides: boolean } {
  const fields = keyFields(tx, list);
  const shown = new Set<string>();
  const rows: [remoteId: string, fields: string][] = [];
  const keys: [remoteId: string, field: string, folded: string, value: string, standing: KeyStanding][] = [];
  let hides = false;
  for (const { remoteId, fields: content } of entries) {
    const id = JSON.stringify(remoteId);
    rows.push([id, JSON.stringify(content)]);
    let standing: KeyStanding = 'key';
    for (const field of fields) {
      const isShown = Object.hasOwn(content, field);
      const value = keyText(content[field]);
      if (isShown) shown.add(field);
      if (value !== null) keys.push([id, field, foldedKey(value), value, standing]);
      if (value !== null) standing = 'other';
      else if (!isShown && standing === 'key') standing = 'hidden';
    }
    hides ||= fields.every((field) => !Object.hasOwn(content, field));
  }
  if (rows.length > 0) SQL.store(tx).run(list, JSON.stringify(rows));
  if (keys.length > 0) SQL.storeKeys(tx).run(list, JSON.stringify(keys));
  return { shown: [...shown], hides };
}

/** Deletes the entries that belong to items of this ledger. */
function pruneListed(tx: Tx, kind: ListableKind): void {
  SQL.prune(tx).run({ kind });
  SQL.pruneKeys(tx).run({ kind });
}

/** Removes entries that belong to items of this ledger now. */
export function removeListed(tx: Tx, kind: ListableKind, entries: readonly ListedEntry[]): void {
  if (entries.length === 0) return;
  SQL.remove(tx).run(kind, JSON.stringify(entries.map(({ remoteId }) => remoteId)));
  const keys = entries.flatMap(({ remoteId, fields }) =>
    keyFields(tx, kind).flatMap((field) => {
      const value = keyText(fields[field]);
      return value === null ? [] : [[field, foldedKey(value), remoteId]];
    }),
  );
  if (keys.length > 0) SQL.removeKeys(tx).run(kind, JSON.stringify(keys));
}

function listedIds(reads: Reads, list: ContactList): (string | number)[] {
  return SQL.ids(reads)
    .all(list)
    .map((id) => parseJson<string | number>(id));
}

function countListed(reads: Reads, list: ContactList): number {
  return SQL.count(reads).get(list) ?? 0;
}

export function isNothingListed(tx: Tx, list: ContactList): boolean {
  return SQL.any(tx).get(list) === undefined;
}

function keyFields(tx: Tx, list: ContactList): readonly string[] {
  return list === 'publication' ? PUBLICATION_KEYS : tx.profile.naturalKeys[list];
}

// Finding an item among the entries. A platform may show an item in another form than it was sent: in capitals, with a code of the platform, or without
// its natural key. Only an entry with exactly the same natural key is the item. A similar entry is left to a person.

/** One stored entry of a list. */
export interface ListedEntry {
  /** The platform's id as JSON. */
  remoteId: string;
  fields: JsonObject;
}

/** What the stored list shows of an item. */
export type Match =
  | { kind: 'none' }
  | { kind: 'one'; entry: ListedEntry }
  /** Several entries have the natural key, or some are similar to it. `entries` has at most `SHOWN_MAX` of them. */
  | { kind: 'unclear'; several: boolean; entries: { remoteId: string; field: string; value: string }[] };

/**
 * The role of a stored value in its entry: the natural key, a field that the profile prefers less, or the first shown
 * field of an entry without the preferred field.
 */
type KeyStanding = 'key' | 'other' | 'hidden';

interface KeyRow {
  remoteId: string;
  value: string;
  standing: KeyStanding;
}

/** Entries of a list, by their remote ids. */
export function listedEntries(reads: Reads, list: ContactList, remoteIds: readonly string[]): Map<string, ListedEntry> {
  if (remoteIds.length === 0) return new Map();
  const rows = SQL.entries(reads).all(JSON.stringify([...new Set(remoteIds)]), list);
  return new Map(rows.map(({ remoteId, fields }) => [remoteId, { remoteId, fields: parseJson<JsonObject>(fields) }]));
}

/** The stored values of a list that are equal to these, in any case. Returns a function that finds those of one value. */
export function keysIn(
  reads: Reads,
  list: ContactList,
  wanted: readonly ListedKey[],
): (key: ListedKey) => readonly KeyRow[] {
  const name = ({ field, value }: ListedKey) => JSON.stringify([field, foldedKey(value)]);
  const names = [...new Set(wanted.map(name))];
  const rows = names.length === 0 ? [] : SQL.byKeys(reads).all(`[${names.join(',')}]`, list);
  const found = Map.groupBy(rows, ({ at }) => names[at]);
  return (key) => found.get(name(key)) ?? [];
}

interface ListedKey {
  field: string;
  value: string;
}

/** True if some entry is one of these items or is similar to it. */
export function isListedOrSimilar(tx: Tx, kind: ListableKind, payloads: readonly JsonObject[]): boolean {
  const rowsOf = keyRowsOf(tx, kind, payloads);
  return payloads.some((payload) => {
    const { exact, similar } = rowsOf(payload, NONE);
    return exact.length + similar.length > 0;
  });
}

/** Looks for items in the list. Returns a function that finds one of them, without the entries that the caller has taken. */
export function searchListed(
  tx: Tx,
  kind: ListableKind,
  payloads: readonly JsonObject[],
): (payload: JsonObject, taken: ReadonlySet<string>) => Match {
  const rowsOf = keyRowsOf(tx, kind, payloads);
  const shown = listedEntries(
    tx,
    kind,
    payloads.flatMap((payload) => rowsOf(payload, NONE).exact.map(({ remoteId }) => remoteId)),
  );
  return (payload, taken) => {
    const { exact, similar } = rowsOf(payload, taken);
    const [only] = exact;
    if (exact.length + similar.length === 0) return { kind: 'none' };
    const found = exact.length === 1 && only ? shown.get(only.remoteId) : undefined;
    if (found !== undefined) return { kind: 'one', entry: found };
    const several = exact.length > 1;
    return { kind: 'unclear', several, entries: (several ? exact : similar).slice(0, SHOWN_MAX) };
  };
}

const NONE: ReadonlySet<string> = new Set();

/** The values by which an item may be found, in the order of the profile. */
function keysOfItem({ profile }: Tx, kind: ListableKind, payload: JsonObject): ListedKey[] {
  return profile.naturalKeys[kind].flatMap((field) => {
    const value = keyText(payload[field]);
    return value === null ? [] : [{ field, value }];
  });
}

/**
 * Returns a function that finds the entries with one of an item's keys: `exact` have the same natural key, `similar` may be the item.
 */
function keyRowsOf(tx: Tx, kind: ListableKind, payloads: readonly JsonObject[]) {
  const rowsOf = keysIn(
    tx,
    kind,
    payloads.flatMap((payload) => keysOfItem(tx, kind, payload)),
  );
  return (payload: JsonObject, taken: ReadonlySet<string>) => {
    const exact: Found[] = [];
    const similar: Found[] = [];
    for (const [at, key] of keysOfItem(tx, kind, payload).entries()) {
      for (const { remoteId, value, standing } of rowsOf(key)) {
        if (taken.has(remoteId)) continue;
        const isSame = value.normalize('NFC') === key.value.normalize('NFC');
        const row = { remoteId, field: key.field, value };
        if (at === 0) (isSame && standing !== 'other' ? exact : similar).push(row);
        // An entry that does not show the preferred field can only be found by the next field.
        else if (standing === 'hidden') similar.push(row);
      }
    }
    return { exact, similar };
  };
}

type Found = Extract<Match, { kind: 'unclear' }>['entries'][number];

/** The field that is an item's natural key: the first one of the profile's list that has a value. */
export function keyFieldOf(profile: Profile, kind: ListableKind, payload: JsonObject): string | null {
  return profile.naturalKeys[kind].find((field) => keyText(payload[field]) !== null) ?? null;
}
