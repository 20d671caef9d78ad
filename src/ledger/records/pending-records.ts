import type { Issue } from '../../domain/issue.ts';
import type { Place } from '../../domain/place.ts';
import type { PendingRecord, StoredRecord } from '../../domain/ports/intake.ts';
import type { JsonObject } from '../../lib/json.ts';
import { parseJson, parseJsonOrNull } from '../store/context.ts';
import type { Sqlite } from '../store/database.ts';

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

/** Returns a function that finds the records of a stream by their keys, in the order of the keys. */
export function createRecordsByKey(
  db: Sqlite,
): (request: { source: string; stream: string; keys: readonly string[] }) => StoredRecord[] {
  const byKey = db.prepare<
    [{ source: string; stream: string; keys: string }],
    PendingRow & { key: string; missing: 0 | 1 }
  >(
    `SELECT r.id, r.key, r.version, s.source, s.name AS stream, r.raw, r.place, r.source_issues AS issues,
       r.missing_since IS NOT NULL AS missing
     FROM streams s CROSS JOIN json_each(@keys) k CROSS JOIN records r ON r.stream_id = s.id AND r.key = k.value
     WHERE s.source = @source AND s.name = @stream`,
  );
  return ({ keys, ...of }) =>
    byKey
      .all({ ...of, keys: JSON.stringify(keys) })
      .map((row) => ({ ...pendingRecord(row), key: row.key, missing: row.missing === 1 }));
}

/** Returns a function that lists a source's records that wait to be mapped, oldest first, after an id. */
export function createPendingRecords(
  db: Sqlite,
): (request: { source: string; afterId: number; limit: number }) => PendingRecord[] {
  const sql = {
    streamIds: db.prepare<[string], number>('SELECT id FROM streams WHERE source = ?').pluck(),
    pending: db.prepare<[number, number, number], PendingRow>(
      `SELECT r.id, r.version, s.source, s.name AS stream, r.raw, r.place, r.source_issues AS issues FROM records r
       JOIN streams s ON s.id = r.stream_id
       WHERE r.state = 'pending' AND r.stream_id = +? AND r.id > +? ORDER BY r.id LIMIT +?`,
    ),
  };

  return ({ source, afterId, limit }) => {
    // The pending records are read stream by stream: the index of each stream is sorted by id, so a query over all
    // streams would sort them at every call.
    const rows = sql.streamIds.all(source).flatMap((streamId) => sql.pending.all(streamId, afterId, limit));
    return rows
      .sort((a, b) => a.id - b.id)
      .slice(0, limit)
      .map(pendingRecord);
  };
}
