// Begins and ends the runs of sources.

import type { HeldRun } from '../../domain/approval.ts';
import type { HeldStream } from '../../domain/ports/guarded-intake.ts';
import type {
  IdentifiedRecords,
  ItemRecords,
  ItemRecordsRequest,
  LeftStreamRules,
  RecordsPlace,
  RecordsToIdentify,
  Remapping,
  RunEnd,
  RunStart,
  StartedRun,
  StreamProgress,
} from '../../domain/ports/intake.ts';
import { type StreamIdentity, vacantKey } from '../../domain/record.ts';
import type { JsonObject, JsonValue } from '../../lib/json.ts';
import { resetCreateCounts } from '../contact/contact.ts';
import { noteFirstRead } from '../items/parts.ts';
import { noteReadAfterRestore } from '../items/restored.ts';
import { endGoneDeliveries } from '../items/revisions.ts';
import { writeDaemonNote } from '../store/meta.ts';
import { column, parseJson, parseJsonOrNull, type Reads, statement, type Tx } from '../store/tx.ts';
import { decideReleasedItems, holdCreates, settleHeldCreates } from './guarded-items.ts';
import { acceptedOlderExport, checkRead } from './guarded-reads.ts';
import { identifyRows } from './look-up-page.ts';
import { MAKES_ITEM, markMissing } from './missing-records.ts';
import { countPendingRows, findStream, type StreamRow, storeWarnings, streamNamed } from './streams.ts';

/** SQL condition on the streams table `s`: true if the config does not have the source of the stream. */
const IS_OF_LOST_SOURCE = "(@sources <> '[]' AND s.source NOT IN (SELECT value FROM json_each(@sources)))";

/** SQL condition: true if the run did not have the stream. A run has no streams if its source could not be opened. */
const IS_LEFT = `(${IS_OF_LOST_SOURCE} OR s.source = (SELECT source FROM runs WHERE id = @runId))
  AND s.id NOT IN (SELECT stream_id FROM run_streams WHERE run_id = @runId)
  AND EXISTS (SELECT 1 FROM run_streams WHERE run_id = @runId)`;

/** How many records get their keys in one transaction. An answer of the API waits for no more than this many records. */
const RECORDS_AT_ONCE = 2_000;

// The records of a round that are done in an earlier round are left out by the caller's set.
const rowsOf = (condition: string) =>
  statement<[{ streamId: number; afterId: number }], StoredRow>(
    `SELECT r.id, r.key, r.hash, r.raw FROM records r
     WHERE r.id > +@afterId AND +r.stream_id = @streamId AND ${condition} ORDER BY r.id LIMIT ${RECORDS_AT_ONCE}`,
  );

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
  explainRun: statement<[string, number]>("UPDATE runs SET error = ? WHERE id = ? AND result = 'held'"),
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
  isHeld: column<[number], number>('SELECT 1 FROM guarded_reads WHERE stream_id = ?'),
  readFiles: column<[number], string | null>('SELECT read_files FROM streams WHERE id = ?'),
  setRevision: statement<[string, number]>('UPDATE streams SET mapping_revision = ? WHERE id = ?'),
  insertRunStream: statement<[number | bigint, number]>('INSERT INTO run_streams (run_id, stream_id) VALUES (?, ?)'),
  left: statement<[{ runId: number; sources: string }], LeftStream>(
    `SELECT s.id, s.source, s.name, s.complete_read AS completeRead, ${IS_OF_LOST_SOURCE} AS isOfLostSource
     FROM streams s WHERE ${IS_LEFT} ORDER BY s.id`,
  ),
  isMapping: column<[{ runId: number }], number>(
    `SELECT 1 FROM run_streams a WHERE a.run_id = @runId AND (
       EXISTS (SELECT 1 FROM records r WHERE r.stream_id = a.stream_id AND r.state = 'pending')
       OR EXISTS (SELECT 1 FROM records r WHERE r.stream_id = a.stream_id AND r.state = 'stale'
         AND r.missing_since IS NULL)) LIMIT 1`,
  ),
  present: column<[number], number>('SELECT id FROM records WHERE stream_id = ? AND missing_since IS NULL'),
  // A contender makes the same item, with the same content or with other content. A row that only has the same
  // natural key makes another item, so it does not count.
  unreplaced: column<[{ ids: string; runId: number; sources: string; limit: number }], number>(
    `SELECT DISTINCT i.record_id FROM json_each(@ids) k CROSS JOIN items i ON i.record_id = k.value WHERE NOT EXISTS (
       SELECT 1 FROM contenders c JOIN records r ON r.id = c.record_id JOIN streams s ON s.id = r.stream_id
       WHERE c.kind = i.kind AND c.key = i.key AND r.missing_since IS NULL AND NOT (${IS_LEFT}) AND ${MAKES_ITEM}) LIMIT @limit`,
  ),
  setIdentity: statement<[string, number]>('UPDATE streams SET identity = ? WHERE id = ?'),
  setKeys: statement<[string]>(
    'UPDATE records SET key = k.value ->> 1 FROM json_each(?) k WHERE records.id = CAST(k.value ->> 0 AS INTEGER)',
  ),
  rows: {
    'with-items': rowsOf('r.missing_since IS NULL AND EXISTS (SELECT 1 FROM items i WHERE i.record_id = r.id)'),
    present: rowsOf('r.missing_since IS NULL'),
    missing: rowsOf('TRUE'),
  } satisfies Record<RecordsPlace['round'], unknown>,
  // A record that waits for the mapping has a run only if its row is new or has changed. Each state has an index.
  waits: column<[{ streamId: number }], number>(
    ['stale', 'pending']
      .map(
        (state) => `SELECT 1 FROM records WHERE stream_id = @streamId AND state = '${state}'
            AND run_id IS NOT NULL AND missing_since IS NULL`,
      )
      .join(' UNION ALL ') + ' LIMIT 1',
  ),
  withItems: statement<
    [{ streamId: number; afterId: number; lastId: number; onlyByContent: 0 | 1 }],
    { id: number; raw: string }
  >(
    `SELECT r.id, r.raw FROM records r
     WHERE r.id > @afterId AND r.id <= @lastId AND +r.stream_id = @streamId AND r.missing_since IS NULL
       AND (@onlyByContent = 0 OR substr(r.key, 1, length(r.hash)) = r.hash)
       AND EXISTS (SELECT 1 FROM items i WHERE i.record_id = r.id)
     ORDER BY r.id LIMIT ${RECORDS_AT_ONCE}`,
  ),
  lastId: column<[], number | null>('SELECT max(id) FROM records'),
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
      isHeld: SQL.isHeld(tx).get(row.id) !== undefined,
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

