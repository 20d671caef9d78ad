import type { Sqlite } from '../store/database.ts';

/** Rows that a run has read and that nothing will be mapped of any more. For use inside a transaction. */
export interface RunAccounts {
  /** Accounts for one of them as what it was, a change. */
  passedBy(runId: number, streamId: number): void;
  /** Accounts so for all that is on its way through the mapping, before it is mapped anew. */
  allPassedBy(streamId: number): void;
}

export function createRunAccounts(db: Sqlite): RunAccounts {
  const count = db.prepare<[number, number, number]>(
    'UPDATE run_streams SET changed = changed + ? WHERE run_id = ? AND stream_id = ?',
  );
  const pending = db.prepare<[number], { runId: number; rows: number }>(
    `SELECT run_id AS runId, count(*) AS rows FROM records
     WHERE stream_id = ? AND state = 'pending' AND run_id IS NOT NULL GROUP BY run_id`,
  );
  const forget = db.prepare<[number]>("UPDATE records SET run_id = NULL WHERE stream_id = ? AND state = 'pending'");
  return {
    passedBy: (runId, streamId) => void count.run(1, runId, streamId),
    allPassedBy(streamId) {
      for (const { runId, rows } of pending.all(streamId)) count.run(rows, runId, streamId);
      forget.run(streamId);
    },
  };
}
