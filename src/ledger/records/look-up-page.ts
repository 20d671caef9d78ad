// Finds the stored records of rows, and the rows of a page that differ from the ledger, without writing.

import type {
  PageDifference,
  PageLookUp,
  PageToCompare,
  PageToLookUp,
  PageToStage,
  ReadPage,
  SeenRecords,
} from '../../domain/ports/intake.ts';
import { type IncomingRecord, recordKey } from '../../domain/record.ts';
import { column, perDatabase, statement } from '../store/statement.ts';
import type { Reads } from '../store/tx.ts';
import { countPresentRecords, streamNamed } from './streams.ts';

/**
 * After at most this many unchanged records, their count is written to the ledger, so that the progress of a run can be
 * shown.
 */
const UNCOUNTED_MAX = 20_000;

/**
 * Looks up the rows of a page. `ids` are the records of a page that can be skipped; the caller adds them to `seen`.
 */
export function lookUpPage(reads: Reads, page: PageToLookUp): PageLookUp & { ids: readonly number[] } {
  const { source, stream, records, seen } = page;
  const { id: streamId } = streamNamed(reads, source, stream);
  const ids = skipUnchanged(reads, { streamId, records, seen });
  if (ids !== null) return mayBeCountedLater(page) ? { skipped: true, ids } : { skipped: false, toMap: [], ids: [] };
  const known = findKnownRecords(reads, streamId, records);
  const keys = new Set<string>();
  const toMap: number[] = [];
  for (const [at, row] of records.entries()) {
    const key = recordKey(row.identity, 1);
    const stored = known.get(key);
    // A repeated row is mapped in any case, because only the staging of the page decides to which record it belongs.
    const isRepeated = keys.has(key) || (stored !== undefined && seen.has(stored.id));
    keys.add(key);
    if (isRepeated || stored === undefined || !isUnchanged(stored, row)) toMap.push(at);
  }
  return { skipped: false, toMap, ids: [] };
}

/** How many records a stream has that are not missing. */
export function countPresent(reads: Reads, source: string, stream: string): number {
  return countPresentRecords(reads, streamNamed(reads, source, stream).id);
}

/**
 * Compares the contents of rows, whatever their mapping is. `ids` are the present records of the page; the caller adds
 * them to `seen`.
 */
export function comparePage(
  reads: Reads,
  { source, stream, records, seen: before }: PageToCompare,
): PageDifference & { ids: ReadonlySet<number> } {
  const { id: streamId } = streamNamed(reads, source, stream);
  const ids = new Set<number>();
  const seen = { has: (id: number) => ids.has(id) || before.has(id) };
  let changed = 0;
  let fresh = 0;
  for (const row of records) {
    const { known } = identifyRow(reads, row, streamId, seen);
    if (known === undefined || known.missing === 1) fresh += 1;
    else {
      ids.add(known.id);
      if (known.hash !== row.hash) changed += 1;
    }
  }
  return { changed, fresh, ids };
}

/** Returns the records of a page that changes nothing and needs no write; null for any other page. */
export function skipPage(reads: Reads, page: PageToStage): readonly number[] | null {
  if (page.mapped !== undefined || page.uncounted === undefined || !mayBeCountedLater(page)) return null;
  const { source, stream, records, seen } = page;
  return skipUnchanged(reads, { streamId: streamNamed(reads, source, stream).id, records, seen });
}

/**
 * True if an unchanged page needs no write. A page with a cursor is written, because the cursor is stored with its page
 * (I1).
 */
function mayBeCountedLater({ cursor, uncounted = 0, records }: PageToStage | PageToLookUp): boolean {
  return cursor === undefined && uncounted + records.length <= UNCOUNTED_MAX;
}

/** A stored record, with the columns that are compared with a row. */
interface KnownRecord {
  id: number;
  hash: string;
  state: string;
  missing: number;
  /** The run that counts the record while it waits to be mapped. */
  runId: number | null;
}

/** A row of a page, and the stored record that it belongs to. */
export interface IdentifiedRecord {
  key: string;
  known?: KnownRecord;
}

const COLUMNS = 'r.id, r.hash, r.state, r.missing_since IS NOT NULL AS missing, r.run_id AS runId';

