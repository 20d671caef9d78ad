/** Adds tables for released items about which the guard has not decided, and for those that it holds. */
export const RELEASED_ITEMS = `
  -- Items at the platform that their records no longer make. They count as present until the guard has decided about them. A row
  -- goes when a record makes its item again, or when the item is marked as missing.
  CREATE TABLE released (
    item_id INTEGER PRIMARY KEY REFERENCES items (id) ON DELETE CASCADE,
    stream_id INTEGER NOT NULL REFERENCES streams (id) -- of the record that made the item last
  ) STRICT;
  CREATE INDEX released_by_stream ON released (stream_id);

  -- Streams whose released items the guard holds: one row for each, until few items are released or a person accepts them.
  CREATE TABLE guarded_items (
    stream_id INTEGER PRIMARY KEY REFERENCES streams (id),
    run_id INTEGER NOT NULL,          -- the last run that the guard held
    since INTEGER NOT NULL,           -- when the guard held the first one
    released INTEGER NOT NULL,
    message TEXT NOT NULL,
    accepted_at INTEGER               -- when a person accepted this number
  ) STRICT;
`;
