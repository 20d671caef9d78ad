/** The keys of the rows in quarantine are in their index, so that a search reads no rows. */
export const KEYS_OF_QUARANTINED_ROWS = `
  DROP INDEX records_quarantined;
  CREATE INDEX records_quarantined ON records (stream_id, id, missing_since, key) WHERE state = 'quarantined';
`;
