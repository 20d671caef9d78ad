// The streams of sources, what runs have counted of them, and their records that wait for the mapping.

import type { Issue, Place } from '../../domain/issue.ts';
import type { PendingRecord, StoredRecord } from '../../domain/ports/intake.ts';
import type { StreamIdentity } from '../../domain/record.ts';
import type { JsonObject } from '../../lib/json.ts';
import { column, parseJson, parseJsonOrNull, type Reads, statement, type Tx } from '../store/tx.ts';

export interface StreamRow {
  id: number;
  cursor: string | null;
  /** The mapping revision with which the stream's records were mapped or are being mapped. */
  revision: string;
  /** The number of rows in the last complete read. */
  completeRead: number | null;
  /** When the last complete snapshot began; null if there was none. */
  snapshotAt: number | null;
  /** The time of the newest file of the last snapshot; null if it is not known. */
  asOf: number | null;
  /** What identifies the rows, as JSON; see `StreamIdentity`. */
  identity: string | null;
  /** Not null if the stream has no records since a complete read without rows. */
  emptied: 0 | 1 | null;
}

const SQL = {
  byName: statement<[string, string], StreamRow>(
    `SELECT id, cursor, mapping_revision AS revision, complete_read AS completeRead, snapshot_at AS snapshotAt,
       read_as_of AS asOf, identity, emptied FROM streams WHERE source = ? AND name = ?`,
  ),
  // Counted in two indexes, without reading the records.
  present: column<[{ streamId: number }], number>(
    `SELECT (SELECT count(*) FROM records WHERE stream_id = @streamId)
     - (SELECT count(*) FROM records WHERE stream_id = @streamId AND missing_since IS NOT NULL)`,
  ),
  add: statement<[string]>(
    `UPDATE run_streams SET read = read + CAST(c.value ->> 2 AS INTEGER), unchanged = unchanged + CAST(c.value ->> 3 AS INTEGER),
       changed = changed + CAST(c.value ->> 4 AS INTEGER), excluded = excluded + CAST(c.value ->> 5 AS INTEGER),
       quarantined = quarantined + CAST(c.value ->> 6 AS INTEGER)
     FROM json_each(?) c WHERE run_id = CAST(c.value ->> 0 AS INTEGER) AND stream_id = CAST(c.value ->> 1 AS INTEGER)`,
  ),
  setWarnings: statement<[{ runId: number; source: string; stream: string; warnings: string }]>(
    `UPDATE run_streams SET warnings = @warnings WHERE run_id = @runId
     AND stream_id = (SELECT id FROM streams WHERE source = @source AND name = @stream)`,
  ),
  waiting: { pending: waiting('pending'), stale: waiting('stale') },
  byKey: statement<[{ source: string; stream: string; keys: string }], PendingRow & { key: string; missing: 0 | 1 }>(
    `SELECT r.id, r.key, r.version, s.source, s.name AS stream, r.raw, r.place, r.source_issues AS issues,
       r.missing_since IS NOT NULL AS missing
     FROM streams s CROSS JOIN json_each(@keys) k CROSS JOIN records r ON r.stream_id = s.id AND r.key = k.value
     WHERE s.source = @source AND s.name = @stream`,
  ),
  streamIds: column<[string], number>('SELECT id FROM streams WHERE source = ?'),
  pending: statement<[number, number, number], PendingRow>(
    `SELECT r.id, r.version, s.source, s.name AS stream, r.raw, r.place, r.source_issues AS issues FROM records r
     JOIN streams s ON s.id = r.stream_id
     WHERE r.state = 'pending' AND r.stream_id = +? AND r.id > +? ORDER BY r.id LIMIT +?`,
  ),
};

/** How many records a stream has that are not missing. */
export function countPresentRecords(reads: Reads, streamId: number): number {
  return SQL.present(reads).get({ streamId }) ?? 0;
}

export function findStream(tx: Tx, source: string, name: string): StreamRow | undefined {
  return SQL.byName(tx).get(source, name);
}

/** True if the stream has no key columns in the config. */
export function hasNoKey({ identity }: StreamRow): boolean {
  return parseJsonOrNull<StreamIdentity>(identity)?.by === 'mappings';
}

/** @throws if no run ever had this stream */
export function streamNamed(reads: Reads, source: string, name: string): StreamRow {
  const row = SQL.byName(reads).get(source, name);
  if (!row) throw new Error(`The stream ${source}/${name} was never started.`);
  return row;
}

// The counts of runs. Each row is counted once, by its result.