/** Stores what a person has decided about a held run. */
export function decideHeldRun(
  tx: Tx,
  { held, runId, error }: { held: Record<string, HeldRun>; runId: number; error: string },
): void {
  writeDaemonNote(tx, 'held', held);
  SQL.explainRun(tx).run(error, runId);
}

/** A stream that the config does not have any more, or to which it gives another name. */
interface LeftStream {
  id: number;
  source: string;
  name: string;
  /** 1 if the config does not have the stream's source either. */
  isOfLostSource: number;
  /** The number of rows in its last complete read. */
  completeRead: number | null;
}

/** Why the records of a left stream were not marked as missing. */
interface GuardedStream {
  stream: string;
  message: string;
}

/**
 * Releases the items of streams that the source of a complete run no longer has, when the run ends.
 *
 * No run reads these streams again, so no other row could ever make the items of their records. If present rows of
 * other streams make the same items as a record, these rows replace the record, and its items are not marked as missing
 * meanwhile. All other records are marked as missing, unless the guard treats their number as a mistake in the config.
 * The records are handled when every row of the source is mapped, because only then it is known which records are
 * replaced.
 *
 * A stream may also belong to a source that the config no longer has. That source may have got another id, so rows of
 * other streams replace the records of this stream as well, but only if the guard allows the number of its records that
 * would be left. The records that are left are not marked as missing, because the source may be missing from the config
 * by mistake.
 */
function releaseLeftStreams(tx: Tx, runId: number, { guard, flagItems }: LeftStreamRules): GuardedStream[] {
  const guarded: GuardedStream[] = [];
  // A reload may have changed the sources since the last run.
  const sources = JSON.stringify(tx.passportRules.sources);
  const isMapping = SQL.isMapping(tx).get({ runId }) !== undefined;
  for (const { id: streamId, source, name, completeRead, isOfLostSource } of SQL.left(tx).all({ runId, sources })) {
    const present = SQL.present(tx).all(streamId);
    const size = Math.max(present.length, completeRead ?? 0);
    const allowed = Math.min(size * guard.maxMissing, guard.maxMissingCount);
    const goneMax = isOfLostSource === 1 ? allowed : Number.POSITIVE_INFINITY;
    const found = split(tx, present, { runId, sources }, goneMax);
    if (found === null) continue;
    const { replaced, gone } = found;
    // The rows that replace these records take over their items.
    markMissing(tx, replaced, { flagItems: false });
    if (isMapping || isOfLostSource === 1) continue;
    const figures = { lost: gone, present: size, read: size - gone.length, before: null };
    const message = checkRead(tx, streamId, { runId, ...figures, guard, isLeft: true });
    if (message !== null) {
      guarded.push({ stream: name, message });
      continue;
    }
    markMissing(tx, gone, { flagItems, requeue: false });
    endGoneDeliveries(tx, { source });
  }
  return guarded;
}

