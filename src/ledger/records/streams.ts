import type { Sqlite } from '../store/database.ts';

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

/** Looks up streams by name. Call it inside a transaction. */
export interface Streams {
  find(source: string, name: string): StreamRow | undefined;
  /** @throws if no run ever had this stream */
  get(source: string, name: string): StreamRow;
  /** How many records a stream has that are not missing. */
  countPresent(streamId: number): number;
}

export function createStreams(db: Sqlite): Streams {
  const byName = db.prepare<[string, string], StreamRow>(
    'SELECT id, cursor, mapping_revision AS revision, complete_read AS completeRead, snapshot_at AS snapshotAt, read_as_of AS asOf, identity FROM streams WHERE source = ? AND name = ?',
  );
  // Counted in two indexes, without reading the records.
  const present = db
    .prepare<[{ streamId: number }], number>(
      `SELECT (SELECT count(*) FROM records WHERE stream_id = @streamId)
       - (SELECT count(*) FROM records WHERE stream_id = @streamId AND missing_since IS NOT NULL)`,
    )
    .pluck();
  return {
    countPresent: (streamId) => present.get({ streamId }) ?? 0,
    find: (source, name) => byName.get(source, name),
    get(source, name) {
      const row = byName.get(source, name);
      if (!row) throw new Error(`The stream ${source}/${name} was never started.`);
      return row;
    },
  };
}
