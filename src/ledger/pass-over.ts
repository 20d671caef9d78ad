import type { PageToStage } from '../domain/ports/intake.ts';
import { type IncomingRecord, recordKey } from '../domain/record.ts';
import type { Sqlite } from './database.ts';

/** A page of one stream that may hold nothing new. */
export interface PageToPassOver extends Pick<PageToStage, 'records' | 'seen'> {
  streamId: number;
}

/**
 * The ids of a page's records where none of them is new, changed, or on its way through the mapping; null otherwise. A read:
 * nothing is written, and nothing counted.
 */
export type PassOver = (page: PageToPassOver) => readonly number[] | null;

/** Stands between two records of a text. It cannot be typed into an ERP field; a key that has it is looked up by itself. */
const BETWEEN = '\u001e';

// Of a record in quarantine the place is kept true, so that it is never passed over.
const IS_SETTLED = "(state = 'mapped' OR state = 'excluded')";

interface Stretch {
  n: number;
  firstId: number;
  lastId: number;
  text: string;
}

/**
 * A source mostly gives its rows in the order in which the ledger stored them. So the records after those of the last page
 * that was passed over are read at once, as one text, and compared with the page; that takes a fifth of what it takes to look
 * for each row. Where they differ in anything, each row is looked for.
 */
export function createPassOver(db: Sqlite): PassOver {
  const sql = {
    // The window bounds the walk where many records of other streams, or missing ones, follow.
    stretch: db.prepare<[number, number, number, number], Stretch>(
      `SELECT count(*) AS n, min(id) AS firstId, max(id) AS lastId,
         group_concat(iif(${IS_SETTLED}, hash, '') || key, '${BETWEEN}') AS text
       FROM (SELECT id, state, hash, key FROM records
             WHERE id > +? AND id <= +? AND +stream_id = +? AND missing_since IS NULL ORDER BY id LIMIT +?)`,
    ),
    idsOfStretch: db
      .prepare<[number, number, number], number>(
        `SELECT id FROM records
         WHERE id >= +? AND id <= +? AND +stream_id = +? AND missing_since IS NULL ORDER BY id`,
      )
      .pluck(),
    unchanged: db
      .prepare<[number, string, string], number>(
        `SELECT id FROM records WHERE stream_id = +? AND key = +? AND hash = +?
         AND ${IS_SETTLED} AND missing_since IS NULL`,
      )
      .pluck(),
  };
  /** By stream, the last record of the page that was passed over last. A hint and no more: what follows it is compared. */
  const lastIds = new Map<number, number>();

  function inOrder({ streamId, records, seen }: PageToPassOver, afterId: number): readonly number[] | null {
    const window = 2 * records.length;
    const stored = sql.stretch.get(afterId, afterId + window, streamId, records.length);
    if (stored?.n !== records.length || stored.text !== textOf(records)) return null;
    const { firstId, lastId, n } = stored;
    const isGapless = lastId - firstId + 1 === n;
    const ids = isGapless
      ? Array.from({ length: n }, (_, at) => firstId + at)
      : sql.idsOfStretch.all(firstId, lastId, streamId);
    return ids.some((id) => seen.has(id)) ? null : ids;
  }

  function oneByOne({ streamId, records, seen }: PageToPassOver): readonly number[] | null {
    const ids = new Set<number>();
    const isPassed = ({ identity, hash }: IncomingRecord): boolean => {
      const id = sql.unchanged.get(streamId, recordKey(identity, 1), hash);
      // A row that is repeated is told from the first one by what was seen before.
      if (id === undefined || ids.has(id) || seen.has(id)) return false;
      ids.add(id);
      return true;
    };
    return records.every(isPassed) ? [...ids] : null;
  }

  // One transaction, so that the file is locked for reading once.
  return db.transaction((page: PageToPassOver) => {
    const afterId = lastIds.get(page.streamId);
    const ids = (afterId === undefined ? null : inOrder(page, afterId)) ?? oneByOne(page);
    const lastId = ids?.at(-1);
    if (lastId === undefined) lastIds.delete(page.streamId);
    else lastIds.set(page.streamId, lastId);
    return ids;
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
