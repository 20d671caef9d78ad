import type { HeldStream, Remapping, RunEnd, RunStart, StartedRun } from '../../domain/ports/intake.ts';
import type { StreamIdentity } from '../../domain/stream-identity.ts';
import type { JsonValue } from '../../lib/json.ts';
import { type LedgerContext, parseJsonOrNull } from '../store/context.ts';
import type { GuardedItems } from './guarded-items.ts';
import type { ReleaseLeftStreams } from './left-streams.ts';
import type { RunAccounts } from './run-accounts.ts';
import type { SettleHeldCreates } from './settle-held-creates.ts';
import type { Streams } from './streams.ts';

/** Begins and ends the runs of sources. Run each function as one transaction. */
export interface Runs {
  startRun(start: RunStart): StartedRun;
  /**
   * Makes the records of streams with another mapping revision wait for another mapping. True if there are such
   * streams.
   */
  remapRecords(request: Remapping): boolean;
  /**
   * Ends a run. Returns the streams that the guard holds because the source has left them or because of released items.
   */
  endRun(end: RunEnd): HeldStream[];
}

/** The work of other parts when a run begins or ends. Each function is called inside the run's transaction. */
export interface RunListeners {
  began(source: string): void;
  /** Called after a complete read of the run's source. */
  completed(runId: number): void;
}

export function createRuns(
  { db, clock }: Pick<LedgerContext, 'db' | 'clock'>,
  parts: {
    run: RunListeners;
    releaseLeftStreams: ReleaseLeftStreams;
    guardedItems: Pick<GuardedItems, 'decide'>;
    settleHeldCreates: Pick<SettleHeldCreates, 'began' | 'settleAll'>;
    streams: Streams;
    accounts: RunAccounts;
  },
): Runs {
  const { run, releaseLeftStreams, guardedItems, settleHeldCreates, streams, accounts } = parts;
  const sql = {
    interruptRuns: db.prepare<[number, string]>(
      "UPDATE runs SET ended_at = ?, result = 'interrupted' WHERE source = ? AND result IS NULL",
    ),
    insertRun: db.prepare<[string, string, number, string | null]>(
      'INSERT INTO runs (source, cause, started_at, asked_by) VALUES (?, ?, ?, ?)',
    ),
    endRun: db.prepare<[number, string, string | null, number]>(
      'UPDATE runs SET ended_at = ?, result = ?, error = ? WHERE id = ?',
    ),
    sourceOf: db.prepare<[number], string>('SELECT source FROM runs WHERE id = ?').pluck(),
    isRead: db.prepare<[number], number>("SELECT 1 FROM runs WHERE id = ? AND cause <> 'upload'").pluck(),
    insertStream: db.prepare<[string, string, string]>(
      'INSERT INTO streams (source, name, mapping_revision) VALUES (?, ?, ?)',
    ),
    staleRecords: db.prepare<[number]>("UPDATE records SET state = 'stale', version = version + 1 WHERE stream_id = ?"),
    presentRecords: db
      .prepare<[number], number>('SELECT count(*) FROM records WHERE stream_id = ? AND missing_since IS NULL')
      .pluck(),
    // A missing record is mapped when it is back.
    requeueRecords: db.prepare<[number]>(
      "UPDATE records SET state = iif(missing_since IS NULL, 'pending', 'stale'), version = version + 1 WHERE stream_id = ?",
    ),
    isAccepted: db
      .prepare<[number], number>('SELECT 1 FROM guarded_reads WHERE stream_id = ? AND accepted_at IS NOT NULL')
      .pluck(),
    setRevision: db.prepare<[string, number]>('UPDATE streams SET mapping_revision = ? WHERE id = ?'),
    insertRunStream: db.prepare<[number | bigint, number]>('INSERT INTO run_streams (run_id, stream_id) VALUES (?, ?)'),
  };

  return {
    startRun({ source, trigger, askedBy, streams: read, mappingRevision }) {
      const now = clock.now();
      // An upload does not read the source, so it keeps the count of creates of the last read.
      if (trigger !== 'upload') run.began(source);
      sql.interruptRuns.run(now, source);
      const runId = Number(sql.insertRun.run(source, trigger, now, askedBy ?? null).lastInsertRowid);
      const progress: StartedRun['streams'] = {};
      let remapped = 0;
      for (const name of read) {
        let row = streams.find(source, name);
        if (!row) {
          sql.insertStream.run(source, name, mappingRevision);
          row = streams.get(source, name);
        } else if (row.revision !== mappingRevision) {
          accounts.allPassedBy(row.id);
          sql.staleRecords.run(row.id);
          remapped += sql.presentRecords.get(row.id) ?? 0;
          sql.setRevision.run(mappingRevision, row.id);
        }
        if (trigger !== 'upload') settleHeldCreates.began(row.id, 'read');
        sql.insertRunStream.run(runId, row.id);
        progress[name] = {
          cursor: parseJsonOrNull<JsonValue>(row.cursor),
          snapshotAt: row.snapshotAt,
          asOf: sql.isAccepted.get(row.id) === undefined ? row.asOf : null,
          identity: parseJsonOrNull<StreamIdentity>(row.identity),
        };
      }
      return { runId, remapped, streams: progress };
    },

    remapRecords({ source, streams: names, mappingRevision }) {
      const changed = names.flatMap((name) => {
        const row = streams.find(source, name);
        return row && row.revision !== mappingRevision ? [row] : [];
      });
      for (const { id } of changed) {
        accounts.allPassedBy(id);
        settleHeldCreates.began(id, 'mapping');
        sql.requeueRecords.run(id);
        sql.setRevision.run(mappingRevision, id);
      }
      return changed.length > 0;
    },

    endRun({ runId, result, error, leftStreams }) {
      sql.endRun.run(clock.now(), result, error ?? null, runId);
      if (result === 'complete' && sql.isRead.get(runId) !== undefined) run.completed(runId);
      const left = result === 'complete' && leftStreams !== undefined ? releaseLeftStreams(runId, leftStreams) : [];
      // Other sources may have waited for the end of this run, because they look up its records.
      const held = guardedItems.decide(null);
      settleHeldCreates.settleAll();
      const source = left.length === 0 ? '' : (sql.sourceOf.get(runId) ?? '');
      return [...left.map((stream) => ({ source, ...stream, isLeft: true })), ...held];
    },
  };
}
