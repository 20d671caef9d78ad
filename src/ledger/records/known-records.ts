import type { SeenRecords } from '../../domain/ports/intake.ts';
import { type IncomingRecord, recordKey } from '../../domain/record.ts';
import type { Sqlite } from '../store/database.ts';

/** A stored record, with the columns that a row is compared with. */
export interface KnownRecord {
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

/** Finds the stored records of rows. Call it inside a transaction. */
export interface KnownRecords {
  /** The stored records of a page without repeated rows, by record key. */
  findAll(streamId: number, rows: readonly IncomingRecord[]): Map<string, KnownRecord>;
  /**
   * Finds the stored record of a row. If several records have the row's identity, it is the first that this run has not
   * seen.
   */
  identify(row: IncomingRecord, streamId: number, seen: Pick<SeenRecords, 'has'>): IdentifiedRecord;
}

const COLUMNS = 'r.id, r.hash, r.state, r.missing_since IS NOT NULL AS missing, r.run_id AS runId';

export function createKnownRecords(db: Sqlite): KnownRecords {
  const sql = {
    one: db.prepare<[number, string], KnownRecord>(`SELECT ${COLUMNS} FROM records r WHERE stream_id = ? AND key = ?`),
    all: db.prepare<[{ streamId: number; keys: string }], KnownRecord & { key: string }>(
      `SELECT r.key, ${COLUMNS} FROM json_each(@keys) k CROSS JOIN records r ON r.stream_id = +@streamId AND r.key = k.value`,
    ),
    any: db.prepare<[number], number>('SELECT 1 FROM records WHERE stream_id = ? LIMIT 1').pluck(),
  };

  return {
    findAll(streamId, rows) {
      // The first export of a stream is the largest one, and no record of it is stored yet.
      if (sql.any.get(streamId) === undefined) return new Map();
      const keys = JSON.stringify(rows.map(({ identity }) => recordKey(identity, 1)));
      return new Map(sql.all.all({ streamId, keys }).map(({ key, ...known }) => [key, known]));
    },

    // The run sees records in their order, so the search doubles its step until it meets an unseen record, and then
    // halves it. A file of many equal rows stays cheap.
    identify(row, streamId, seen) {
      const occurrence = (n: number) => {
        const key = recordKey(row.identity, n);
        const known = sql.one.get(streamId, key);
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
    },
  };
}

/**
 * True if a row changes nothing about its stored record. False for a record that was missing, or that a changed mapping
 * has made stale: it is mapped again although its content is the same. False as well for a record that an earlier run
 * has left waiting for the mapping.
 */
export function isUnchanged(known: KnownRecord, row: IncomingRecord): boolean {
  return known.state !== 'stale' && known.missing === 0 && known.hash === row.hash;
}
