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
import { column, perDatabase, type Reads, statement } from '../store/tx.ts';
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
  const gone = new Set(page.gone?.identities);
  const ids = gone.size > 0 ? null : skipUnchanged(reads, { streamId, records, seen });
  if (ids !== null) return mayBeCountedLater(page) ? { skipped: true, ids } : { skipped: false, toMap: [], ids: [] };
  const known = findKnownRecords(
    reads,
    streamId,
    records.map(({ identity }) => recordKey(identity, 1)),
  );
  const keys = new Set<string>();
  const toMap: number[] = [];
  for (const [at, row] of records.entries()) {
    const key = recordKey(row.identity, 1);
    const stored = known.get(key);
    // A repeated row is mapped in any case, because only the staging of the page decides to which record it belongs.
    const isRepeated = keys.has(key) || (stored !== undefined && seen.has(stored.id));
    keys.add(key);
    // A record that is gone and comes back with the same page is mapped again.
    const isBack = gone.has(row.identity);
    if (isRepeated || isBack || stored === undefined || !isUnchanged(stored, row)) toMap.push(at);
  }
  return { skipped: false, toMap, ids: [] };
}

/** How many records a stream has that are not missing. */
export function countPresent(reads: Reads, { source, stream }: Pick<PageToCompare, 'source' | 'stream'>): number {
  return countPresentRecords(reads, streamNamed(reads, source, stream).id);
}

/**
 * Compares the contents of rows, whatever their mapping is. `ids` are the present records of the page; the caller adds
 * them to `seen`.
 */
