import type { ReadPage } from '../../domain/ports/intake.ts';
import { type IncomingRecord, recordKey } from '../../domain/record.ts';
import type { Sqlite } from '../store/database.ts';

/** A page of one stream that may hold nothing new. */
export interface PageToSkip extends Pick<ReadPage, 'records' | 'seen'> {
  streamId: number;
}

/**
 * The ids of a page's records where none of them is new, changed, or on its way through the mapping, and none in quarantine
 * has moved; null otherwise. A read: nothing is written, and nothing counted.
 */
export type SkipUnchanged = (page: PageToSkip) => readonly number[] | null;

/** Stands between two records of a text. It cannot be typed into an ERP field; a key that has it is looked up by itself. */
const BETWEEN = '\u001e';

/** The record has been through the mapping: it is neither pending nor stale. Any other has a hash that no row has. */
const IS_THROUGH = "(state = 'mapped' OR state = 'excluded' OR state = 'quarantined')";

interface Stretch {
  n: number;
  firstId: number;
  lastId: number;
  text: string;
}

/** A place is JSON, as it is stored. */
interface Placed {
  id: number;
  place: string;
}

/**
 * A source mostly gives its rows in the order in which the ledger stored them. So the records after those of the last page
 * that was skipped are read at once, as one text, and compared with the page; that takes a fifth of what it takes to look
 * for each row. Where they differ in anything, each row is looked for.
 *
 * The place of a record in quarantine is kept true, since people look at it there. So the places of those records, and of no
 * others, are compared as well: a page in which one of them has moved is not skipped.
 */
export function createSkipUnchanged(db: Sqlite): SkipUnchanged {
  const sql = {
    // The window bounds the walk where many records of other streams, or missing ones, follow.
    stretch: db.prepare<[number, number, number, number], Stretch>(
      `SELECT count(*) AS n, min(id) AS firstId, max(id) AS lastId,
         group_concat(iif(${IS_THROUGH}, hash, '.') || key, '${BETWEEN}') AS text
       FROM (SELECT id, state, hash, key FROM records
             WHERE id > +? AND id <= +? AND +stream_id = +? AND missing_since IS NULL ORDER BY id LIMIT +?)`,
    ),
    idsOfStretch: db
      .prepare<[number, number, number], number>(
        `SELECT id FROM records
         WHERE id >= +? AND id <= +? AND +stream_id = +? AND missing_since IS NULL ORDER BY id`,
      )
      .pluck(),
    quarantinedInStretch: db.prepare<[number, number, number], Placed>(
      `SELECT id, place FROM records
       WHERE stream_id = +? AND state = 'quarantined' AND id >= +? AND id <= +? AND missing_since IS NULL ORDER BY id`,
    ),
    unchanged: db.prepare<[number, string, string], { id: number; placeToKeep: string | null }>(
      `SELECT id, iif(state = 'quarantined', place, NULL) AS placeToKeep FROM records
       WHERE stream_id = +? AND key = +? AND hash = +? AND ${IS_THROUGH} AND missing_since IS NULL`,
    ),
  };
  /** By stream, the last record of the page that was skipped last. A hint and no more: what follows it is compared. */
  const lastIds = new Map<number, number>();

  function inOrder({ streamId, records, seen }: PageToSkip, afterId: number): readonly number[] | null {
    const window = 2 * records.length;
    const stored = sql.stretch.get(afterId, afterId + window, streamId, records.length);
    if (stored?.n !== records.length || stored.text !== textOf(records)) return null;
    const { firstId, lastId, n } = stored;
    const isGapless = lastId - firstId + 1 === n;
    const ids = isGapless
      ? Array.from({ length: n }, (_, at) => firstId + at)
      : sql.idsOfStretch.all(firstId, lastId, streamId);
    if (ids.some((id) => seen.has(id))) return null;
    return areInPlace(sql.quarantinedInStretch.all(streamId, firstId, lastId), records, ids) ? ids : null;
  }

  function oneByOne({ streamId, records, seen }: PageToSkip): readonly number[] | null {
    const ids = new Set<number>();
    const isSkipped = ({ identity, hash, place }: IncomingRecord): boolean => {
      const stored = sql.unchanged.get(streamId, recordKey(identity, 1), hash);
      // Records that were seen before show that a row is repeated.
      if (!stored || ids.has(stored.id) || seen.has(stored.id)) return false;
      ids.add(stored.id);
      return stored.placeToKeep === null || stored.placeToKeep === JSON.stringify(place);
    };
    return records.every(isSkipped) ? [...ids] : null;
  }

  // One transaction, so that the file is locked for reading once.
  return db.transaction((page: PageToSkip) => {
    const afterId = lastIds.get(page.streamId);
    const ids = (afterId === undefined ? null : inOrder(page, afterId)) ?? oneByOne(page);
    const lastId = ids?.at(-1);
    if (lastId === undefined) lastIds.delete(page.streamId);
    else lastIds.set(page.streamId, lastId);
    return ids;
  });
}

/** Whether each of the stored records has the place of the row that it is. Both they and the ids of the rows ascend. */
function areInPlace(stored: readonly Placed[], rows: readonly IncomingRecord[], ids: readonly number[]): boolean {
  let at = 0;
  return stored.every(({ id, place }) => {
    at = ids.indexOf(id, at);
    return JSON.stringify(rows[at]?.place) === place;
  });
}

/** The text of records as they are stored while nothing has changed. Hashes are of one length, so it says what is whose. */
function textOf(records: readonly IncomingRecord[]): string | null {
  const texts: string[] = [];
  for (const { identity, hash } of records) {
    const key = recordKey(identity, 1);
    if (key.includes(BETWEEN)) return null;
    texts.push(hash + key);
  }
  return texts.join(BETWEEN);
}
