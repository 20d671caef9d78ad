/** A record that is about to be staged. */
export interface RecordRow {
  version: number;
  state: string;
  source: string;
  /** The run that counts what the record becomes, if one does. */
  runId: number | null;
  streamId: number;
  /** Since when its items count as missing: one that had gone before it was mapped makes items that are missing from the start. */
  missingSince: number | null;
}

export const SELECT_RECORD = `SELECT r.version, r.state, s.source, r.run_id AS runId, r.stream_id AS streamId,
  CASE WHEN s.flags_missing = 1 THEN r.missing_since END AS missingSince
  FROM records r JOIN streams s ON s.id = r.stream_id WHERE r.id = +?`;
