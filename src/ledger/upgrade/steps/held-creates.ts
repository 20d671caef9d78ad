/** Adds the creates that wait for a decision of the guard about their stream. */
export const HELD_CREATES = `
  -- New items that are not sent before the guard has decided about their stream. A row goes when the create is sent after all, and
  -- with its item.
  CREATE TABLE held_creates (
    item_id INTEGER PRIMARY KEY REFERENCES items (id) ON DELETE CASCADE,
    stream_id INTEGER NOT NULL REFERENCES streams (id) -- of the record that makes the item
  ) STRICT;
  CREATE INDEX held_creates_by_stream ON held_creates (stream_id);

  -- 2 while the stream is being read, 1 until the guard has decided, and 0 if new items of the stream are sent at once.
  ALTER TABLE streams ADD COLUMN holds_creates INTEGER NOT NULL DEFAULT 0;

  -- 1 if most of what the stream had is gone, so that its new items are held too.
  ALTER TABLE guarded_reads ADD COLUMN holds_creates INTEGER NOT NULL DEFAULT 0;
  ALTER TABLE guarded_items ADD COLUMN holds_creates INTEGER NOT NULL DEFAULT 0;
`;
