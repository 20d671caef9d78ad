// Finds complete reads whose rows are all refused.

import type { Issue } from '../../domain/issue.ts';
import type { Place } from '../../domain/place.ts';
import type { EndedStream, SeenRecords } from '../../domain/ports/intake.ts';
import { parseJson } from '../store/context.ts';
import { column, statement } from '../store/statement.ts';
import type { Tx } from '../store/tx.ts';

/** Issues that depend on other rows or on lookup tables. The row may be used as it is when these change. */
const IS_OF_OTHERS = "code IN ('claim.conflict', 'natural_key.taken', 'refs.ambiguous') OR code GLOB 'lookup.*'";

/** Only the issues of the connector are known of a row that waits to be mapped. */
const IS_REFUSED = `CASE state
  WHEN 'quarantined' THEN partial = 0 AND EXISTS
    (SELECT 1 FROM (SELECT e.value ->> 'code' AS code FROM json_each(issues) e) WHERE NOT (${IS_OF_OTHERS}))
  WHEN 'excluded' THEN 0 WHEN 'mapped' THEN 0
  ELSE source_issues IS NOT NULL END`;

const SQL = {
  usable: column<[number], number>(
    `SELECT id FROM records WHERE stream_id = ? AND missing_since IS NULL AND NOT (${IS_REFUSED})`,
  ),
  refused: column<[number], number>(
    `SELECT id FROM records WHERE stream_id = ? AND missing_since IS NULL AND ${IS_REFUSED}`,
  ),
  row: statement<[number], { place: string; issues: string }>(
    'SELECT place, coalesce(issues, source_issues) AS issues FROM records WHERE id = ?',
  ),
};

/**
 * Returns the first row of a read if all its rows are refused; null if it has no row, or one that is not refused. A row
 * is refused if nothing of it is used, because of what it holds.
 */
export function firstIfAllRefused(tx: Tx, streamId: number, seen: SeenRecords): EndedStream['refused'] {
  if (seen.size() === 0) return null;
  for (const id of SQL.usable(tx).iterate(streamId)) if (seen.has(id)) return null;
  let first: number | undefined;
  for (const id of SQL.refused(tx).iterate(streamId))
    if (seen.has(id) && (first === undefined || id < first)) first = id;
  const row = first === undefined ? undefined : SQL.row(tx).get(first);
  return row ? { place: parseJson<Place>(row.place), issues: parseJson<Issue[]>(row.issues) } : null;
}
