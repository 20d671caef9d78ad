import type { Issue } from '../../domain/issue.ts';
import type { Place } from '../../domain/place.ts';
import type { PendingRecord } from '../../domain/ports/intake.ts';
import type { JsonObject } from '../../lib/json.ts';
import { parseJson, parseJsonOrNull } from '../store/context.ts';

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
