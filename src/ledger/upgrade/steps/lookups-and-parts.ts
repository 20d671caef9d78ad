/** Adds lookup tables with their uses, records of which only a part is used, and refs to a material or a component. */
export const LOOKUPS_AND_PARTS = `
  CREATE TABLE lookups (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,        -- another one for another definition
    owner TEXT NOT NULL,              -- the source whose mappings use the table
    source TEXT,                      -- the stream whose records are the rows; null for a file
    stream TEXT,
    columns TEXT                      -- JSON: the columns of key and value; null for a file
  ) STRICT;

  -- The rows of lookup tables. Of a stream these are the present records whose key columns are filled and that the connector could
  -- read. The record of a row of a file is 0.
  CREATE TABLE lookup_entries (
    lookup_id INTEGER NOT NULL REFERENCES lookups (id) ON DELETE CASCADE,
    key TEXT NOT NULL,
    record_id INTEGER NOT NULL,
    value TEXT NOT NULL,              -- JSON
    PRIMARY KEY (lookup_id, key, record_id)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX lookup_entries_by_record ON lookup_entries (record_id, lookup_id) WHERE record_id > 0;

  -- The keys that the last mapping of a record has looked up, found or not. A change of their entries maps the record again.
  CREATE TABLE lookup_uses (
    record_id INTEGER NOT NULL REFERENCES records (id) ON DELETE CASCADE,
    lookup_id INTEGER NOT NULL REFERENCES lookups (id) ON DELETE CASCADE,
    key TEXT NOT NULL,
    PRIMARY KEY (record_id, lookup_id, key)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX lookup_uses_by_key ON lookup_uses (lookup_id, key);

  -- 1 once a read of the stream was complete, so that an absent key is known to be absent
  ALTER TABLE streams ADD COLUMN was_read INTEGER NOT NULL DEFAULT 0;
  UPDATE streams SET was_read = 1 WHERE complete_read IS NOT NULL OR cursor IS NOT NULL;

  -- 1 for a record in quarantine whose sound items are used nevertheless, so that no passport waits for it
  ALTER TABLE records ADD COLUMN partial INTEGER NOT NULL DEFAULT 0;

  -- 1 for a part that is a material or a component, whichever item has the key
  ALTER TABLE refs ADD COLUMN either INTEGER NOT NULL DEFAULT 0;
  CREATE INDEX refs_either ON refs (key) WHERE either = 1;
`;
