import type {
  PageToStage,
  PendingRecord,
  RunResult,
  RunStart,
  SeenRecords,
  StartedRun,
  StreamEnd,
} from '../../domain/ports/intake.ts';
import { type IncomingRecord, recordKey } from '../../domain/record.ts';
import type { JsonValue } from '../../lib/json.ts';
import { type LedgerContext, parseJsonOrNull } from '../store/context.ts';
import type { GuardedReads } from './guarded-reads.ts';
import { createPassOver, type PassOver } from './pass-over.ts';
import { type PendingRow, pendingRecord } from './pending-record.ts';
import { createRunAccounts } from './run-accounts.ts';

interface KnownRecord {
  id: number;
  hash: string;
  state: string;
  missing: number;
  /** The run that counts what it comes to, while it is on its way through the mapping. */
  runId: number | null;
}

/** The way of records into the ledger. Each function is the body of one transaction. */
export interface Intake {
  startRun(start: RunStart): StartedRun;
  passOver(page: PageToStage): ReturnType<PassOver>;
  /** Leaves `seen` as it is: the page's records, which it gives by id, belong there once they are durable. */
  stagePage(page: PageToStage): { changed: number; ids: Iterable<number> };
  endStream(end: StreamEnd): { missing: number; guarded: string | null };
  endRun(end: { runId: number; result: RunResult; error?: string }): void;
  pendingRecords(request: { source: string; afterId: number; limit: number }): PendingRecord[];
}

/** What has to know of runs. Each is called inside the transaction. */
export interface RunListeners {
  began(source: string): void;
  /** Its source was read as a whole. */
  completed(runId: number): void;
}

