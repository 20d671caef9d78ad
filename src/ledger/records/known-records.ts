// Finds the stored records of rows.

import type { SeenRecords } from '../../domain/ports/intake.ts';
import { type IncomingRecord, recordKey } from '../../domain/record.ts';
import { column, statement } from '../store/statement.ts';
import type { Reads } from '../store/tx.ts';

/** A stored record, with the columns that are compared with a row. */
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

const COLUMNS = 'r.id, r.hash, r.state, r.missing_since IS NOT NULL AS missing, r.run_id AS runId';

const SQL = {
  one: statement<[number, string], KnownRecord>(`SELECT ${COLUMNS} FROM records r WHERE stream_id = ? AND key = ?`),
  all: statement<[{ streamId: number; keys: string }], KnownRecord & { key: string }>(
    `SELECT r.key, ${COLUMNS} FROM json_each(@keys) k CROSS JOIN records r ON r.stream_id = +@streamId AND r.key = k.value`,
  ),
  any: column<[number], number>('SELECT 1 FROM records WHERE stream_id = ? LIMIT 1'),
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
