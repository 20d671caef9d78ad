import { column, statement } from '../store/statement.ts';
import type { Reads, Tx } from '../store/tx.ts';
// Looks up streams by name.

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
}

const SQL = {
  byName: statement<[string, string], StreamRow>(
    `SELECT id, cursor, mapping_revision AS revision, complete_read AS completeRead, snapshot_at AS snapshotAt,
       read_as_of AS asOf, identity FROM streams WHERE source = ? AND name = ?`,
  ),
  // Counted in two indexes, without reading the records.
  present: column<[{ streamId: number }], number>(
    `SELECT (SELECT count(*) FROM records WHERE stream_id = @streamId)
     - (SELECT count(*) FROM records WHERE stream_id = @streamId AND missing_since IS NOT NULL)`,
  ),
};

/** How many records a stream has that are not missing. */
export function countPresentRecords(reads: Reads, streamId: number): number {
  return SQL.present(reads).get({ streamId }) ?? 0;
}

export function findStream(tx: Tx, source: string, name: string): StreamRow | undefined {
  return SQL.byName(tx).get(source, name);
}

/** @throws if no run ever had this stream */
export function streamNamed(reads: Reads, source: string, name: string): StreamRow {
  const row = SQL.byName(reads).get(source, name);
  if (!row) throw new Error(`The stream ${source}/${name} was never started.`);
  return row;
}
