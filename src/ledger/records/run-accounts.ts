// The counts of runs. Each row is counted once, by its result.

import { statement } from '../store/statement.ts';
import type { Tx } from '../store/tx.ts';

/** How many rows of a stream a run has read, and how many of them had each result. */
export interface RunCount {
  runId: number;
  streamId: number;
  read: number;
  unchanged: number;
  /** Rows that were mapped. They are counted as changed. */
  mapped: number;
  excluded: number;
  quarantined: number;
}

type WaitingState = 'pending' | 'stale';

const SQL = {
  add: statement<[RunCount]>(
    `UPDATE run_streams SET read = read + @read, unchanged = unchanged + @unchanged, changed = changed + @mapped,
       excluded = excluded + @excluded, quarantined = quarantined + @quarantined
     WHERE run_id = @runId AND stream_id = @streamId`,
  ),
  setWarnings: statement<[{ runId: number; source: string; stream: string; warnings: string }]>(
    `UPDATE run_streams SET warnings = @warnings WHERE run_id = @runId
     AND stream_id = (SELECT id FROM streams WHERE source = @source AND name = @stream)`,
  ),
  pending: waiting('pending'),
  stale: waiting('stale'),
};

/** The statements over the rows that wait in a state. */
function waiting(state: WaitingState) {
  return {
    byRun: statement<[number, number | null], { runId: number; rows: number }>(
      `SELECT run_id AS runId, count(*) AS rows FROM records
       WHERE stream_id = ? AND state = '${state}' AND run_id IS NOT NULL AND run_id IS NOT ? GROUP BY run_id`,
    ),
    forget: statement<[number, number | null]>(
      `UPDATE records SET run_id = NULL
       WHERE stream_id = ? AND state = '${state}' AND run_id IS NOT NULL AND run_id IS NOT ?`,
    ),
  };
}

export function countRows(tx: Tx, rows: RunCount): void {
  SQL.add(tx).run(rows);
}

/** Stores what people should know about the read of a stream in a run. */
export function storeWarnings(
  tx: Tx,
  read: { runId: number; source: string; stream: string; warnings: readonly string[] },
): void {
  const { runId, source, stream, warnings } = read;
  if (warnings.length > 0) SQL.setWarnings(tx).run({ runId, source, stream, warnings: JSON.stringify(warnings) });
}

/** Counts a waiting row as changed, because a later row has replaced it. */
export function countReplacedRow(tx: Tx, runId: number, streamId: number): void {
  SQL.add(tx).run(changed(runId, streamId, 1));
}

/** Counts the pending rows of a stream as changed, before they are mapped again. */
export function countPendingRows(tx: Tx, streamId: number): void {
  countPassed(tx, streamId, 'pending', null);
}

/**
 * Counts as changed the rows that earlier runs have left waiting for the end of a read. An interrupted run never
 * reaches this end, so a later run takes over its rows.
 */
export function countInterruptedRows(tx: Tx, streamId: number, presentRunId: number): void {
  countPassed(tx, streamId, 'stale', presentRunId);
}

function changed(runId: number, streamId: number, rows: number): RunCount {
  return { runId, streamId, read: 0, unchanged: 0, mapped: rows, excluded: 0, quarantined: 0 };
}

/** Counts the waiting rows of all runs but one. */
function countPassed(tx: Tx, streamId: number, state: WaitingState, butOf: number | null): void {
  const { byRun, forget } = SQL[state];
  for (const { runId, rows } of byRun(tx).all(streamId, butOf)) SQL.add(tx).run(changed(runId, streamId, rows));
  forget(tx).run(streamId, butOf);
}
