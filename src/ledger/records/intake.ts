import type {
  PendingRecord,
  RunResult,
  RunStart,
  SeenRecords,
  StartedRun,
  StreamEnd,
} from '../../domain/ports/intake.ts';
import type { JsonValue } from '../../lib/json.ts';
import { type LedgerContext, parseJsonOrNull } from '../store/context.ts';
import type { GuardedReads } from './guarded-reads.ts';
import { type PendingRow, pendingRecord } from './pending-record.ts';
import type { RunAccounts } from './run-accounts.ts';
import type { Streams } from './streams.ts';

/** Takes runs and the state of their streams into the ledger. Each function is the body of one transaction. */
export interface Intake {
  startRun(start: RunStart): StartedRun;
  endStream(end: StreamEnd): { missing: number; guarded: string | null };
  endRun(end: { runId: number; result: RunResult; error?: string }): void;
  pendingRecords(request: { source: string; afterId: number; limit: number }): PendingRecord[];
}

/** What other parts do when a run begins or ends. Each function is called inside the run's transaction. */
export interface RunListeners {
  began(source: string): void;
  /** Called after a complete read of the run's source. */
  completed(runId: number): void;
}

export function createIntake(
  { db, clock }: LedgerContext,
  parts: { run: RunListeners; guardedReads: GuardedReads; streams: Streams; accounts: RunAccounts },
): Intake {
  const { run, guardedReads, streams, accounts } = parts;
  const sql = {
    interruptRuns: db.prepare<[number, string]>(
      "UPDATE runs SET ended_at = ?, result = 'interrupted' WHERE source = ? AND result IS NULL",
    ),
    insertRun: db.prepare<[string, string, number]>('INSERT INTO runs (source, cause, started_at) VALUES (?, ?, ?)'),
    endRun: db.prepare<[number, string, string | null, number]>(
      'UPDATE runs SET ended_at = ?, result = ?, error = ? WHERE id = ?',
    ),
    insertStream: db.prepare<[string, string, string]>(
      'INSERT INTO streams (source, name, mapping_revision) VALUES (?, ?, ?)',
    ),
    staleRecords: db.prepare<[number]>("UPDATE records SET state = 'stale', version = version + 1 WHERE stream_id = ?"),
    setRevision: db.prepare<[string, number]>('UPDATE streams SET mapping_revision = ? WHERE id = ?'),
    insertRunStream: db.prepare<[number | bigint, number]>('INSERT INTO run_streams (run_id, stream_id) VALUES (?, ?)'),
    presentRecords: db
      .prepare<[number], number>('SELECT id FROM records WHERE stream_id = ? AND missing_since IS NULL')
      .pluck(),
    // Counted in two indexes, without reading the records.
    presentCount: db
      .prepare<[{ streamId: number }], number>(
        `SELECT (SELECT count(*) FROM records WHERE stream_id = @streamId)
         - (SELECT count(*) FROM records WHERE stream_id = @streamId AND missing_since IS NOT NULL)`,
      )
      .pluck(),
    readCount: db.prepare<[number, number], { read: number }>(
      'SELECT read FROM run_streams WHERE run_id = ? AND stream_id = ?',
    ),
    missRecord: db.prepare<[number, number]>('UPDATE records SET missing_since = ? WHERE id = ?'),
    missItems: db.prepare<[number, number]>('UPDATE items SET missing_since = ? WHERE record_id = ?'),
    countMissing: db.prepare<[number, string | null, number, number]>(
      'UPDATE run_streams SET missing = ?, guarded = ? WHERE run_id = ? AND stream_id = ?',
    ),
    completeRead: db.prepare<[number, number, number]>(
      'UPDATE streams SET complete_read = ?, flags_missing = ? WHERE id = ?',
    ),
    requeueContenders: db.prepare<[number]>(
      `UPDATE records SET state = 'pending', version = version + 1
       WHERE state IN ('mapped', 'quarantined') AND missing_since IS NULL AND id IN
         (SELECT c.record_id FROM items i JOIN contenders c ON c.kind = i.kind AND c.key = i.key WHERE i.record_id = ?)`,
    ),
    releaseStale: db.prepare<[number, number]>(
      `UPDATE records SET state = 'pending', run_id = CASE WHEN run_id = ? THEN run_id END
       WHERE stream_id = ? AND state = 'stale' AND missing_since IS NULL`,
    ),
    streamIds: db.prepare<[string], number>('SELECT id FROM streams WHERE source = ?').pluck(),
    pending: db.prepare<[number, number, number], PendingRow>(
      `SELECT r.id, r.version, s.source, s.name AS stream, r.raw, r.place, r.source_issues AS issues FROM records r
       JOIN streams s ON s.id = r.stream_id
       WHERE r.state = 'pending' AND r.stream_id = +? AND r.id > +? ORDER BY r.id LIMIT +?`,
    ),
  };

  function unseen(streamId: number, seen: SeenRecords): number[] {
    const gone: number[] = [];
    for (const id of sql.presentRecords.iterate(streamId)) if (!seen.has(id)) gone.push(id);
    return gone;
  }

  return {
    startRun({ source, trigger, streams: read, mappingRevision }) {
      const now = clock.now();
      run.began(source);
      sql.interruptRuns.run(now, source);
      const runId = Number(sql.insertRun.run(source, trigger, now).lastInsertRowid);
      const cursors: Record<string, JsonValue> = {};
      for (const { name } of read) {
        let row = streams.find(source, name);
        if (!row) {
          sql.insertStream.run(source, name, mappingRevision);
          row = streams.get(source, name);
        } else if (row.revision !== mappingRevision) {
          accounts.allPassedBy(row.id);
          sql.staleRecords.run(row.id);
          sql.setRevision.run(mappingRevision, row.id);
        }
        sql.insertRunStream.run(runId, row.id);
        cursors[name] = parseJsonOrNull<JsonValue>(row.cursor);
      }
      guardedReads.keepOnly(source, read);
      return { runId, cursors };
    },

    endStream({ runId, source, stream, seen, flagItems, guard, uncounted = 0 }) {
      const row = streams.get(source, stream);
      if (uncounted > 0) accounts.count({ runId, streamId: row.id, ...unchangedRows(uncounted) });
      let missing = 0;
      let guarded: string | null = null;
      if (seen) {
        const read = sql.readCount.get(runId, row.id)?.read ?? 0;
        const present = sql.presentCount.get({ streamId: row.id }) ?? 0;
        const gone = seen.size() === present ? [] : unseen(row.id, seen);
        missing = gone.length;
        guarded = guardedReads.check(row.id, { runId, missing, present, read, before: row.completeRead, guard });
        if (guarded === null) {
          const now = clock.now();
          for (const id of gone) {
            sql.missRecord.run(now, id);
            if (flagItems) sql.missItems.run(now, id);
            // Another record that makes the same item may own it now.
            sql.requeueContenders.run(id);
          }
          sql.completeRead.run(read, flagItems ? 1 : 0, row.id);
        }
        sql.countMissing.run(missing, guarded, runId, row.id);
      }
      // Releases the records that wait for the end of the read, and after a change of the mapping all stored records.
      sql.releaseStale.run(runId, row.id);
      return { missing, guarded };
    },

    endRun({ runId, result, error }) {
      sql.endRun.run(clock.now(), result, error ?? null, runId);
      if (result === 'complete') run.completed(runId);
    },

    pendingRecords({ source, afterId, limit }) {
      // The pending records are read stream by stream: the index of each stream is sorted by id, so a query over all
      // streams would sort them at every call.
      const rows = sql.streamIds.all(source).flatMap((streamId) => sql.pending.all(streamId, afterId, limit));
      return rows
        .sort((a, b) => a.id - b.id)
        .slice(0, limit)
        .map(pendingRecord);
    },
  };
}

/** The counts of a page without changes. */
function unchangedRows(rows: number) {
  return { read: rows, unchanged: rows, mapped: 0, excluded: 0, quarantined: 0 };
}