/**
 * Separates records in a text. An ERP field cannot have this character; a page with such a key is looked up row by row.
 */
const BETWEEN = '\u001e';

/**
 * The condition for a record whose mapping is done. For all other records the query returns a hash that no row can
 * have.
 */
const IS_THROUGH = "(state = 'mapped' OR state = 'excluded' OR state = 'quarantined')";

const SQL = {
  one: statement<[number, string], KnownRecord>(`SELECT ${COLUMNS} FROM records r WHERE stream_id = ? AND key = ?`),
  all: statement<[{ streamId: number; keys: string }], KnownRecord & { key: string }>(
    `SELECT r.key, ${COLUMNS} FROM json_each(@keys) k CROSS JOIN records r ON r.stream_id = +@streamId AND r.key = k.value`,
  ),
  any: column<[number], number>('SELECT 1 FROM records WHERE stream_id = ? LIMIT 1'),
  // The limit bounds the work if many missing records or records of other streams follow.
  stretch: statement<[number, number, number, number], Stretch>(
    `SELECT count(*) AS n, min(id) AS firstId, max(id) AS lastId,
       group_concat(iif(${IS_THROUGH}, hash, '.') || key, '${BETWEEN}') AS text
     FROM (SELECT id, state, hash, key FROM records
           WHERE id > +? AND id <= +? AND +stream_id = +? AND missing_since IS NULL ORDER BY id LIMIT +?)`,
  ),
  idsOfStretch: column<[number, number, number], number>(
    `SELECT id FROM records
     WHERE id >= +? AND id <= +? AND +stream_id = +? AND missing_since IS NULL ORDER BY id`,
  ),
  quarantinedInStretch: statement<[number, number, number], Placed>(
    `SELECT id, place FROM records
     WHERE stream_id = +? AND state = 'quarantined' AND id >= +? AND id <= +? AND missing_since IS NULL ORDER BY id`,
  ),
  unchanged: statement<[number, string, string], { id: number; placeToKeep: string | null }>(
    `SELECT id, iif(state = 'quarantined', place, NULL) AS placeToKeep FROM records
     WHERE stream_id = +? AND key = +? AND hash = +? AND ${IS_THROUGH} AND missing_since IS NULL`,
  ),
};

/** The stored records of a page without repeated rows, by record key. */
export function findKnownRecords(
  reads: Reads,
  streamId: number,
  rows: readonly IncomingRecord[],
): Map<string, KnownRecord> {
  // The first export of a stream is the largest one, and no record of it is stored yet.
  if (SQL.any(reads).get(streamId) === undefined) return new Map();
  const keys = JSON.stringify(rows.map(({ identity }) => recordKey(identity, 1)));
  const stored = SQL.all(reads).all({ streamId, keys });
  return new Map(stored.map(({ key, ...known }) => [key, known]));
}

/**
 * Finds the stored record of a row. If several records have the row's identity, the result is the first record that
 * this run has not seen.
 *
 * Equal rows have numbered records, which the run sees in the order of the numbers. The search for the first unseen
 * record doubles its step until it finds one, and then halves the step. So even many equal rows are found quickly.
 */
export function identifyRow(
  reads: Reads,
  row: Pick<IncomingRecord, 'identity'>,
  streamId: number,
  seen: Pick<SeenRecords, 'has'>,
): IdentifiedRecord {
  const occurrence = (n: number) => {
    const key = recordKey(row.identity, n);
    const known = SQL.one(reads).get(streamId, key);
    return { key, ...(known ? { known } : {}), taken: known !== undefined && seen.has(known.id) };
  };
  let at = occurrence(1);
  if (!at.taken) return at;
  let taken = 1;
  let free = 2;
  for (at = occurrence(free); at.taken; at = occurrence(free)) {
    taken = free;
    free *= 2;
  }
  while (free - taken > 1) {
    const middle = taken + Math.floor((free - taken) / 2);
    const tried = occurrence(middle);
    if (tried.taken) taken = middle;
    else {
      free = middle;
      at = tried;
    }
  }
  return at;
}

/**
 * True if a row changes nothing in its stored record. False if the record was missing, or if the mapping has changed
 * since: the record is then mapped again although its content is the same. Also false if an earlier run has left the
 * record waiting for the mapping.
 */
