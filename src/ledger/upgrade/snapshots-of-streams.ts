/** Streams that give changes are also read completely now and then. These columns say when, and what the changes had missed. */
export const SNAPSHOTS_OF_STREAMS = `
  ALTER TABLE streams ADD COLUMN snapshot_at INTEGER;
  ALTER TABLE run_streams ADD COLUMN missed_by_changes INTEGER;
`;
