// Begins and ends the runs of sources.

import type { HeldStream, Remapping, RunEnd, RunStart, StartedRun, StreamProgress } from '../../domain/ports/intake.ts';
import type { StreamIdentity } from '../../domain/stream-identity.ts';
import type { JsonValue } from '../../lib/json.ts';
import { noteReadAfterRestore } from '../backup/restored.ts';
import { noteFirstRead } from '../contact/adopted-bom.ts';
import { resetCreateCounts } from '../contact/contact.ts';
import { parseJsonOrNull } from '../store/context.ts';
import { column, statement } from '../store/statement.ts';
import type { Tx } from '../store/tx.ts';
import { decideReleasedItems } from './guarded-items.ts';
import { releaseLeftStreams } from './left-streams.ts';
import { acceptedOlderExport } from './older-exports.ts';
import { countPendingRows, storeWarnings } from './run-accounts.ts';
import { holdCreates, settleHeldCreates } from './settle-held-creates.ts';
import { findStream, type StreamRow, streamNamed } from './streams.ts';

const SQL = {
  interruptRuns: statement<[number, string]>(
    "UPDATE runs SET ended_at = ?, result = 'interrupted' WHERE source = ? AND result IS NULL",
  ),
  insertRun: statement<[string, string, number, string | null]>(
    'INSERT INTO runs (source, cause, started_at, asked_by) VALUES (?, ?, ?, ?)',
  ),
  endRun: statement<[number, string, string | null, number]>(
    'UPDATE runs SET ended_at = ?, result = ?, error = ? WHERE id = ?',
  ),
  sourceOf: column<[number], string>('SELECT source FROM runs WHERE id = ?'),
  isRead: column<[number], number>("SELECT 1 FROM runs WHERE id = ? AND cause <> 'upload'"),
  insertStream: statement<[string, string, string]>(
    'INSERT INTO streams (source, name, mapping_revision) VALUES (?, ?, ?)',
  ),
  staleRecords: statement<[number]>("UPDATE records SET state = 'stale', version = version + 1 WHERE stream_id = ?"),
  presentRecords: column<[number], number>(
    'SELECT count(*) FROM records WHERE stream_id = ? AND missing_since IS NULL',
  ),
  // A missing record is mapped when it is back.
  requeueRecords: statement<[number]>(
    "UPDATE records SET state = iif(missing_since IS NULL, 'pending', 'stale'), version = version + 1 WHERE stream_id = ?",
  ),
  readFiles: column<[number], string | null>('SELECT read_files FROM streams WHERE id = ?'),
  setRevision: statement<[string, number]>('UPDATE streams SET mapping_revision = ? WHERE id = ?'),
  insertRunStream: statement<[number | bigint, number]>('INSERT INTO run_streams (run_id, stream_id) VALUES (?, ?)'),
};

export function startRun(tx: Tx, { source, trigger, askedBy, streams: read, mappingRevision }: RunStart): StartedRun {
  const now = tx.clock.now();
  // An upload does not read the source, so it keeps the count of creates of the last read.
  if (trigger !== 'upload') resetCreateCounts(tx, source);
  SQL.interruptRuns(tx).run(now, source);
  const runId = Number(SQL.insertRun(tx).run(source, trigger, now, askedBy ?? null).lastInsertRowid);
  const progress: StartedRun['streams'] = {};
  let remapped = 0;
  for (const name of read) {
    let row = findStream(tx, source, name);
    if (!row) {
      SQL.insertStream(tx).run(source, name, mappingRevision);
      row = streamNamed(tx, source, name);
    } else if (row.revision !== mappingRevision) {
      countPendingRows(tx, row.id);
      SQL.staleRecords(tx).run(row.id);
      remapped += SQL.presentRecords(tx).get(row.id) ?? 0;
      SQL.setRevision(tx).run(mappingRevision, row.id);
    }
    if (trigger !== 'upload') holdCreates(tx, row.id, 'read');
    SQL.insertRunStream(tx).run(runId, row.id);
    progress[name] = {
      cursor: parseJsonOrNull<JsonValue>(row.cursor),
      snapshotAt: row.snapshotAt,
      ...timesOf(tx, row),
      identity: parseJsonOrNull<StreamIdentity>(row.identity),
    };
  }
  return { runId, remapped, streams: progress };
}

/** The times with which the next snapshot is compared. After an older export was accepted, its time counts. */
function timesOf(tx: Tx, { id, asOf }: StreamRow): Pick<StreamProgress, 'asOf' | 'files'> {
  const accepted = acceptedOlderExport(tx, id);
  if (accepted !== undefined) return { asOf: accepted.asOf, files: {} };
  return { asOf, files: parseJsonOrNull<Record<string, number>>(SQL.readFiles(tx).get(id) ?? null) ?? {} };
}

/**
 * Makes the records of streams with another mapping revision wait for another mapping. True if there are such
 * streams.
 */
export function remapRecords(tx: Tx, { source, streams: names, mappingRevision }: Remapping): boolean {
  const changed = names.flatMap((name) => {
    const row = findStream(tx, source, name);
    return row && row.revision !== mappingRevision ? [row] : [];
  });
  for (const { id } of changed) {
    countPendingRows(tx, id);
    holdCreates(tx, id, 'mapping');
    SQL.requeueRecords(tx).run(id);
    SQL.setRevision(tx).run(mappingRevision, id);
  }
  return changed.length > 0;
}

/**
 * Ends a run. Returns the streams that the guard holds because the source has left them or because of released items.
 */
export function endRun(tx: Tx, { runId, result, error, leftStreams, unended }: RunEnd): HeldStream[] {
  if (unended !== undefined) storeWarnings(tx, { runId, ...unended });
  SQL.endRun(tx).run(tx.clock.now(), result, error ?? null, runId);
  if (result === 'complete' && SQL.isRead(tx).get(runId) !== undefined) {
    noteReadAfterRestore(tx, runId);
    noteFirstRead(tx, runId);
  }
  const left = result === 'complete' && leftStreams !== undefined ? releaseLeftStreams(tx, runId, leftStreams) : [];
  // Other sources may have waited for the end of this run, because they look up its records.
  const held = decideReleasedItems(tx, null);
  settleHeldCreates(tx);
  const source = left.length === 0 ? '' : (SQL.sourceOf(tx).get(runId) ?? '');
  return [...left.map((stream) => ({ source, ...stream, isLeft: true })), ...held];
}