export function isUnchanged(known: KnownRecord, row: IncomingRecord): boolean {
  return known.state !== 'stale' && known.missing === 0 && known.hash === row.hash;
}

/** A page of one stream that may have no changes. */
interface PageToSkip extends Pick<ReadPage, 'records' | 'seen'> {
  streamId: number;
}

interface Stretch {
  n: number;
  firstId: number;
  lastId: number;
  text: string;
}

/** A record's place, as JSON. */
interface Placed {
  id: number;
  place: string;
}

/**
 * The last record of the last skipped page, by stream. It is only a hint: the records after it are compared in any
 * case.
 */
const lastIdsOf = perDatabase(() => new Map<number, number>());

/**
 * Returns the ids of a page's records if the page changes nothing; else null. A page changes something if a row is new
 * or changed, if a record waits to be mapped, or if a record in quarantine has moved. Writes and counts nothing.
 *
 * Compares a page with the stored records, five times as fast as a look-up of each row. A source mostly gives its rows
 * in the order in which they were stored. So the stored records that follow the last skipped page are joined to one
 * text, and so are the rows of the page. If the texts differ, each row is looked up.
 *
 * People look at the places of records in quarantine, so these places must be right. They are compared as well: a page
 * in which a quarantined record has moved is not skipped.
 */
function skipUnchanged(reads: Reads, page: PageToSkip): readonly number[] | null {
  const lastIds = lastIdsOf(reads);
  const afterId = lastIds.get(page.streamId);
  // All reads are one transaction, so that SQLite locks the file only once.
  const compare = reads.db.transaction(
    () => (afterId === undefined ? null : inOrder(reads, page, afterId)) ?? oneByOne(reads, page),
  );
  const ids = compare();
  const lastId = ids?.at(-1);
  if (lastId === undefined) lastIds.delete(page.streamId);
  else lastIds.set(page.streamId, lastId);
  return ids;
}

function inOrder(reads: Reads, { streamId, records, seen }: PageToSkip, afterId: number): readonly number[] | null {
  const window = 2 * records.length;
  const stored = SQL.stretch(reads).get(afterId, afterId + window, streamId, records.length);
  if (stored?.n !== records.length || stored.text !== textOf(records)) return null;
  const { firstId, lastId, n } = stored;
  const isGapless = lastId - firstId + 1 === n;
  const ids = isGapless
    ? Array.from({ length: n }, (_, at) => firstId + at)
    : SQL.idsOfStretch(reads).all(firstId, lastId, streamId);
  if (ids.some((id) => seen.has(id))) return null;
  return areInPlace(SQL.quarantinedInStretch(reads).all(streamId, firstId, lastId), records, ids) ? ids : null;
}

function oneByOne(reads: Reads, { streamId, records, seen }: PageToSkip): readonly number[] | null {
  const ids = new Set<number>();
  const isSkipped = ({ identity, hash, place }: IncomingRecord): boolean => {
    const stored = SQL.unchanged(reads).get(streamId, recordKey(identity, 1), hash);
    // If the record was seen before, this row is a repeated row.
    if (!stored || ids.has(stored.id) || seen.has(stored.id)) return false;
    ids.add(stored.id);
    return stored.placeToKeep === null || stored.placeToKeep === JSON.stringify(place);
  };
  return records.every(isSkipped) ? [...ids] : null;
}

/** True if each stored record has the place of its row. Both lists ascend by id. */
function areInPlace(stored: readonly Placed[], rows: readonly IncomingRecord[], ids: readonly number[]): boolean {
  let at = 0;
  return stored.every(({ id, place }) => {
    at = ids.indexOf(id, at);
    return JSON.stringify(rows[at]?.place) === place;
  });
}

/**
 * The text that the stored records of a page would have if all are unchanged. All hashes have the same length, so no
 * two different pages give the same text.
 */
function textOf(records: readonly IncomingRecord[]): string | null {
  const texts: string[] = [];
  for (const { identity, hash } of records) {
    const key = recordKey(identity, 1);
    if (key.includes(BETWEEN)) return null;
    texts.push(hash + key);
  }
  return texts.join(BETWEEN);
}
