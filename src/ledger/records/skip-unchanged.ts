import type { ReadPage } from '../../domain/ports/intake.ts';
import { type IncomingRecord, recordKey } from '../../domain/record.ts';
import { column, perDatabase, statement } from '../store/statement.ts';
import type { Reads } from '../store/tx.ts';

/** A page of one stream that may have no changes. */
export interface PageToSkip extends Pick<ReadPage, 'records' | 'seen'> {
  streamId: number;
}

/**
 * Separates records in a text. An ERP field cannot have this character; a page with such a key is looked up row by row.
 */
const BETWEEN = '\u001e';

/**
 * The condition for a record whose mapping is done. For all other records the query returns a hash that no row can
 * have.
 */
const IS_THROUGH = "(state = 'mapped' OR state = 'excluded' OR state = 'quarantined')";

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

const SQL = {
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
export function skipUnchanged(reads: Reads, page: PageToSkip): readonly number[] | null {
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