export function createIntake(
  { db, clock }: LedgerContext,
  { run, guardedReads }: { run: RunListeners; guardedReads: GuardedReads },
): Intake {
  const accounts = createRunAccounts(db);
  const passOver = createPassOver(db);
  const sql = {
    interruptRuns: db.prepare<[number, string]>(
      "UPDATE runs SET ended_at = ?, result = 'interrupted' WHERE source = ? AND result IS NULL",
    ),
    insertRun: db.prepare<[string, string, number]>('INSERT INTO runs (source, cause, started_at) VALUES (?, ?, ?)'),
    endRun: db.prepare<[number, string, string | null, number]>(
      'UPDATE runs SET ended_at = ?, result = ?, error = ? WHERE id = ?',
    ),
    findStream: db.prepare<[string, string], StreamRow>(
      'SELECT id, cursor, mapping_revision AS revision, complete_read AS completeRead FROM streams WHERE source = ? AND name = ?',
    ),
    insertStream: db.prepare<[string, string, string]>(
      'INSERT INTO streams (source, name, mapping_revision) VALUES (?, ?, ?)',
    ),
    staleRecords: db.prepare<[number]>("UPDATE records SET state = 'stale', version = version + 1 WHERE stream_id = ?"),
    setRevision: db.prepare<[string, number]>('UPDATE streams SET mapping_revision = ? WHERE id = ?'),
    setCursor: db.prepare<[string, number]>('UPDATE streams SET cursor = ? WHERE id = ?'),
    insertRunStream: db.prepare<[number | bigint, number]>('INSERT INTO run_streams (run_id, stream_id) VALUES (?, ?)'),
    findRecord: db.prepare<[number, string], KnownRecord>(
      `SELECT id, hash, state, missing_since IS NOT NULL AS missing, run_id AS runId FROM records
       WHERE stream_id = ? AND key = ?`,
    ),
    insertRecord: db.prepare<[number, string, string, string, string, string, string | null, number]>(
      `INSERT INTO records (stream_id, key, hash, raw, place, version, state, source_issues, run_id)
       VALUES (?, ?, ?, ?, ?, 1, ?, ?, ?)`,
    ),
    changeRecord: db.prepare<[string, string, string, string, string | null, number, number]>(
      `UPDATE records SET hash = ?, raw = ?, place = ?, version = version + 1, state = ?, source_issues = ?, run_id = ?,
       missing_since = NULL WHERE id = ?`,
    ),
    moveRecord: db.prepare<[{ place: string; id: number }]>(
      'UPDATE records SET place = @place WHERE id = @id AND place <> @place',
    ),
    foundItems: db.prepare<[number]>('UPDATE items SET missing_since = NULL WHERE record_id = ?'),
    countPage: db.prepare<[number, number, number, number]>(
      'UPDATE run_streams SET read = read + ?, unchanged = unchanged + ? WHERE run_id = ? AND stream_id = ?',
    ),
    presentRecords: db
      .prepare<[number], number>('SELECT id FROM records WHERE stream_id = ? AND missing_since IS NULL')
      .pluck(),
    // Counted in two indexes, without a look at the records.
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
    wakeHeirs: db.prepare<[number]>(
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

  function streamOf(source: string, name: string): StreamRow {
    const row = sql.findStream.get(source, name);
    if (!row) throw new Error(`The stream ${source}/${name} was never started.`);
    return row;
  }

  /**
   * The stored record that this row is: of rows with one identity, the first that this run has not seen yet. Those that
   * it has seen are the first ones, so the search doubles its stride and then halves it: a file of equal rows stays cheap.
   */
  function identify(
    record: IncomingRecord,
    streamId: number,
    seen: Pick<SeenRecords, 'has'>,
  ): { key: string; known?: KnownRecord } {
    const occurrence = (n: number) => {
      const key = recordKey(record.identity, n);
      const known = sql.findRecord.get(streamId, key);
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

  /** Stores a record that is new, changed, or to be mapped anew; gives its id. */
  function stageRecord(
    record: IncomingRecord,
    key: string,
    known: KnownRecord | undefined,
    { streamId, runId, state }: { streamId: number; runId: number; state: 'pending' | 'stale' },
  ): number {
    const issues = record.issues.length > 0 ? JSON.stringify(record.issues) : null;
    const place = JSON.stringify(record.place);
    if (!known) {
      const { hash, raw } = record;
      return Number(sql.insertRecord.run(streamId, key, hash, raw, place, state, issues, runId).lastInsertRowid);
    }
    if (known.missing === 1) sql.foundItems.run(known.id);
    if (known.state === 'pending' && known.runId !== null) accounts.passedBy(known.runId, streamId);
    sql.changeRecord.run(record.hash, record.raw, place, state, issues, runId, known.id);
    return known.id;
  }

  function unseen(streamId: number, seen: SeenRecords): number[] {
    const gone: number[] = [];
    for (const id of sql.presentRecords.iterate(streamId)) if (!seen.has(id)) gone.push(id);
    return gone;
  }

  function count(
    { runId, streamId }: { runId: number; streamId: number },
    { read, unchanged }: { read: number; unchanged: number },
  ): void {
    if (read > 0) sql.countPage.run(read, unchanged, runId, streamId);
  }

  return {
    startRun({ source, trigger, streams, mappingRevision }) {
      const now = clock.now();
      run.began(source);
      sql.interruptRuns.run(now, source);
      const runId = Number(sql.insertRun.run(source, trigger, now).lastInsertRowid);
      const cursors: Record<string, JsonValue> = {};
      for (const { name } of streams) {
        let row = sql.findStream.get(source, name);
        if (!row) {
          sql.insertStream.run(source, name, mappingRevision);
          row = streamOf(source, name);
        } else if (row.revision !== mappingRevision) {
          accounts.allPassedBy(row.id);
          sql.staleRecords.run(row.id);
          sql.setRevision.run(mappingRevision, row.id);
        }
        sql.insertRunStream.run(runId, row.id);
        cursors[name] = parseJsonOrNull<JsonValue>(row.cursor);
      }
      guardedReads.keepOnly(source, streams);
      return { runId, cursors };
    },

    passOver: ({ source, stream, records, seen }) => passOver({ streamId: streamOf(source, stream).id, records, seen }),

    stagePage({ runId, source, stream, records, seen: seenBefore, hold, cursor, uncounted = 0 }) {
      const { id: streamId } = streamOf(source, stream);
      const into = { streamId, runId, state: hold ? ('stale' as const) : ('pending' as const) };
      const ids = new Set<number>();
      const seen = { has: (id: number) => ids.has(id) || seenBefore.has(id) };
      let changed = 0;
      for (const record of records) {
        const { key, known } = identify(record, streamId, seen);
        if (known && isSettled(known) && known.hash === record.hash) {
          ids.add(known.id);
          // The place of an unchanged row is only kept true where people look at it, or may come to.
          const isShown = known.state === 'quarantined' || known.state === 'pending';
          if (isShown) sql.moveRecord.run({ place: JSON.stringify(record.place), id: known.id });
          continue;
        }
        ids.add(stageRecord(record, key, known, into));
        changed += 1;
      }
      count({ runId, streamId }, { read: records.length + uncounted, unchanged: records.length - changed + uncounted });
      // I1: the cursor moves only with its page.
      if (cursor !== undefined) sql.setCursor.run(JSON.stringify(cursor), streamId);
      return { changed, ids };
    },

    endStream({ runId, source, stream, seen, flagItems, guard, uncounted = 0 }) {
      const row = streamOf(source, stream);
      count({ runId, streamId: row.id }, { read: uncounted, unchanged: uncounted });
      let missing = 0;
      let guarded: string | null = null;
      if (seen) {
        const read = sql.readCount.get(runId, row.id)?.read ?? 0;
        const present = sql.presentCount.get({ streamId: row.id }) ?? 0;
        const gone = seen.size() === present ? [] : unseen(row.id, seen);
        missing = gone.length;
        guarded = guardedReads.judge(row.id, { runId, missing, present, read, before: row.completeRead, guard });
        if (guarded === null) {
          const now = clock.now();
          for (const id of gone) {
            sql.missRecord.run(now, id);
            if (flagItems) sql.missItems.run(now, id);
            // Another record that makes the same item may take it over now.
            sql.wakeHeirs.run(id);
          }
          sql.completeRead.run(read, flagItems ? 1 : 0, row.id);
        }
        sql.countMissing.run(missing, guarded, runId, row.id);
      }
      // What was held is mapped now; and under a new mapping every stored record, also those that this read did not bring.
      sql.releaseStale.run(runId, row.id);
      return { missing, guarded };
    },

    endRun({ runId, result, error }) {
      sql.endRun.run(clock.now(), result, error ?? null, runId);
      if (result === 'complete') run.completed(runId);
    },

    pendingRecords({ source, afterId, limit }) {
      // Each stream's index is in the order of ids; taken together they would have to be sorted at every call.
      const rows = sql.streamIds.all(source).flatMap((streamId) => sql.pending.all(streamId, afterId, limit));
      return rows
        .sort((a, b) => a.id - b.id)
        .slice(0, limit)
        .map(pendingRecord);
    },
  };
}

/**
 * False for a record that has to go through the mapping anew although its content is the same. One that is still on its way
 * there belongs to the run that read it first.
 */
function isSettled(known: KnownRecord): boolean {
  return known.state !== 'stale' && known.missing === 0;
}

interface StreamRow {
  id: number;
  cursor: string | null;
  revision: string;
  completeRead: number | null;
}
