import type { Issue } from '../../domain/issue.ts';
import type { Place } from '../../domain/place.ts';
import type { IncomingRecord } from '../../domain/record.ts';
import type { Sqlite } from '../store/database.ts';
import type { IdentifiedRecord } from './known-records.ts';
import type { Lookups } from './lookups.ts';
import type { RunAccounts } from './run-accounts.ts';

/** The source, stream and run to which records belong, and the state of records that wait to be mapped. */
export interface RecordsTo {
  source: string;
  streamId: number;
  runId: number;
  waiting: 'pending' | 'stale';
}

/** Writes single records. Call each function inside a transaction. */
export interface RecordStore {
  /** Stores a new or changed record as a record that waits to be mapped. Returns its id. */
  store(row: IncomingRecord, identified: IdentifiedRecord, to: RecordsTo): number;
  /**
   * Stores the new places of unchanged rows. Only records in quarantine or waiting for the mapping keep an exact place,
   * because only their places are shown.
   */
  movePlaces(rows: readonly { id: number; place: Place }[]): void;
}

export function createRecordStore(
  db: Sqlite,
  accounts: RunAccounts,
  lookups: Pick<Lookups, 'recordsChanged'>,
): RecordStore {
  const sql = {
    insert: db.prepare<[number, string, string, string, string, string, string | null, number]>(
      `INSERT INTO records (stream_id, key, hash, raw, place, version, state, source_issues, run_id)
       VALUES (?, ?, ?, ?, ?, 1, ?, ?, ?)`,
    ),
    change: db.prepare<[string, string, string, string, string | null, number, number]>(
      `UPDATE records SET hash = ?, raw = ?, place = ?, version = version + 1, state = ?, source_issues = ?, run_id = ?,
       missing_since = NULL WHERE id = ?`,
    ),
    foundItems: db.prepare<[number]>('UPDATE items SET missing_since = NULL WHERE record_id = ?'),
    movePlaces: db.prepare<[string]>(
      `UPDATE records SET place = m.value ->> 1 FROM json_each(?) m WHERE records.id = m.value ->> 0
       AND records.state IN ('quarantined', 'pending') AND records.place <> m.value ->> 1`,
    ),
  };

  return {
    store(row, { key, known }, { streamId, runId, waiting }) {
      const { hash, raw } = row;
      const issues = issuesText(row.issues);
      const place = JSON.stringify(row.place);
      const record = { raw, issues: row.issues };
      if (!known) {
        const id = Number(sql.insert.run(streamId, key, hash, raw, place, waiting, issues, runId).lastInsertRowid);
        lookups.recordsChanged(streamId, [{ id, ...record }], true);
        return id;
      }
      if (known.missing === 1) sql.foundItems.run(known.id);
      const isWaiting = known.state === 'pending' || known.state === 'stale';
      if (isWaiting && known.runId !== null) accounts.passedBy(known.runId, streamId);
      sql.change.run(hash, raw, place, waiting, issues, runId, known.id);
      lookups.recordsChanged(streamId, [{ id: known.id, ...record }], false);
      return known.id;
    },
    movePlaces(rows) {
      if (rows.length === 0) return;
      sql.movePlaces.run(JSON.stringify(rows.map(({ id, place }) => [id, JSON.stringify(place)])));
    },
  };
}

/** The stored text of the issues that the connector has found in a row. */
export function issuesText(issues: readonly Issue[]): string | null {
  return issues.length > 0 ? JSON.stringify(issues) : null;
}
