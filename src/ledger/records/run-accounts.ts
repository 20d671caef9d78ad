import type { Sqlite } from '../store/database.ts';

/** How many rows of a stream a run has read, and what they were or became. */
export interface RunCount {
  runId: number;
  streamId: number;
  read: number;
  unchanged: number;
  /** Those that were mapped to items or to nothing new: what the account calls changed. */
  mapped: number;
  excluded: number;
  quarantined: number;
}

/** The accounts of runs: each row that was read is counted once as what it became. For use inside a transaction. */
export interface RunAccounts {
  count(rows: RunCount): void;
  /** Counts a row that waited to be mapped, and is replaced by a later one, as what it was: a change. */
  passedBy(runId: number, streamId: number): void;
  /** Counts all rows of a stream so that still wait to be mapped, before they are mapped again. */
  allPassedBy(streamId: number): void;
}

export function createRunAccounts(db: Sqlite): RunAccounts {
  const add = db.prepare<[RunCount]>(
    `UPDATE run_streams SET read = read + @read, unchanged = unchanged + @unchanged, changed = changed + @mapped,
       excluded = excluded + @excluded, quarantined = quarantined + @quarantined
     WHERE run_id = @runId AND stream_id = @streamId`,
  );
  const pending = db.prepare<[number], { runId: number; rows: number }>(
    `SELECT run_id AS runId, count(*) AS rows FROM records
     WHERE stream_id = ? AND state = 'pending' AND run_id IS NOT NULL GROUP BY run_id`,
  );
  const forget = db.prepare<[number]>("UPDATE records SET run_id = NULL WHERE stream_id = ? AND state = 'pending'");
  const changed = (runId: number, streamId: number, rows: number): RunCount => ({
    runId,
    streamId,
    read: 0,
    unchanged: 0,
    mapped: rows,
    excluded: 0,
    quarantined: 0,
  });
  return {
    count: (rows) => void add.run(rows),
    passedBy: (runId, streamId) => void add.run(changed(runId, streamId, 1)),
    allPassedBy(streamId) {
      for (const { runId, rows } of pending.all(streamId)) add.run(changed(runId, streamId, rows));
      forget.run(streamId);
    },
  };
}
