// Writes single records.

import type { Issue } from '../../domain/issue.ts';
import type { Place } from '../../domain/place.ts';
import type { IncomingRecord } from '../../domain/record.ts';
import { statement } from '../store/statement.ts';
import type { Tx } from '../store/tx.ts';
import type { IdentifiedRecord } from './known-records.ts';
import { storeLookupEntries } from './lookups.ts';
import { countReplacedRow } from './run-accounts.ts';

/** The source, stream and run to which records belong, and the state of records that wait to be mapped. */
export interface RecordsTo {
  source: string;
  streamId: number;
  runId: number;
  waiting: 'pending' | 'stale';
}

const SQL = {
  insert: statement<[number, string, string, string, string, string, string | null, number]>(
    `INSERT INTO records (stream_id, key, hash, raw, place, version, state, source_issues, run_id)
     VALUES (?, ?, ?, ?, ?, 1, ?, ?, ?)`,
  ),
  change: statement<[string, string, string, string, string | null, number, number]>(
    `UPDATE records SET hash = ?, raw = ?, place = ?, version = version + 1, state = ?, source_issues = ?, run_id = ?,
     missing_since = NULL WHERE id = ?`,
  ),
  foundItems: statement<[number]>('UPDATE items SET missing_since = NULL WHERE record_id = ?'),
  movePlaces: statement<[string]>(
    `UPDATE records SET place = m.value ->> 1 FROM json_each(?) m WHERE records.id = m.value ->> 0
     AND records.state IN ('quarantined', 'pending') AND records.place <> m.value ->> 1`,
  ),
};

/** Stores a new or changed record as a record that waits to be mapped. Returns its id. */
export function storeRecord(
  tx: Tx,
  row: IncomingRecord,
  { key, known }: IdentifiedRecord,
  { streamId, runId, waiting }: RecordsTo,
): number {
  const { hash, raw } = row;
  const issues = issuesText(row.issues);
  const place = JSON.stringify(row.place);
  const record = { raw, issues: row.issues };
  if (!known) {
    const id = Number(SQL.insert(tx).run(streamId, key, hash, raw, place, waiting, issues, runId).lastInsertRowid);
    storeLookupEntries(tx, streamId, [{ id, ...record }], true);
    return id;
  }
  if (known.missing === 1) SQL.foundItems(tx).run(known.id);
  const isWaiting = known.state === 'pending' || known.state === 'stale';
  if (isWaiting && known.runId !== null) countReplacedRow(tx, known.runId, streamId);
  SQL.change(tx).run(hash, raw, place, waiting, issues, runId, known.id);
  storeLookupEntries(tx, streamId, [{ id: known.id, ...record }], false);
  return known.id;
}

/**
 * Stores the new places of unchanged rows. Only records in quarantine or waiting for the mapping keep an exact place,
 * because only their places are shown.
 */
export function movePlaces(tx: Tx, rows: readonly { id: number; place: Place }[]): void {
  if (rows.length === 0) return;
  SQL.movePlaces(tx).run(JSON.stringify(rows.map(({ id, place }) => [id, JSON.stringify(place)])));
}

/** The stored text of the issues that the connector has found in a row. */
export function issuesText(issues: readonly Issue[]): string | null {
  return issues.length > 0 ? JSON.stringify(issues) : null;
}
