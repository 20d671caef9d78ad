import type { SeenRecords } from '../../domain/ports/intake.ts';
import { type IncomingRecord, recordKey } from '../../domain/record.ts';
import type { Sqlite } from '../store/database.ts';

/** A stored record, as far as a row is compared with it. */
export interface KnownRecord {
  id: number;
  hash: string;
  state: string;
  missing: number;
  /** The run that counts what the record becomes, while it waits to be mapped. */
  runId: number | null;
}

/** A row of a page and the stored record that it is, if there is one. */
export interface IdentifiedRecord {
  key: string;
  known?: KnownRecord;
}

/** Finds the stored records of rows. For use inside a transaction. */
export interface KnownRecords {
  /** The records that rows are where none of them is repeated, by the key of the record. */
  findAll(streamId: number, rows: readonly IncomingRecord[]): Map<string, KnownRecord>;
  /** The stored record that a row is: of rows with one identity, the first that this run has not seen yet. */
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
      // The first export of a stream is the largest, and nothing of it is known.
      if (sql.any.get(streamId) === undefined) return new Map();
      const keys = JSON.stringify(rows.map(({ identity }) => recordKey(identity, 1)));
      return new Map(sql.all.all({ streamId, keys }).map(({ key, ...known }) => [key, known]));
    },

    // The records that this run has seen are the first ones, so the search doubles its stride and then halves it: a file of
    // equal rows stays cheap.
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
 * Whether a row leaves its record as it is. A record that was missing or that a changed mapping has made stale has to be mapped
 * again although its content is the same. One that still waits to be mapped belongs to the run that read it first.
 */
export function isUnchanged(known: KnownRecord, row: IncomingRecord): boolean {
  return known.state !== 'stale' && known.missing === 0 && known.hash === row.hash;
}
