import type { Sqlite } from '../store/database.ts';

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

/** The counts of runs. Each row is counted once, by its result. Call each function inside a transaction. */
export interface RunAccounts {
  count(rows: RunCount): void;
  /** Counts a waiting row as changed, because a later row has replaced it. */
  passedBy(runId: number, streamId: number): void;
  /** Counts the pending rows of a stream as changed, before they are mapped again. */
  allPassedBy(streamId: number): void;
  /**
   * Counts as changed the rows that earlier runs have left waiting for the end of a read. An interrupted run never
   * reaches this end, so a later run takes over its rows.
   */
  interruptedPassedBy(streamId: number, presentRunId: number): void;
}

type WaitingState = 'pending' | 'stale';

export function createRunAccounts(db: Sqlite): RunAccounts {
  const add = db.prepare<[RunCount]>(
    `UPDATE run_streams SET read = read + @read, unchanged = unchanged + @unchanged, changed = changed + @mapped,
       excluded = excluded + @excluded, quarantined = quarantined + @quarantined
     WHERE run_id = @runId AND stream_id = @streamId`,
  );
  const waiting = (state: WaitingState) => ({
    byRun: db.prepare<[number, number | null], { runId: number; rows: number }>(
      `SELECT run_id AS runId, count(*) AS rows FROM records
       WHERE stream_id = ? AND state = '${state}' AND run_id IS NOT NULL AND run_id IS NOT ? GROUP BY run_id`,
    ),
    forget: db.prepare<[number, number | null]>(
      `UPDATE records SET run_id = NULL
       WHERE stream_id = ? AND state = '${state}' AND run_id IS NOT NULL AND run_id IS NOT ?`,
    ),
  });
  const left = { pending: waiting('pending'), stale: waiting('stale') };
  const changed = (runId: number, streamId: number, rows: number): RunCount => ({
    runId,
    streamId,
    read: 0,
    unchanged: 0,
    mapped: rows,
    excluded: 0,
    quarantined: 0,
  });

  /** Counts the waiting rows of all runs but one. */
  function countPassed(streamId: number, state: WaitingState, butOf: number | null): void {
    const { byRun, forget } = left[state];
    for (const { runId, rows } of byRun.all(streamId, butOf)) add.run(changed(runId, streamId, rows));
    forget.run(streamId, butOf);
  }

  return {
    count: (rows) => void add.run(rows),
    passedBy: (runId, streamId) => void add.run(changed(runId, streamId, 1)),
    allPassedBy: (streamId) => countPassed(streamId, 'pending', null),
    interruptedPassedBy: (streamId, presentRunId) => countPassed(streamId, 'stale', presentRunId),
  };
}