export function comparePage(
  reads: Reads,
  { source, stream, records, seen }: PageToCompare,
): PageDifference & { ids: ReadonlySet<number> } {
  const { id: streamId } = streamNamed(reads, source, stream);
  const ids = new Set<number>();
  let changed = 0;
  let fresh = 0;
  for (const [at, { known }] of identifyRows(reads, records, streamId, seen).entries()) {
    if (known === undefined || known.missing === 1) fresh += 1;
    else {
      ids.add(known.id);
      if (known.hash !== records[at]?.hash) changed += 1;
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
 * (I1), and so is a page that says that records are gone.
 */
function mayBeCountedLater({ cursor, gone, uncounted = 0, records }: PageToStage | PageToLookUp): boolean {
  return cursor === undefined && gone === undefined && uncounted + records.length <= UNCOUNTED_MAX;
}

/** A stored record, with the columns that are compared with a row. */
export interface KnownRecord {
  id: number;
  key: string;
  hash: string;
  state: string;
  missing: number;
  /** The run that counts the record while it waits to be mapped. */
  runId: number | null;
  /** The place of a record in quarantine; null for all others. */
  placeToKeep: string | null;
}

/** A row of a page, and the stored record that it belongs to. */
export interface IdentifiedRecord {
  key: string;
  /** Undefined for a new record. */
  known: KnownRecord | undefined;
}

const COLUMNS = `r.id, r.key, r.hash, r.state, r.missing_since IS NOT NULL AS missing, r.run_id AS runId,
  iif(r.state = 'quarantined', r.place, NULL) AS placeToKeep`;

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
  all: statement<[{ streamId: number; keys: string }], KnownRecord>(
    `SELECT ${COLUMNS} FROM json_each(@keys) k CROSS JOIN records r ON r.stream_id = +@streamId AND r.key = k.value`,
  ),
  any: column<[number], number>('SELECT 1 FROM records WHERE stream_id = ? LIMIT 1'),
  // The limit bounds the work if many missing records or records of other streams follow.
  stretch: statement<[number, number, number, number], Stretch>(
    `SELECT count(*) AS n, min(id) AS firstId, max(id) AS lastId,
       group_concat(iif(${IS_THROUGH}, hash, '.') || key, '${BETWEEN}') AS text
     FROM (SELECT id, state, hash, key FROM records
           WHERE id > +? AND id <= +? AND +stream_id = +? AND missing_since IS NULL ORDER BY id LIMIT +?) AS found`,
  ),
  idsOfStretch: column<[number, number, number], number>(
    `SELECT id FROM records
     WHERE id >= +? AND id <= +? AND +stream_id = +? AND missing_since IS NULL ORDER BY id`,
  ),
  quarantinedInStretch: statement<[number, number, number], Placed>(
    `SELECT id, place FROM records
     WHERE stream_id = +? AND state = 'quarantined' AND id >= +? AND id <= +? AND missing_since IS NULL ORDER BY id`,
  ),
};

/** The stored records with these keys, by key. */
export function findKnownRecords(reads: Reads, streamId: number, keys: readonly string[]): Map<string, KnownRecord> {
  // The first export of a stream is the largest one, and no record of it is stored yet.
  if (keys.length === 0 || SQL.any(reads).get(streamId) === undefined) return new Map();
  const stored = SQL.all(reads).all({ streamId, keys: JSON.stringify(keys) });
  return new Map(stored.map((known) => [known.key, known]));
}

export function findKnownRecord(reads: Reads, streamId: number, key: string): KnownRecord | undefined {
  return findKnownRecords(reads, streamId, [key]).get(key);
}

/**
 * Finds the stored records of rows. If several records have a row's identity, the result is the first record that neither this run
 * nor an earlier row of the list has seen.
 *
 * Equal rows have numbered records, which a run sees in the order of the numbers. So the records of equal rows follow each other.
 */
export function identifyRows(
  reads: Reads,
  rows: readonly Pick<IncomingRecord, 'identity'>[],
  streamId: number,
  seen: Pick<SeenRecords, 'has'>,
): IdentifiedRecord[] {
  const found: IdentifiedRecord[] = [];
  const groups = new Map<string, number[]>();
  for (const [at, { identity }] of rows.entries()) {
    const places = groups.get(identity);
    if (places === undefined) groups.set(identity, [at]);
    else places.push(at);
  }
  const firsts = findKnownRecords(
    reads,
    streamId,
    [...groups.keys()].map((identity) => recordKey(identity, 1)),
  );
  const repeated: Repeated[] = [];
  for (const [identity, places] of groups) {
    const key = recordKey(identity, 1);
    const known = firsts.get(key);
    const isTaken = known !== undefined && seen.has(known.id);
    const [first, ...rest] = places;
    if (!isTaken && first !== undefined) found[first] = { key, known };
    const open = isTaken ? places : rest;
    if (open.length > 0) repeated.push({ identity, places: open, taken: 1, free: isTaken ? null : 2 });
  }
  if (repeated.length > 0) identifyRepeated(reads, repeated, found, { streamId, seen });
  return found;
}

/** Rows with the same identity whose first record is taken. Their records have greater numbers. */
interface Repeated {
  identity: string;
  places: number[];
  /** The greatest number of which it is known that its record was seen. */
  taken: number;
  /** The least number of which it is known that its record was not seen; null if none is known. */
  free: number | null;
}

/**
 * Gives each repeated row its record. The search for the first unseen record doubles its step until it finds one, and then halves the
 * step. So even many equal rows are found quickly. All identities are searched at once.
 */
function identifyRepeated(
  reads: Reads,
  repeated: readonly Repeated[],
  found: IdentifiedRecord[],
  { streamId, seen }: { streamId: number; seen: Pick<SeenRecords, 'has'> },
): void {
  const look = (numbers: readonly { identity: string; number: number }[]) => {
    const keys = numbers.map(({ identity, number }) => recordKey(identity, number));
    const known = findKnownRecords(reads, streamId, keys);
    return keys.map((key) => ({ key, known: known.get(key) }));
  };
  const isSeen = ({ known }: IdentifiedRecord) => known !== undefined && seen.has(known.id);
  const probe = ({ taken, free }: Repeated) => (free === null ? 2 * taken : taken + Math.floor((free - taken) / 2));
  for (let open = repeated; ; ) {
    open = open.filter(({ taken, free }) => free === null || free - taken > 1);
    if (open.length === 0) break;
    const probes = open.map((group) => ({ identity: group.identity, number: probe(group) }));
    for (const [at, record] of look(probes).entries()) {
      const group = open[at];
      const number = probes[at]?.number ?? 1;
      if (group !== undefined) group[isSeen(record) ? 'taken' : 'free'] = number;
    }
  }
  const numbered = repeated.flatMap(({ identity, places, free }) =>
    places.map((place, at) => ({ identity, number: (free ?? 1) + at, place })),
  );
  for (const [at, record] of look(numbered).entries()) found[numbered[at]?.place ?? 0] = record;
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
    () => (afterId === undefined ? null : inOrder(reads, page, afterId)) ?? inAnyOrder(reads, page),
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

function inAnyOrder(reads: Reads, { streamId, records, seen }: PageToSkip): readonly number[] | null {
  const keys = records.map(({ identity }) => recordKey(identity, 1));
  const known = findKnownRecords(reads, streamId, keys);
  const ids = new Set<number>();
  const isSkipped = ({ hash, place }: IncomingRecord, at: number): boolean => {
    const stored = known.get(keys[at] ?? '');
    // If the record was seen before, this row is a repeated row.
    if (stored === undefined || ids.has(stored.id) || seen.has(stored.id)) return false;
    ids.add(stored.id);
    if (stored.hash !== hash || stored.missing === 1 || !isThrough(stored)) return false;
    return stored.placeToKeep === null || stored.placeToKeep === JSON.stringify(place);
  };
  return records.every(isSkipped) ? [...ids] : null;
}

function isThrough({ state }: KnownRecord): boolean {
  return state === 'mapped' || state === 'excluded' || state === 'quarantined';
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