/** How many rows of a stream a run has read, and how many of them had each result. */
interface RunCount {
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

/** Adds rows to the counts of runs. No run is named twice for one stream. */
export function countRows(tx: Tx, counts: readonly RunCount[]): void {
  if (counts.length === 0) return;
  const rows = counts.map(({ runId, streamId, read, unchanged, mapped, excluded, quarantined }) => {
    return [runId, streamId, read, unchanged, mapped, excluded, quarantined];
  });
  SQL.add(tx).run(JSON.stringify(rows));
}

/** Stores what people should know about the read of a stream in a run. */
export function storeWarnings(
  tx: Tx,
  read: { runId: number; source: string; stream: string; warnings: readonly string[] },
): void {
  const { runId, source, stream, warnings } = read;
  if (warnings.length > 0) SQL.setWarnings(tx).run({ runId, source, stream, warnings: JSON.stringify(warnings) });
}

/** A row of a stream that is counted in a run; null if no run counts it. */
export interface CountedRow {
  runId: number | null;
  streamId: number;
}

/** Gathers counts of rows by run and stream. */
export function createCounts() {
  const counts = new Map<string, RunCount>();
  return {
    /** Counts `change` more rows with this result. */
    add({ runId, streamId }: CountedRow, result: 'mapped' | 'excluded' | 'quarantined', change: 1 | -1 = 1): void {
      if (runId === null) return;
      const name = `${runId} ${streamId}`;
      const count = counts.get(name) ?? changed(runId, streamId, 0);
      count[result] += change;
      counts.set(name, count);
    },
    all: (): RunCount[] => [...counts.values()],
  };
}

/** Takes rows out of the count of quarantined ones that wait for another mapping, which counts them again. Returns their number. */
export function uncountQuarantined(tx: Tx, requeued: readonly CountedRow[]): number {
  const counts = createCounts();
  for (const row of requeued) counts.add(row, 'quarantined', -1);
  countRows(tx, counts.all());
  return requeued.length;
}

/** Counts waiting rows as changed, because later rows have replaced them. */
export function countReplacedRows(tx: Tx, rows: readonly CountedRow[]): void {
  const counts = createCounts();
  for (const row of rows) counts.add(row, 'mapped');
  countRows(tx, counts.all());
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
  const { byRun, forget } = SQL.waiting[state];
  countRows(
    tx,
    byRun(tx)
      .all(streamId, butOf)
      .map(({ runId, rows }) => changed(runId, streamId, rows)),
  );
  forget(tx).run(streamId, butOf);
}

/** SQL condition on the streams table `s`: true if some rows of the stream are not mapped yet. */
export const HAS_UNMAPPED = `(EXISTS (SELECT 1 FROM records r WHERE r.stream_id = s.id AND r.state = 'pending')
  OR EXISTS (SELECT 1 FROM records r WHERE r.stream_id = s.id AND r.state = 'stale' AND r.missing_since IS NULL))`;

/** A stored record that is read for mapping. */
export interface PendingRow {
  id: number;
  version: number;
  source: string;
  stream: string;
  raw: string;
  place: string;
  /** The issues that the connector has found, as JSON. */
  issues: string | null;
}

export function pendingRecord(row: PendingRow): PendingRecord {
  return {
    id: row.id,
    version: row.version,
    source: row.source,
    stream: row.stream,
    fields: parseJson<JsonObject>(row.raw),
    place: parseJson<Place>(row.place),
    issues: parseJsonOrNull<Issue[]>(row.issues) ?? [],
  };
}

/** Finds the records of a stream by their keys, in the order of the keys. */
export function recordsByKey(
  reads: Reads,
  { keys, ...of }: { source: string; stream: string; keys: readonly string[] },
): StoredRecord[] {
  return SQL.byKey(reads)
    .all({ ...of, keys: JSON.stringify(keys) })
    .map((row) => ({ ...pendingRecord(row), key: row.key, missing: row.missing === 1 }));
}

/** Lists a source's records that wait to be mapped, oldest first, after an id. */
export function pendingRecords(
  reads: Reads,
  { source, afterId, limit }: { source: string; afterId: number; limit: number },
): PendingRecord[] {
  // The pending records are read stream by stream: the index of each stream is sorted by id, so a query over all
  // streams would sort them at every call.
  const streamIds = SQL.streamIds(reads).all(source);
  const rows = streamIds.flatMap((streamId) => SQL.pending(reads).all(streamId, afterId, limit));
  return rows
    .sort((a, b) => a.id - b.id)
    .slice(0, limit)
    .map(pendingRecord);
}

const PENDING_SOURCES = column<[], string>(
  `SELECT DISTINCT source FROM streams s
   WHERE EXISTS (SELECT 1 FROM records r WHERE r.stream_id = s.id AND r.state = 'pending') ORDER BY source`,
);

/** Sources that have records waiting to be mapped. */
export function pendingSources(reads: Reads): string[] {
  return PENDING_SOURCES(reads).all();
}
