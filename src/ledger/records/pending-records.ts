import type { Issue } from '../../domain/issue.ts';
import type { Place } from '../../domain/place.ts';
import type { PendingRecord, StoredRecord } from '../../domain/ports/intake.ts';
import type { JsonObject } from '../../lib/json.ts';
import { parseJson, parseJsonOrNull } from '../store/context.ts';
import { column, statement } from '../store/statement.ts';
import type { Reads } from '../store/tx.ts';

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

const SQL = {
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
