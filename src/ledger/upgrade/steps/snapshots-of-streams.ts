/**
 * Adds columns for the complete reads of streams that give changes: when the last one was, and what the changes had
 * missed.
 */
export const SNAPSHOTS_OF_STREAMS = `
  ALTER TABLE streams ADD COLUMN snapshot_at INTEGER;
  ALTER TABLE run_streams ADD COLUMN missed_by_changes INTEGER;
  UPDATE streams SET snapshot_at = (
    SELECT max(r.started_at) FROM run_streams a JOIN runs r ON r.id = a.run_id
    WHERE a.stream_id = streams.id AND r.result = 'complete')
  WHERE complete_read IS NOT NULL;
`;
