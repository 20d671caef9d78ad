// The tables of items, requests, history and events as one step of the upgrade made them. This text never changes: a
// later change of a table is a step of its own. The open delivery is part of its item's row.
//
// A delivery has no separate id: the item's id and the revision name it. The ids of items and requests are
// AUTOINCREMENT, because idempotency keys are made from them. So an id is never used a second time, not even after a
// restore or a migration.

/**
 * These tables replace the former tables with the same names, and `deliveries`, `imports` and `claims`. The table
 * `refs` is unchanged.
 */
export const TABLES = `
  CREATE TABLE items (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    kind TEXT NOT NULL,
    key TEXT NOT NULL,
    natural_key TEXT,
    record_id INTEGER,                -- the owner; null once its record no longer makes it, and for a passport
    source TEXT NOT NULL,             -- the owner's source, which outlives the owner; of a passport its product's
    appeared_at INTEGER NOT NULL,     -- when the run began that brought it
    missing_since INTEGER,
    missing_accepted INTEGER,         -- the missing_since that a person has accepted
    desired_hash TEXT NOT NULL,
    -- What the API has acknowledged. 0: nothing yet; 1: what is desired, which is not stored twice; 2: what is in baseline. It is
    -- never read from whether baseline is null. A passport has 0 or 2.
    acknowledged INTEGER NOT NULL DEFAULT 0,
    baseline_hash TEXT,               -- only where acknowledged = 2, like baseline
    remote_id TEXT,                   -- JSON, in its own type; null exactly where acknowledged = 0
    -- The delivery of the present revision, from here to settled_at. It is open until its state is delivered or superseded.
    revision INTEGER NOT NULL DEFAULT 0,
    state TEXT,                       -- null before the first revision
    operation TEXT,
    -- The hash of what this revision asks for, where that is not what is desired by now. Null stands for desired_hash, and a
    -- passport's payload is the status that its operation leads to. It stays until the next revision begins, unlike sent.
    sent_hash TEXT,
    -- The request that holds its bytes, while these may be sent again or may have arrived, and its place in the body of a bulk
    -- import. In any other request the place is null.
    request_id INTEGER,
    request_place INTEGER,
    group_max INTEGER,                -- how many may share an import with it, once an import as a whole was refused
    due_at INTEGER NOT NULL DEFAULT 0,
    attempts INTEGER NOT NULL DEFAULT 0,
    -- 1 from when it was first unconfirmed until it is known whether the write took effect, whatever the state is meanwhile
    uncertain INTEGER NOT NULL DEFAULT 0,
    by_hand INTEGER NOT NULL DEFAULT 0, -- 1 where a person has asked for it, and may be waiting
    staged_at INTEGER,
    sent_at INTEGER,
    settled_at INTEGER,
    -- 1 for a passport that needs evaluation, because something was delivered since the last one
    dirty INTEGER NOT NULL DEFAULT 0,
    -- 1 where it is known that it was not created between the backup and the restore of this ledger
    was_absent INTEGER NOT NULL DEFAULT 0,
    -- 1 for an item that was at the platform before, differs from what is desired, and may not be changed before a person accepts it
    adopted INTEGER NOT NULL DEFAULT 0,
    -- 1 for an adopted product of which nobody has said whether its BOM items are at the platform
    parts_unknown INTEGER NOT NULL DEFAULT 0,
    ignored_hash TEXT,                -- the desired hash of a write that a person has ended although the platform does not have it
    -- Long texts come last, so that the columns before them are read without them.
    desired TEXT NOT NULL,            -- canonical JSON of the payload; of a passport its desire
    baseline TEXT,
    -- The payload that this open revision asks for, where that is not what is desired by now. Never for a passport.
    sent TEXT,
    reason TEXT,                      -- JSON
    UNIQUE (kind, key)
  ) STRICT;
  CREATE INDEX items_by_natural_key ON items (kind, natural_key);
  CREATE INDEX items_by_record ON items (record_id);
  CREATE UNIQUE INDEX items_by_remote_id ON items (kind, remote_id) WHERE remote_id <> 'null';
  CREATE INDEX items_dirty ON items (key) WHERE dirty = 1;
  CREATE INDEX items_parts_unknown ON items (key) WHERE parts_unknown = 1;
  CREATE INDEX items_ignored ON items (kind) WHERE ignored_hash IS NOT NULL;
  CREATE INDEX items_missing ON items (kind) WHERE missing_since IS NOT NULL;
  -- Statements that use a partial index repeat its condition in the same words.
  CREATE INDEX items_due ON items (operation, id) WHERE state = 'due';
  CREATE INDEX items_by_hand ON items (id) WHERE by_hand = 1 AND state = 'due';
  CREATE INDEX items_scheduled ON items (due_at) WHERE state IN ('due', 'in_doubt') AND due_at > 0;
  -- A business rule's refusal is asked again at due_at, by itself.
  CREATE INDEX items_blocked ON items (due_at) WHERE state = 'blocked' AND due_at > 0;
  CREATE INDEX items_sending ON items (id) WHERE state = 'sending';
  CREATE INDEX items_waiting ON items (id) WHERE state = 'waiting';
  CREATE INDEX items_stuck ON items (id) WHERE (state IN ('blocked', 'rejected') OR state IN ('parked', 'in_doubt'));
  CREATE INDEX items_of_import ON items (request_id, request_place) WHERE request_place IS NOT NULL;

  -- Requests that were claimed. A row is there from the claim, which makes key, path and bytes durable before the first byte is
  -- sent (I2), and for as long as these may be sent again. Its members are the items with its id.
  CREATE TABLE requests (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    operation TEXT NOT NULL,
    sends INTEGER NOT NULL,           -- how often it was claimed
    claimed_at INTEGER NOT NULL,      -- when it was claimed last
    idempotency_key TEXT NOT NULL,
    path TEXT NOT NULL,
    body TEXT
  ) STRICT;

  -- Revisions before the present one. A row is written when the next revision begins.
  CREATE TABLE history (
    item_id INTEGER NOT NULL REFERENCES items (id) ON DELETE CASCADE,
    revision INTEGER NOT NULL,
    operation TEXT NOT NULL,
    state TEXT NOT NULL,              -- delivered or superseded
    desired_hash TEXT NOT NULL,       -- of what the revision asked for
    attempts INTEGER NOT NULL,
    staged_at INTEGER NOT NULL,
    sent_at INTEGER,
    settled_at INTEGER,
    reason TEXT,                      -- JSON
    PRIMARY KEY (item_id, revision)
  ) STRICT, WITHOUT ROWID;

  -- Records that are kept from making an item by the record that owns it, or make the same one again. They are mapped again as soon
  -- as that item changes, is released, or goes missing.
  CREATE TABLE contenders (
    kind TEXT NOT NULL,
    key TEXT NOT NULL,
    record_id INTEGER NOT NULL REFERENCES records (id) ON DELETE CASCADE,
    PRIMARY KEY (kind, key, record_id)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX contenders_by_record ON contenders (record_id);

  -- What happened to an item besides the plain way, which the times of its revisions show.
  CREATE TABLE events (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    item_id INTEGER NOT NULL REFERENCES items (id) ON DELETE CASCADE,
    revision INTEGER,                 -- null where it is about the item as a whole
    at INTEGER NOT NULL,
    type TEXT NOT NULL,
    detail TEXT
  ) STRICT;
  CREATE INDEX events_by_item ON events (item_id, id);
`;
