-- The tables, indexes and views of the ledger, and the rows that a new ledger has. A new ledger is made from this file. An older
-- ledger gets the same tables by steps: `src/ledger/upgrade-steps.ts`. So each change of this file is also a step, and a new column comes
-- last in its table, because a step adds it there.
--
-- The types are INTEGER and TEXT. Times are milliseconds since the epoch. Flags are 0 or 1. JSON is text in the canonical form.
-- Hashes are SHA-256 in base64url. A kind is product, material, bom_item or passport, and an item's key is unique in its kind.
-- PostgreSQL needs bigint for INTEGER and an identity for AUTOINCREMENT, and has no STRICT and no WITHOUT ROWID. A constraint
-- without a name is a foreign key, or the primary key of one column.
--
-- A statement uses a partial index, or an index of an expression, only if it repeats the words of the index.


-- The ledger itself ------------------------------------------------------------------------------------------------------------

-- Facts about the ledger: id, epoch, target, holder, term, generation, and what the parts of the program have noted.
CREATE TABLE meta (
  name TEXT PRIMARY KEY,
  value TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- The forms in which the items of a kind were sent. The first row of a kind is its first form.
CREATE TABLE wire_forms (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  kind TEXT NOT NULL,
  fields TEXT NOT NULL,               -- JSON: a hash of the bytes of each field
  CONSTRAINT wire_forms_unique UNIQUE (kind, fields)
) STRICT;


-- Sources: streams, runs, records ----------------------------------------------------------------------------------------------

CREATE TABLE streams (
  id INTEGER PRIMARY KEY,
  source TEXT NOT NULL,
  name TEXT NOT NULL,
  cursor TEXT,                        -- JSON; where the next read of changes begins; changes only with its page (I1)
  mapping_revision TEXT NOT NULL,
  complete_read INTEGER,              -- how many rows the last complete read had, for the guard
  flags_missing INTEGER NOT NULL DEFAULT 0, -- 1: if a record is missing, its items are missing too
  snapshot_at INTEGER,                -- when the last complete snapshot began
  was_read INTEGER NOT NULL DEFAULT 0, -- 1 once a read was complete, so that an absent key is known to be absent
  -- 3 while the stream is being read after a read that failed, 2 while it is being read, 1 until the guard has decided, and 0 if new
  -- items of the stream are sent at once
  holds_creates INTEGER NOT NULL DEFAULT 0,
  identity TEXT,                      -- JSON: the key columns of the rows, or their content; null until a run stores it
  read_as_of INTEGER,                 -- the time of the newest file of the last snapshot; null if it is not known
  read_files TEXT,                    -- JSON: for each file of the last snapshot the newest time at which it was modified
  -- Not null from a complete read without rows until the next row: 1 if that read took records away and nobody had accepted this, else 0
  emptied INTEGER,
  CONSTRAINT streams_unique UNIQUE (source, name)
) STRICT;

CREATE TABLE runs (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  source TEXT NOT NULL,
  cause TEXT NOT NULL,                -- cli, schedule, retry, file or upload
  started_at INTEGER NOT NULL,
  ended_at INTEGER,
  result TEXT,                        -- complete, failed, held or interrupted; null while it runs
  error TEXT,
  asked_by TEXT                       -- the person who asked for the run; null for a schedule
) STRICT;
CREATE INDEX runs_by_source ON runs (source, id);

-- What a run has read of a stream. The columns from `read` to `missing` count records.
CREATE TABLE run_streams (
  run_id INTEGER NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
  stream_id INTEGER NOT NULL REFERENCES streams (id),
  read INTEGER NOT NULL DEFAULT 0,
  unchanged INTEGER NOT NULL DEFAULT 0,
  changed INTEGER NOT NULL DEFAULT 0,
  quarantined INTEGER NOT NULL DEFAULT 0,
  excluded INTEGER NOT NULL DEFAULT 0,
  missing INTEGER NOT NULL DEFAULT 0,
  guarded TEXT,                       -- why the guard has marked nothing as missing
  missed_by_changes INTEGER,          -- how many records a snapshot found that reads of changes had not given
  warnings TEXT,                      -- JSON: sentences that people should know about the read
  CONSTRAINT run_streams_key PRIMARY KEY (run_id, stream_id)
) STRICT, WITHOUT ROWID;

-- The rows of sources, as they were read last.
CREATE TABLE records (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  stream_id INTEGER NOT NULL REFERENCES streams (id),
  key TEXT NOT NULL,                  -- the values of the key columns, separated by the character 31; or a hash of the content
  hash TEXT NOT NULL,                 -- of the fields
  raw TEXT NOT NULL,                  -- the fields as JSON, without the columns that are never stored
  place TEXT NOT NULL,                -- JSON: file, line, path
  version INTEGER NOT NULL,           -- increases when the record has to be mapped again
  -- stale: is mapped again once it was read again; pending: waits to be mapped; then mapped, excluded or quarantined
  state TEXT NOT NULL,
  source_issues TEXT,                 -- JSON: the issues that the connector has found
  issues TEXT,                        -- JSON: why it is in quarantine
  run_id INTEGER,                     -- the run that counts the result of the mapping; null once it is counted
  missing_since INTEGER,
  partial INTEGER NOT NULL DEFAULT 0, -- 1 in quarantine if its sound items are used nevertheless, so that no passport waits
  quarantined_at INTEGER,             -- null if it is not in quarantine, or if that time is not known
  CONSTRAINT records_unique UNIQUE (stream_id, key)
) STRICT;
CREATE INDEX records_pending ON records (stream_id, id) WHERE state = 'pending';
CREATE INDEX records_stale ON records (stream_id) WHERE state = 'stale';
CREATE INDEX records_missing ON records (stream_id) WHERE missing_since IS NOT NULL;
CREATE INDEX records_quarantined ON records (stream_id, id, missing_since, key) WHERE state = 'quarantined';
-- Groups of stuck records: `src/ledger/items/stuck-groups.ts`.
CREATE INDEX records_by_issue ON records (
  stream_id,
  CASE WHEN json_valid(issues) THEN issues ->> '$[0].code' END,
  CASE WHEN json_valid(issues) THEN issues ->> '$[0].field' END,
  id, quarantined_at
) WHERE state = 'quarantined' AND missing_since IS NULL;

-- Records that are kept from making an item by the record that owns it, or make the same one again. They are mapped again as soon
-- as that item changes, is released, or goes missing.
CREATE TABLE contenders (
  kind TEXT NOT NULL,
  key TEXT NOT NULL,
  record_id INTEGER NOT NULL REFERENCES records (id) ON DELETE CASCADE,
  CONSTRAINT contenders_key PRIMARY KEY (kind, key, record_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX contenders_by_record ON contenders (record_id);

-- Reads that the guard took for a broken export: one row for each stream, until a whole export comes or an accepted one.
CREATE TABLE guarded_reads (
  stream_id INTEGER PRIMARY KEY REFERENCES streams (id),
  run_id INTEGER NOT NULL,            -- the last run that the guard held
  since INTEGER NOT NULL,             -- when the guard held the first one
  missing INTEGER NOT NULL,           -- how many records are missing
  read INTEGER NOT NULL,              -- how many rows the export has
  message TEXT NOT NULL,
  accepted_at INTEGER,                -- when a person accepted these figures
  holds_creates INTEGER NOT NULL DEFAULT 0, -- 1 if most of what the stream had is gone, so that its new items are held too
  refused_at INTEGER,                 -- when a person refused the read: nobody is asked about it again until more is missing
  refused_by TEXT
) STRICT;

-- Exports that the guard holds before their first row, because they are older than the last one: one row for each stream, until another
-- export is read. What the guard holds of the export before stays in guarded_reads.
CREATE TABLE older_exports (
  stream_id INTEGER PRIMARY KEY REFERENCES streams (id),
  run_id INTEGER NOT NULL,            -- the last run that the guard held
  since INTEGER NOT NULL,             -- when the guard held the first one
  as_of INTEGER,                      -- the time of its newest file; null if it is not known
  missing INTEGER NOT NULL,           -- how many stored records it lacks
  read INTEGER NOT NULL,              -- how many rows it has
  message TEXT NOT NULL,
  accepted_at INTEGER,                -- when a person accepted the export
  refused_at INTEGER,                 -- when a person refused the export: nobody is asked about the same export again
  refused_by TEXT
) STRICT;

-- Each record that counts as lost in a held read. The rows of a stream are replaced when the guard decides again.
CREATE TABLE lost_records (
  record_id INTEGER PRIMARY KEY REFERENCES records (id) ON DELETE CASCADE,
  stream_id INTEGER NOT NULL REFERENCES streams (id)
) STRICT;
CREATE INDEX lost_records_by_stream ON lost_records (stream_id);

-- Lookup tables that mappings use.
CREATE TABLE lookups (
  id INTEGER PRIMARY KEY,
  name TEXT NOT NULL CONSTRAINT lookups_unique UNIQUE, -- a hash of the definition: a table with another definition has another one
  owner TEXT NOT NULL,                -- the source whose mappings use the table
  source TEXT,                        -- the stream whose records are the rows; null for a file
  stream TEXT,
  columns TEXT,                       -- JSON: the columns of key and value; null for a file
  title TEXT                          -- the name by which mappings call the table; null until its source is loaded
) STRICT;

-- The rows of lookup tables. Of a stream these are the present records whose key columns are filled and that the connector could
-- read.
CREATE TABLE lookup_entries (
  lookup_id INTEGER NOT NULL REFERENCES lookups (id) ON DELETE CASCADE,
  key TEXT NOT NULL,
  record_id INTEGER NOT NULL,         -- 0 for a row of a file
  value TEXT NOT NULL,                -- JSON
  CONSTRAINT lookup_entries_key PRIMARY KEY (lookup_id, key, record_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX lookup_entries_by_record ON lookup_entries (record_id, lookup_id) WHERE record_id > 0;

-- The keys that the last mapping of a record has looked up, found or not. If their entries change, the record is mapped again.
CREATE TABLE lookup_uses (
  record_id INTEGER NOT NULL REFERENCES records (id) ON DELETE CASCADE,
  lookup_id INTEGER NOT NULL REFERENCES lookups (id) ON DELETE CASCADE,
  key TEXT NOT NULL,
  CONSTRAINT lookup_uses_key PRIMARY KEY (record_id, lookup_id, key)
) STRICT, WITHOUT ROWID;
CREATE INDEX lookup_uses_by_key ON lookup_uses (lookup_id, key);


-- Items and their deliveries ---------------------------------------------------------------------------------------------------

-- Products, materials, BOM items and passports, each with the delivery of its present revision: an item has at most one open
-- delivery (I3). A delivery has no id of its own: the item's id and the revision name it. Idempotency keys are made from the ids,
-- so an id is never used a second time (AUTOINCREMENT), not even after a restore or an upgrade. The columns of an item are:
-- name and origin: id, kind, key, natural_key, record_id, source, appeared_at, missing_since, missing_accepted
-- what is desired: desired, desired_hash
-- what the API has acknowledged: acknowledged, baseline, baseline_hash, remote_id, form, unproven
-- its delivery: revision, state, operation, sent, sent_hash, sent_form, reason, due_at, attempts, uncertain, by_hand
-- its request: request_id, request_place, group_max
-- its times: staged_at, sent_at, settled_at
-- marks: dirty, was_absent, adopted, parts_unknown, ignored_hash
CREATE TABLE items (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  kind TEXT NOT NULL,
  key TEXT NOT NULL,                  -- of a passport: the key of its product
  natural_key TEXT,                   -- by which the platform identifies the item, such as the SKU
  record_id INTEGER,                  -- the owner; null once its record no longer makes it, and for a passport
  source TEXT NOT NULL,               -- the owner's source, which outlives the owner; of a passport its product's
  appeared_at INTEGER NOT NULL,       -- when the run began that brought it
  missing_since INTEGER,
  missing_accepted INTEGER,           -- the missing_since that a person has accepted
  desired_hash TEXT NOT NULL,
  -- What the API has acknowledged. 0: nothing yet; 1: what is desired, which is not stored twice; 2: what is in baseline. It is
  -- never read from whether baseline is null. A passport has 0 or 2.
  acknowledged INTEGER NOT NULL DEFAULT 0,
  baseline_hash TEXT,                 -- only where acknowledged = 2, like baseline
  remote_id TEXT,                     -- JSON, in its own type; null exactly where acknowledged = 0
  -- The delivery of the present revision, from here to settled_at. It is open until its state is delivered or superseded.
  revision INTEGER NOT NULL DEFAULT 0,
  -- waiting, due, sending, in_doubt (unconfirmed), delivered, blocked, rejected, parked or superseded:
  -- `src/domain/delivery/delivery.ts`; null before the first revision. Only `src/ledger/items/revisions.ts` writes it.
  state TEXT,
  operation TEXT,                     -- such as product.create: `src/domain/delivery/operation.ts`
  -- The hash of what this revision asks for, where that is not what is desired by now. Null stands for desired_hash, and a
  -- passport's payload is the status that its operation leads to. It stays until the next revision begins, unlike sent.
  sent_hash TEXT,
  -- The request that holds its bytes, while these may be sent again or may have arrived, and its place in the body of a bulk
  -- import. In any other request the place is null.
  request_id INTEGER,
  request_place INTEGER,
  group_max INTEGER,                  -- how many may share an import with it, once an import as a whole was refused
  due_at INTEGER NOT NULL DEFAULT 0,  -- when it is sent, or looked up, at the earliest; 0: at once, or when a person decides
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
  ignored_hash TEXT,                  -- the desired hash of a write that a person has ended although the platform does not have it
  -- Long texts come after the columns that are read without them.
  desired TEXT NOT NULL,              -- canonical JSON of the payload; of a passport its desire
  baseline TEXT,                      -- canonical JSON
  -- The payload that this open revision asks for, where that is not what is desired by now. Never for a passport.
  sent TEXT,
  reason TEXT,                        -- JSON: why the delivery is in its state
  -- The rows of wire_forms in which the API has acknowledged the item, and in which its last claim has encoded it. Null stands for
  -- the first form of the kind, also in new rows, and is the only value of a passport.
  form INTEGER,
  sent_form INTEGER,
  unproven TEXT,                      -- why the last acknowledged write was taken although its answer proves too little; else null
  CONSTRAINT items_unique UNIQUE (kind, key)
) STRICT;
CREATE INDEX items_by_natural_key ON items (kind, natural_key);
CREATE INDEX items_by_record ON items (record_id);
CREATE UNIQUE INDEX items_by_remote_id ON items (kind, remote_id) WHERE remote_id <> 'null';
CREATE INDEX items_dirty ON items (key) WHERE dirty = 1;
CREATE INDEX items_parts_unknown ON items (key) WHERE parts_unknown = 1;
CREATE INDEX items_ignored ON items (kind) WHERE ignored_hash IS NOT NULL;
CREATE INDEX items_missing ON items (kind) WHERE missing_since IS NOT NULL;
CREATE INDEX items_due ON items (operation, id) WHERE state = 'due';
CREATE INDEX items_by_hand ON items (id) WHERE by_hand = 1 AND state = 'due';
CREATE INDEX items_scheduled ON items (due_at) WHERE state IN ('due', 'in_doubt') AND due_at > 0;
-- A business rule's refusal is asked again at due_at, by itself.
CREATE INDEX items_blocked ON items (due_at) WHERE state = 'blocked' AND due_at > 0;
CREATE INDEX items_sending ON items (id) WHERE state = 'sending';
CREATE INDEX items_waiting ON items (id) WHERE state = 'waiting';
CREATE INDEX items_stuck ON items (id) WHERE (state IN ('blocked', 'rejected') OR state IN ('parked', 'in_doubt'));
CREATE INDEX items_of_import ON items (request_id, request_place) WHERE request_place IS NOT NULL;
-- Groups of stuck items: `src/ledger/items/stuck-groups.ts`.
CREATE INDEX items_by_reason ON items (
  state,
  CASE WHEN json_valid(reason) THEN coalesce(reason ->> '$.shape', reason ->> '$.code', '') ELSE '' END,
  source, id, settled_at, kind
) WHERE ((state IN ('blocked', 'rejected') OR state = 'parked') OR (state = 'in_doubt' AND due_at = 0));
-- Passports by where they stand, as one number: `src/ledger/dashboard/passport-lists.ts`.
CREATE INDEX passports_by_standing ON items (
  CASE baseline WHEN '{"status":"published"}' THEN 300 WHEN '{"status":"initialized"}' THEN 200 WHEN '{"status":"unpublished"}' THEN 100
    ELSE 0 END
  + iif(desired LIKE '{"because":"person"%', 50, 0) + iif(desired LIKE '%"status":"published"}', 20, 0)
  + CASE WHEN state IN ('blocked', 'rejected') OR state = 'parked' OR (state = 'in_doubt' AND due_at = 0) THEN 2
    WHEN state IN ('waiting', 'due') OR state IN ('sending', 'in_doubt') THEN 1 ELSE 0 END,
  source
) WHERE kind = 'passport';
-- What a run has changed.
CREATE INDEX items_by_time ON items (source, staged_at);
CREATE INDEX items_by_form ON items (kind, form) WHERE acknowledged > 0;
CREATE INDEX items_unproven ON items (kind, unproven, source) WHERE unproven IS NOT NULL;
-- The few items whose natural key has white space or byte order marks around it: `src/ledger/items/content.ts`.
CREATE INDEX items_padded ON items (kind, source) WHERE (unicode(natural_key) NOT BETWEEN 33 AND 126
    OR unicode(substr(natural_key, -1)) NOT BETWEEN 33 AND 126)
  AND natural_key <> trim(natural_key, char(9, 10, 11, 12, 13, 32, 160, 5760, 8192, 8193, 8194, 8195, 8196, 8197, 8198, 8199, 8200,
    8201, 8202, 8232, 8233, 8239, 8287, 12288, 65279));

-- The items to which BOM items and passports refer.
CREATE TABLE refs (
  item_id INTEGER NOT NULL REFERENCES items (id) ON DELETE CASCADE,
  role TEXT NOT NULL,                 -- product, material or component
  kind TEXT NOT NULL,
  key TEXT NOT NULL,
  either INTEGER NOT NULL DEFAULT 0,  -- 1 for a part that is a material or a component, whichever item has the key
  CONSTRAINT refs_key PRIMARY KEY (item_id, role)
) STRICT, WITHOUT ROWID;
CREATE INDEX refs_by_item_pointed_to ON refs (kind, key);
CREATE INDEX refs_either ON refs (key) WHERE either = 1;

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
  run_id INTEGER NOT NULL,            -- the last run that the guard held
  since INTEGER NOT NULL,             -- when the guard held the first one
  released INTEGER NOT NULL,          -- how many items are released
  message TEXT NOT NULL,
  accepted_at INTEGER,                -- when a person accepted this number
  holds_creates INTEGER NOT NULL DEFAULT 0, -- as in guarded_reads
  refused_at INTEGER,                 -- when a person refused the read: nobody is asked about it again until more items are released
  refused_by TEXT
) STRICT;

-- New items that are not sent before the guard has decided about their stream. A row goes when the create is sent after all, and
-- with its item.
CREATE TABLE held_creates (
  item_id INTEGER PRIMARY KEY REFERENCES items (id) ON DELETE CASCADE,
  stream_id INTEGER NOT NULL REFERENCES streams (id) -- of the record that makes the item
) STRICT;
CREATE INDEX held_creates_by_stream ON held_creates (stream_id);

-- Requests that were claimed. A row is there from the claim, which makes key, path and bytes durable before the first byte is sent
-- (I2), and for as long as these may be sent again. Its members are the items with its id.
CREATE TABLE requests (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  operation TEXT NOT NULL,
  sends INTEGER NOT NULL,             -- how often it was claimed
  claimed_at INTEGER NOT NULL,        -- when it was claimed last
  idempotency_key TEXT NOT NULL,
  path TEXT NOT NULL,
  body TEXT
) STRICT;

-- Revisions before the present one. A row is written when the next revision begins.
CREATE TABLE history (
  item_id INTEGER NOT NULL REFERENCES items (id) ON DELETE CASCADE,
  revision INTEGER NOT NULL,
  operation TEXT NOT NULL,
  state TEXT NOT NULL,                -- delivered or superseded
  desired_hash TEXT NOT NULL,         -- of what the revision asked for
  attempts INTEGER NOT NULL,
  staged_at INTEGER NOT NULL,
  sent_at INTEGER,
  settled_at INTEGER,
  reason TEXT,                        -- JSON
  CONSTRAINT history_key PRIMARY KEY (item_id, revision)
) STRICT, WITHOUT ROWID;

-- What happened to an item besides the plain way, which the times of its revisions show.
CREATE TABLE events (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  item_id INTEGER NOT NULL REFERENCES items (id) ON DELETE CASCADE,
  revision INTEGER,                   -- null where it is about the item as a whole
  at INTEGER NOT NULL,
  type TEXT NOT NULL,
  detail TEXT                         -- JSON, mostly a reason
) STRICT;
CREATE INDEX events_by_item ON events (item_id, id);


-- Contact with the platform ----------------------------------------------------------------------------------------------------

-- Which sources have been in first contact for a kind: their creates of it may be sent.
CREATE TABLE contacts (
  source TEXT NOT NULL,
  kind TEXT NOT NULL,
  contacted INTEGER NOT NULL DEFAULT 0,
  creates INTEGER NOT NULL DEFAULT 0, -- staged since the source's last run began
  CONSTRAINT contacts_key PRIMARY KEY (source, kind)
) STRICT, WITHOUT ROWID;

-- What the platform's lists have shown, one row for each list.
CREATE TABLE listings (
  kind TEXT PRIMARY KEY,              -- product, material or publication
  -- creates of the kind are suspended until what is staged was compared: 1: with a list that is read for it, 2: with what is stored
  needed INTEGER NOT NULL DEFAULT 0,
  position TEXT,                      -- where an unfinished reading continues
  stored_at INTEGER,                  -- when the last page of an unfinished reading was stored
  read_at INTEGER,                    -- when it was last read completely, or found to be as it was
  surplus INTEGER,                    -- what the platform counts beyond our items and the entries in listed; null if it does not count
  shown TEXT NOT NULL DEFAULT '[]',   -- JSON: the fields of the natural key that some entry has shown
  hides INTEGER NOT NULL DEFAULT 0,   -- 1 where an entry shows none of them
  matched_to INTEGER NOT NULL DEFAULT 0, -- creates up to this item have been compared with it
  failure TEXT                        -- JSON: why it could not be read or used the last time
) STRICT, WITHOUT ROWID;
INSERT INTO listings (kind) VALUES ('product'), ('material'), ('publication');

-- Entries of the lists that belong to no item of this ledger.
CREATE TABLE listed (
  kind TEXT NOT NULL,
  remote_id TEXT NOT NULL,            -- JSON, in its own type
  fields TEXT NOT NULL,               -- JSON, by canonical name
  CONSTRAINT listed_key PRIMARY KEY (kind, remote_id)
) STRICT, WITHOUT ROWID;

-- The fields of these entries by which an item is found.
CREATE TABLE listed_keys (
  kind TEXT NOT NULL,
  field TEXT NOT NULL,
  folded TEXT NOT NULL,               -- the value as `src/domain/natural-key.ts` folds it
  remote_id TEXT NOT NULL,
  value TEXT NOT NULL,
  standing TEXT NOT NULL,             -- key; other: a preferred field has a value; hidden: a preferred field is not shown
  CONSTRAINT listed_keys_key PRIMARY KEY (kind, field, folded, remote_id)
) STRICT, WITHOUT ROWID;


-- Passports: the passports themselves are items --------------------------------------------------------------------------------

-- Passports that a quarantined record holds.
CREATE TABLE holds (
  record_id INTEGER NOT NULL REFERENCES records (id) ON DELETE CASCADE,
  product_key TEXT                    -- null: the passports of all products
) STRICT;
CREATE INDEX holds_by_record ON holds (record_id);
CREATE INDEX holds_by_product ON holds (product_key);

-- Materials that a quarantined record makes. The passports of products that contain them wait for the record.
CREATE TABLE held_materials (
  record_id INTEGER NOT NULL REFERENCES records (id) ON DELETE CASCADE,
  material_key TEXT NOT NULL,
  CONSTRAINT held_materials_key PRIMARY KEY (record_id, material_key)
) STRICT, WITHOUT ROWID;


-- People -----------------------------------------------------------------------------------------------------------------------

-- The audit log: every action of a person, written before the action begins.
CREATE TABLE actions (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  at INTEGER NOT NULL,
  ended_at INTEGER,                   -- null while the action runs, or where its process has ended before it
  who TEXT NOT NULL,
  via TEXT NOT NULL,                  -- web, api or command
  action TEXT NOT NULL,
  detail TEXT NOT NULL,               -- JSON
  outcome TEXT                        -- one sentence
) STRICT;

-- Work that a person has started on the dashboard or by the admin API, with its result: the newest tasks alone.
CREATE TABLE tasks (
  number INTEGER PRIMARY KEY AUTOINCREMENT, -- in the order of their start, whatever the clock says
  id TEXT NOT NULL,
  name TEXT NOT NULL,                 -- of the operation
  title TEXT NOT NULL,
  who TEXT NOT NULL,
  started_at INTEGER NOT NULL,
  ended_at INTEGER,                   -- null while the task runs, or where its process has ended before it
  outcome TEXT,                       -- JSON
  version TEXT NOT NULL,              -- of dpp-sync, because another version may give the result another form
  CONSTRAINT tasks_id UNIQUE (id)
) STRICT;

-- Notes of people on causes of what is stuck. A cause has no row of its own: its id follows from what is stuck.
CREATE TABLE cause_notes (
  cause TEXT PRIMARY KEY,
  text TEXT NOT NULL,
  owner TEXT NOT NULL,
  noted_by TEXT NOT NULL,
  noted_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Values that people have added to lookup tables. They win over the rows of the table.
CREATE TABLE lookup_values (
  lookup TEXT NOT NULL,               -- the title of the tables
  key TEXT NOT NULL,
  value TEXT NOT NULL,
  set_by TEXT NOT NULL,
  set_at INTEGER NOT NULL,
  CONSTRAINT lookup_values_key PRIMARY KEY (lookup, key)
) STRICT, WITHOUT ROWID;

-- Passwords that users of the dashboard have chosen themselves. One counts while the config has the hash that it replaces.
CREATE TABLE passwords (
  name TEXT PRIMARY KEY,              -- of the user in the config
  hash TEXT NOT NULL,                 -- of the password, made by scrypt
  replaces TEXT NOT NULL,             -- a hash of the text in the config
  set_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;


-- What was done over time ------------------------------------------------------------------------------------------------------

-- What the processes that wrote to this ledger have done in each hour. Pruned to the newest hours.
CREATE TABLE activity_hours (
  hour INTEGER PRIMARY KEY,           -- when the hour begins
  rows_read INTEGER NOT NULL,
  requests INTEGER NOT NULL,
  refused INTEGER NOT NULL,           -- requests that the API refused because they came too fast (429)
  delivered INTEGER NOT NULL,
  failed INTEGER NOT NULL,
  latencies TEXT NOT NULL             -- JSON: how many answers each operation got in each class of latency
) STRICT;

-- The passports by state on each day, as they were last counted. A day on which nothing was counted has no rows.
CREATE TABLE passport_days (
  day INTEGER NOT NULL,               -- when the day begins in UTC
  state TEXT NOT NULL,
  count INTEGER NOT NULL,
  CONSTRAINT passport_days_key PRIMARY KEY (day, state)
) STRICT, WITHOUT ROWID;


-- Views for people -------------------------------------------------------------------------------------------------------------
-- They are for people who query the ledger themselves: docs/ledger-sql.md. The tables change from version to version. The views keep
-- their names and columns, so that a query or a spreadsheet still works after an upgrade. Each upgrade makes all views again.
-- Times are texts in UTC that the date functions of SQLite can read. `json_valid` is for reasons in the form of an older version.

-- A missing item that the platform does not have was not delivered: its last delivery was ended.
CREATE VIEW v_items AS SELECT
  i.id,
  i.kind,
  i.key,
  i.natural_key,
  i.desired ->> '$.name' AS name,
  i.source,
  CASE WHEN i.state NOT IN ('delivered', 'superseded') THEN i.state
    WHEN i.ignored_hash IS NULL AND NOT (i.acknowledged = 0 AND i.missing_since IS NOT NULL) THEN 'delivered' ELSE 'superseded' END AS state,
  i.missing_since IS NOT NULL AS missing,
  i.remote_id ->> '$' AS remote_id,
  i.operation,
  i.revision,
  i.attempts,
  CASE WHEN json_valid(iif(i.state NOT IN ('delivered', 'superseded') OR i.ignored_hash IS NOT NULL, i.reason, NULL))
    THEN iif(i.state NOT IN ('delivered', 'superseded') OR i.ignored_hash IS NOT NULL, i.reason, NULL) ->> '$.code' END AS reason_code,
  CASE WHEN json_valid(iif(i.state NOT IN ('delivered', 'superseded') OR i.ignored_hash IS NOT NULL, i.reason, NULL))
    THEN iif(i.state NOT IN ('delivered', 'superseded') OR i.ignored_hash IS NOT NULL, i.reason, NULL) ->> '$.message' END AS reason,
  iif(i.state NOT IN ('delivered', 'superseded'), strftime('%Y-%m-%d %H:%M:%S', nullif(i.due_at, 0) / 1000.0, 'unixepoch'),
    NULL) AS due_at,
  strftime('%Y-%m-%d %H:%M:%S', i.appeared_at / 1000.0, 'unixepoch') AS appeared_at,
  strftime('%Y-%m-%d %H:%M:%S', i.staged_at / 1000.0, 'unixepoch') AS staged_at,
  strftime('%Y-%m-%d %H:%M:%S', i.settled_at / 1000.0, 'unixepoch') AS settled_at,
  i.desired,
  iif(i.acknowledged = 1, i.desired, i.baseline) AS acknowledged
FROM items i
WHERE i.kind <> 'passport';

CREATE VIEW v_passports AS SELECT
  p.key AS product,
  p.natural_key,
  p.desired ->> '$.name' AS name,
  p.source,
  CASE WHEN i.state IN ('blocked', 'rejected', 'parked') OR (i.state = 'in_doubt' AND i.due_at = 0) THEN 'blocked'
    ELSE coalesce(i.baseline ->> '$.status', 'none') END AS state,
  i.baseline ->> '$.status' AS acknowledged,
  i.desired ->> '$.status' AS wanted,
  i.desired ->> '$.because' AS wanted_because,
  iif(i.state NOT IN ('delivered', 'superseded'), i.operation, NULL) AS operation,
  iif(i.state NOT IN ('delivered', 'superseded'), i.state, NULL) AS delivery_state,
  CASE WHEN json_valid(iif(i.state NOT IN ('delivered', 'superseded') OR i.ignored_hash IS NOT NULL, i.reason, NULL))
    THEN iif(i.state NOT IN ('delivered', 'superseded') OR i.ignored_hash IS NOT NULL, i.reason, NULL) ->> '$.code' END AS reason_code,
  CASE WHEN json_valid(iif(i.state NOT IN ('delivered', 'superseded') OR i.ignored_hash IS NOT NULL, i.reason, NULL))
    THEN iif(i.state NOT IN ('delivered', 'superseded') OR i.ignored_hash IS NOT NULL, i.reason, NULL) ->> '$.message' END AS reason,
  iif(i.state NOT IN ('delivered', 'superseded'), strftime('%Y-%m-%d %H:%M:%S', nullif(i.due_at, 0) / 1000.0, 'unixepoch'),
    NULL) AS due_at,
  strftime('%Y-%m-%d %H:%M:%S', i.settled_at / 1000.0, 'unixepoch') AS settled_at
FROM items p
LEFT JOIN items i ON i.kind = 'passport' AND i.key = p.key
WHERE p.kind = 'product';

CREATE VIEW v_quarantine AS SELECT
  r.id AS record,
  s.source,
  s.name AS stream,
  replace(r.key, char(31), ' / ') AS row_key,
  r.place ->> '$.file' AS file,
  r.place ->> '$.line' AS line,
  r.place ->> '$.path' AS path,
  n.value ->> '$.code' AS rule,
  n.value ->> '$.field' AS field,
  n.value ->> '$.value' AS value,
  n.value ->> '$.message' AS message,
  n.value ->> '$.cure' AS cure,
  strftime('%Y-%m-%d %H:%M:%S', r.quarantined_at / 1000.0, 'unixepoch') AS since,
  r.raw AS fields
FROM records r
JOIN streams s ON s.id = r.stream_id
LEFT JOIN json_each(iif(json_valid(r.issues), r.issues, '[]')) n
WHERE r.state = 'quarantined' AND r.missing_since IS NULL;

CREATE VIEW v_records AS SELECT
  r.id AS record,
  s.source,
  s.name AS stream,
  replace(r.key, char(31), ' / ') AS row_key,
  r.place ->> '$.file' AS file,
  r.place ->> '$.line' AS line,
  r.place ->> '$.path' AS path,
  r.state,
  r.missing_since IS NOT NULL AS missing,
  r.raw AS fields
FROM records r
JOIN streams s ON s.id = r.stream_id;

CREATE VIEW v_bom AS SELECT
  i.key AS bom_item,
  p.key AS product,
  -- A part that may be a product or a material counts as a product until its item appears. People are shown that it is not known.
  iif(m.either = 1 AND NOT EXISTS (SELECT 1 FROM items t WHERE t.kind = m.kind AND t.key = m.key), NULL, m.kind) AS part_kind,
  m.key AS part,
  i.desired ->> '$.quantity' AS quantity,
  i.desired ->> '$.unit' AS unit,
  CASE WHEN i.state NOT IN ('delivered', 'superseded') THEN i.state
    WHEN i.ignored_hash IS NULL AND NOT (i.acknowledged = 0 AND i.missing_since IS NOT NULL) THEN 'delivered' ELSE 'superseded' END AS state,
  i.missing_since IS NOT NULL AS missing,
  i.source
FROM items i
JOIN refs p ON p.item_id = i.id AND p.role = 'product'
LEFT JOIN refs m ON m.item_id = i.id AND m.role <> 'product'
WHERE i.kind = 'bom_item';

CREATE VIEW v_runs AS SELECT
  u.id AS run,
  u.source,
  s.name AS stream,
  u.cause AS started_by,
  u.asked_by,
  strftime('%Y-%m-%d %H:%M:%S', u.started_at / 1000.0, 'unixepoch') AS started_at,
  strftime('%Y-%m-%d %H:%M:%S', u.ended_at / 1000.0, 'unixepoch') AS ended_at,
  (u.ended_at - u.started_at) / 1000.0 AS seconds,
  coalesce(u.result, 'running') AS result,
  u.error,
  a.read,
  a.unchanged,
  a.changed,
  a.quarantined,
  a.excluded,
  a.missing,
  a.guarded
FROM runs u
LEFT JOIN run_streams a ON a.run_id = u.id
LEFT JOIN streams s ON s.id = a.stream_id;

CREATE VIEW v_deliveries AS SELECT
  i.kind,
  i.key,
  i.natural_key,
  i.source,
  d.revision,
  d.operation,
  d.state,
  d.attempts,
  strftime('%Y-%m-%d %H:%M:%S', d.staged_at / 1000.0, 'unixepoch') AS staged_at,
  strftime('%Y-%m-%d %H:%M:%S', d.sent_at / 1000.0, 'unixepoch') AS sent_at,
  strftime('%Y-%m-%d %H:%M:%S', d.settled_at / 1000.0, 'unixepoch') AS settled_at,
  CASE WHEN json_valid(d.reason) THEN d.reason ->> '$.code' END AS reason_code,
  CASE WHEN json_valid(d.reason) THEN d.reason ->> '$.message' END AS reason
FROM (
  SELECT id AS item_id, revision, operation, state, attempts, staged_at, sent_at, settled_at, reason FROM items WHERE state IS NOT NULL
  UNION ALL
  SELECT item_id, revision, operation, state, attempts, staged_at, sent_at, settled_at, reason FROM history
) d
JOIN items i ON i.id = d.item_id;

CREATE VIEW v_events AS SELECT
  strftime('%Y-%m-%d %H:%M:%S', e.at / 1000.0, 'unixepoch') AS at,
  i.kind,
  i.key,
  e.revision,
  e.type AS event,
  CASE WHEN json_valid(e.detail) THEN e.detail ->> '$.message' END AS message
FROM events e
JOIN items i ON i.id = e.item_id;

CREATE VIEW v_actions AS SELECT
  a.id AS action_id,
  strftime('%Y-%m-%d %H:%M:%S', a.at / 1000.0, 'unixepoch') AS at,
  strftime('%Y-%m-%d %H:%M:%S', a.ended_at / 1000.0, 'unixepoch') AS ended_at,
  a.who,
  a.via,
  a.action,
  a.detail,
  a.outcome
FROM actions a;
