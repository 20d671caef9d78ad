/** Adds the records that a read lacks while the guard holds it, so that people can see which records these are. */
export const LOST_RECORDS = `
  -- One row for each record that counts as lost in a held read. The rows of a stream are replaced when the guard decides again.
  CREATE TABLE lost_records (
    record_id INTEGER PRIMARY KEY REFERENCES records (id) ON DELETE CASCADE,
    stream_id INTEGER NOT NULL REFERENCES streams (id)
  ) STRICT;
  CREATE INDEX lost_records_by_stream ON lost_records (stream_id);
`;
