/** A record that is about to be staged. */
export interface RecordRow {
  version: number;
  state: string;
  source: string;
  /** The run that counts the record; null if it was counted already. */
  runId: number | null;
  streamId: number;
  /**
   * Since when the record's items are missing. If a record is missing before it was mapped, its items are missing from
   * the beginning.
   */
  missingSince: number | null;
}

export const SELECT_RECORD = `SELECT r.version, r.state, s.source, r.run_id AS runId, r.stream_id AS streamId,
  CASE WHEN s.flags_missing = 1 THEN r.missing_since END AS missingSince
  FROM records r JOIN streams s ON s.id = r.stream_id WHERE r.id = +?`;
