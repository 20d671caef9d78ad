import type { Sqlite } from '../store/database.ts';

/** How many rows of a stream a run has read, and what became of them. */
export interface RunCount {
  runId: number;
  streamId: number;
  read: number;
  unchanged: number;
  /** Rows that were mapped. The account calls them changed. */
  mapped: number;
  excluded: number;
  quarantined: number;
}

/** The counts of runs. Each row is counted once, as what it became. Call each function inside a transaction. */
export interface RunAccounts {
  count(rows: RunCount): void;
  /** Counts a waiting row as changed, because a later row has replaced it. */
  passedBy(runId: number, streamId: number): void;
  /** Counts all waiting rows of a stream as changed, before they are mapped again. */
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