/** Splits records by whether present rows replace them. Null if nothing replaces more than `goneMax` of them. */
function split(
  tx: Tx,
  present: readonly number[],
  { runId, sources }: { runId: number; sources: string },
  goneMax: number,
) {
  const limit = Number.isFinite(goneMax) ? Math.floor(goneMax) + 1 : -1;
  const gone = SQL.unreplaced(tx).all({ ids: JSON.stringify(present), runId, sources, limit });
  if (gone.length > goneMax) return null;
  const isGone = new Set(gone);
  const replaced = present.filter((id) => !isGone.has(id));
  return { replaced, gone };
}

// Stores what identifies the rows of streams, and changes the keys of stored records.

/** How many ids one part of `itemRecords` looks at. Most of them have nothing to return once a key identifies the rows. */
const IDS_AT_ONCE = 20_000;

interface StoredRow {
  id: number;
  key: string;
  hash: string;
  raw: string;
}

export function storeIdentity(
  tx: Tx,
  { source, stream, identity }: { source: string; stream: string; identity: StreamIdentity },
): void {
  setIdentity(tx, streamNamed(tx, source, stream).id, identity);
}

/** Reads the records that make items. Writes nothing. */
export function itemRecords(reads: Reads, { source, stream, afterId, onlyByContent }: ItemRecordsRequest): ItemRecords {
  const { id: streamId } = streamNamed(reads, source, stream);
  if (afterId === 0 && SQL.waits(reads).get({ streamId }) !== undefined) return { records: [], next: null };
  const lastId = afterId + IDS_AT_ONCE;
  const rows = SQL.withItems(reads).all({ streamId, afterId, lastId, onlyByContent: onlyByContent ? 1 : 0 });
  const reached = rows.length === RECORDS_AT_ONCE ? (rows.at(-1)?.id ?? lastId) : lastId;
  return {
    records: rows.map(({ id, raw }) => ({ id, fields: parseJson<JsonObject>(raw) })),
    next: reached < (SQL.lastId(reads).get() ?? 0) ? reached : null,
  };
}

export function identifyRecords(
  tx: Tx,
  { source, stream, from, identity, keyOf, done }: RecordsToIdentify,
): IdentifiedRecords {
  const { id: streamId } = streamNamed(tx, source, stream);
  if (from.round === 'with-items' && from.afterId === 0) setIdentity(tx, streamId, { by: 'unknown' });
  const stored = SQL.rows[from.round](tx).all({ streamId, afterId: from.afterId });
  const open = stored.filter(({ id }) => !done.has(id));
  const wanted = open.map(({ raw, hash }) => ({ identity: keyOf(parseJson<JsonObject>(raw)) ?? hash }));
  const found = identifyRows(tx, wanted, streamId, done);
  const changed = open.flatMap(({ id, key: former }, at) => {
    const { key = former, known } = found[at] ?? {};
    return key === former ? [] : [{ id, key, holder: known?.id }];
  });
  // A record that has the new key of another one gets its own key in this part, or in a later one.
  setKeys(
    tx,
    changed.flatMap(({ holder }) => (holder === undefined ? [] : [{ id: holder, key: vacantKey(holder) }])),
  );
  setKeys(tx, changed);
  const next = placeAfter(from, stored);
  if (next === null) setIdentity(tx, streamId, identity);
  return { ids: open.map(({ id }) => id), next };
}

/** Gives records these keys, which no record of their streams has. */
function setKeys(tx: Tx, keys: readonly { id: number; key: string }[]): void {
  if (keys.length > 0) SQL.setKeys(tx).run(JSON.stringify(keys.map(({ id, key }) => [id, key])));
}

function setIdentity(tx: Tx, streamId: number, identity: StreamIdentity): void {
  SQL.setIdentity(tx).run(JSON.stringify(identity), streamId);
}

function placeAfter({ round }: RecordsPlace, rows: readonly StoredRow[]): RecordsPlace | null {
  const last = rows.at(-1);
  if (last !== undefined && rows.length === RECORDS_AT_ONCE) return { round, afterId: last.id };
  const next = NEXT_ROUND[round];
  return next === null ? null : { round: next, afterId: 0 };
}

const NEXT_ROUND = { 'with-items': 'present', present: 'missing', missing: null } as const satisfies Record<
  RecordsPlace['round'],
  RecordsPlace['round'] | null
>;
