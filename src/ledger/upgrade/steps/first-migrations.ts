// The first tables of the ledger, as migrations. Each migration is one step from one `user_version` to the next. A
// released step is never edited, so its words may be older than the glossary. A change needs a new step.

/**
 * Steps of statements, from an empty file to the tables in which deliveries had a separate table. The step after them
 * is `moveDeliveriesIntoItems`.
 */
export const MIGRATIONS: readonly string[] = [
  `
  -- Facts about the ledger itself: id, epoch, target, holder.
  CREATE TABLE meta (
    name TEXT PRIMARY KEY,
    value TEXT NOT NULL
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE streams (
    id INTEGER PRIMARY KEY,
    source TEXT NOT NULL,
    name TEXT NOT NULL,
    cursor TEXT,                      -- JSON; moves only with its page (I1)
    mapping_revision TEXT NOT NULL,
    complete_read INTEGER,            -- rows of the last complete read, for the guard
    flags_missing INTEGER NOT NULL DEFAULT 0, -- 1: the items of its missing records count as missing, too
    UNIQUE (source, name)
  ) STRICT;

  CREATE TABLE runs (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    source TEXT NOT NULL,
    cause TEXT NOT NULL,
    started_at INTEGER NOT NULL,
    ended_at INTEGER,
    result TEXT,                      -- complete, failed, interrupted; null while it runs
    error TEXT
  ) STRICT;
  CREATE INDEX runs_by_source ON runs (source, id);

  CREATE TABLE run_streams (
    run_id INTEGER NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
    stream_id INTEGER NOT NULL REFERENCES streams (id),
    read INTEGER NOT NULL DEFAULT 0,
    unchanged INTEGER NOT NULL DEFAULT 0,
    changed INTEGER NOT NULL DEFAULT 0,
    quarantined INTEGER NOT NULL DEFAULT 0,
    excluded INTEGER NOT NULL DEFAULT 0,
    missing INTEGER NOT NULL DEFAULT 0,
    guarded TEXT,                     -- why nothing was marked missing
    PRIMARY KEY (run_id, stream_id)
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE records (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    stream_id INTEGER NOT NULL REFERENCES streams (id),
    key TEXT NOT NULL,
    hash TEXT NOT NULL,
    raw TEXT NOT NULL,                -- the fields as JSON, without the columns that are never stored
    place TEXT NOT NULL,              -- JSON
    version INTEGER NOT NULL,
    -- stale: to be mapped anew once it was read again; pending: waits to be mapped; then mapped, excluded, quarantined
    state TEXT NOT NULL,
    source_issues TEXT,               -- JSON; what the connector found wrong with the row
    issues TEXT,                      -- JSON; why it is in quarantine
    run_id INTEGER,                   -- the run that counts what the record comes to
    missing_since INTEGER,
    UNIQUE (stream_id, key)
  ) STRICT;
  CREATE INDEX records_pending ON records (stream_id, id) WHERE state = 'pending';
  CREATE INDEX records_stale ON records (stream_id) WHERE state = 'stale';
  CREATE INDEX records_missing ON records (stream_id) WHERE missing_since IS NOT NULL;
  CREATE INDEX records_quarantined ON records (stream_id, id) WHERE state = 'quarantined';

  CREATE TABLE items (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    kind TEXT NOT NULL,
    key TEXT NOT NULL,
    natural_key TEXT,
    record_id INTEGER,                -- the owner; null once its record no longer makes it, and for a passport
    source TEXT NOT NULL,             -- the owner's source, which outlives the owner; of a passport its product's
    appeared_at INTEGER NOT NULL,     -- when the run began that brought it
    desired TEXT NOT NULL,            -- canonical JSON of the payload
    desired_hash TEXT NOT NULL,
    baseline TEXT,
    baseline_hash TEXT,
    remote_id TEXT,                   -- JSON, in its own type
    revision INTEGER NOT NULL DEFAULT 0,
    missing_since INTEGER,
    -- 1 for a passport of which something was delivered since it was last judged
    stirred INTEGER NOT NULL DEFAULT 0,
    -- 1 where it is known that the lost time of a restored ledger did not create it: it was created since, or a person has
    -- said that it is not there
    was_absent INTEGER NOT NULL DEFAULT 0,
    UNIQUE (kind, key)
  ) STRICT;
  CREATE INDEX items_stirred ON items (key) WHERE stirred = 1;
  CREATE INDEX items_by_natural_key ON items (kind, natural_key);
  CREATE INDEX items_by_record ON items (record_id);

  CREATE TABLE refs (
    item_id INTEGER NOT NULL REFERENCES items (id) ON DELETE CASCADE,
    role TEXT NOT NULL,
    kind TEXT NOT NULL,
    key TEXT NOT NULL,
    PRIMARY KEY (item_id, role)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX refs_by_item_pointed_to ON refs (kind, key);

  -- Passports that a quarantined record holds back: that of the product with this key, or of any where it is null.
  CREATE TABLE holds (
    record_id INTEGER NOT NULL REFERENCES records (id) ON DELETE CASCADE,
    product_key TEXT
  ) STRICT;
  CREATE INDEX holds_by_record ON holds (record_id);
  CREATE INDEX holds_by_product ON holds (product_key);

  -- Records that are kept from making an item by the one named here, or make the same one over again. They are mapped anew
  -- as soon as that item changes, is let go of, or goes missing.
  CREATE TABLE claims (
    kind TEXT NOT NULL,
    key TEXT NOT NULL,
    record_id INTEGER NOT NULL REFERENCES records (id) ON DELETE CASCADE,
    PRIMARY KEY (kind, key, record_id)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX claims_by_record ON claims (record_id);

  CREATE TABLE deliveries (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    item_id INTEGER NOT NULL REFERENCES items (id) ON DELETE CASCADE,
    operation TEXT NOT NULL,
    revision INTEGER NOT NULL,
    state TEXT NOT NULL,
    idempotency_key TEXT NOT NULL,
    desired TEXT,                     -- the payload that this revision asks for; dropped once it is the baseline
    desired_hash TEXT NOT NULL,
    path TEXT,                        -- committed before the first send (I2), like the body
    body TEXT,
    -- the import that it goes out in, while that is under way or in doubt, and its place in the import's body
    import_id INTEGER,
    import_place INTEGER,
    group_max INTEGER,                -- how many may share an import with it, once one as a whole was refused
    due_at INTEGER NOT NULL DEFAULT 0,
    attempts INTEGER NOT NULL DEFAULT 0,
    -- 1 from the first doubt until it is known whether the write took effect, whatever the state is meanwhile
    uncertain INTEGER NOT NULL DEFAULT 0,
    reason TEXT,                      -- JSON
    by_hand INTEGER NOT NULL DEFAULT 0, -- 1 where a person has asked for it, and may be waiting
    staged_at INTEGER NOT NULL,
    sent_at INTEGER,
    settled_at INTEGER
  ) STRICT;
  -- What partial indexes say of the state is said in the same words by the statements that use them.
  CREATE INDEX deliveries_by_item ON deliveries (item_id, revision);
  -- I3: an item has at most one delivery that is not over.
  CREATE UNIQUE INDEX deliveries_open ON deliveries (item_id)
    WHERE state NOT IN ('delivered', 'superseded');
  CREATE INDEX deliveries_due ON deliveries (operation, id) WHERE state = 'due';
  CREATE INDEX deliveries_by_hand ON deliveries (id) WHERE by_hand = 1 AND state = 'due';
  CREATE INDEX deliveries_scheduled ON deliveries (due_at) WHERE state IN ('due', 'in_doubt') AND due_at > 0;
  -- A gate's refusal is asked again at due_at, by itself.
  CREATE INDEX deliveries_blocked ON deliveries (due_at) WHERE state = 'blocked' AND due_at > 0;
  CREATE INDEX deliveries_sending ON deliveries (id) WHERE state = 'sending';
  CREATE INDEX deliveries_importable ON deliveries (id)
    WHERE state = 'due' AND operation = 'product.import' AND import_id IS NULL;
  CREATE INDEX deliveries_by_import ON deliveries (import_id, import_place) WHERE import_id IS NOT NULL;
  CREATE INDEX deliveries_stuck ON deliveries (id)
    WHERE (state IN ('blocked', 'rejected') OR state IN ('parked', 'in_doubt'));

  -- Several deliveries on their way as one request. A row is there from the claim until it is known what became of the
  -- request, and goes with it: what a member came to stands in its delivery.
  CREATE TABLE imports (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    idempotency_key TEXT NOT NULL,    -- committed before the first send (I2), like path and body
    path TEXT NOT NULL,
    body TEXT,
    sends INTEGER NOT NULL,           -- how often it has gone out
    created_at INTEGER NOT NULL
  ) STRICT;

  -- What happened to an item besides the plain way, which the deliveries' own times tell.
  CREATE TABLE events (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    item_id INTEGER NOT NULL REFERENCES items (id) ON DELETE CASCADE,
    delivery_id INTEGER,
    at INTEGER NOT NULL,
    type TEXT NOT NULL,
    detail TEXT
  ) STRICT;
  CREATE INDEX events_by_item ON events (item_id, id);
  `,
  `
  -- A remote id belongs to one item of a kind. Where an answer of another request was believed two items share one: neither
  -- counts as delivered any more, and a person says which of them has the id.
  -- What is gone from its source leaves the id to the one that took its place.
  UPDATE items SET remote_id = 'null' WHERE remote_id <> 'null'
    AND NOT EXISTS (SELECT 1 FROM records r WHERE r.id = items.record_id AND r.missing_since IS NULL)
    AND EXISTS (SELECT 1 FROM items o JOIN records r ON r.id = o.record_id
      WHERE o.kind = items.kind AND o.remote_id = items.remote_id AND o.id <> items.id AND r.missing_since IS NULL);
  CREATE TABLE sharing (item_id INTEGER PRIMARY KEY, delivery_id INTEGER, import_id INTEGER, reason TEXT NOT NULL) STRICT;
  INSERT INTO sharing
    SELECT i.id, d.id, d.import_id, json_object('code', 'shared_id', 'message', printf(
      'The ledger had the id %s for this %s and for the %s %s as well: an answer was mixed up. What was written under it may stand at the wrong one. Look at the platform which id each of the two has, and say so with \`dpp-sync settle KEY --delivered --id ID\`.',
      i.remote_id, replace(i.kind, 'bom_item', 'BOM item'), replace(i.kind, 'bom_item', 'BOM item'),
      (SELECT min(o.key) FROM items o WHERE o.kind = i.kind AND o.remote_id = i.remote_id AND o.id <> i.id)))
    FROM items i LEFT JOIN deliveries d ON d.item_id = i.id AND d.state NOT IN ('delivered', 'superseded')
    WHERE (i.kind, i.remote_id) IN
      (SELECT kind, remote_id FROM items WHERE remote_id <> 'null' GROUP BY kind, remote_id HAVING count(*) > 1);
  -- An import goes out with all its members or not at all.
  DELETE FROM imports WHERE id IN (SELECT import_id FROM sharing);
  UPDATE deliveries SET import_id = NULL, import_place = NULL WHERE import_id IN (SELECT import_id FROM sharing);
  UPDATE deliveries SET state = 'superseded', desired = NULL, body = NULL, due_at = 0
    WHERE id IN (SELECT delivery_id FROM sharing);
  UPDATE items SET baseline = NULL, baseline_hash = NULL, remote_id = NULL, revision = revision + 1
    WHERE id IN (SELECT item_id FROM sharing);
  -- Open, so that nothing takes its place before a person has spoken. It is never sent, so its key says nothing.
  INSERT INTO deliveries (item_id, operation, revision, state, idempotency_key, desired, desired_hash, uncertain, reason, staged_at)
    SELECT i.id, i.kind || '.create', i.revision, 'blocked', substr(hex(randomblob(22)), 1, 43), i.desired, i.desired_hash, 1,
      s.reason, CAST(unixepoch('subsec') * 1000 AS INTEGER)
    FROM sharing s JOIN items i ON i.id = s.item_id;
  INSERT INTO events (item_id, delivery_id, at, type, detail)
    SELECT s.item_id, d.id, d.staged_at, 'blocked', s.reason
    FROM sharing s JOIN deliveries d ON d.item_id = s.item_id AND d.state = 'blocked';
  DROP TABLE sharing;
  CREATE UNIQUE INDEX items_by_remote_id ON items (kind, remote_id) WHERE remote_id <> 'null';
    `,
  `
  -- Which sources have been in first contact for a kind: their creates of it may be sent.
  CREATE TABLE contacts (
    source TEXT NOT NULL,
    kind TEXT NOT NULL,
    contacted INTEGER NOT NULL DEFAULT 0,
    creates INTEGER NOT NULL DEFAULT 0, -- staged since the source's last run began
    PRIMARY KEY (source, kind)
  ) STRICT, WITHOUT ROWID;

  -- What the platform's lists have shown, one row for each list.
  CREATE TABLE listings (
    kind TEXT PRIMARY KEY,            -- product, material, publication
    -- creates of the kind are suspended until what is staged was compared: 1: with a list that is read for it, 2: with what is stored
    needed INTEGER NOT NULL DEFAULT 0,
    position TEXT,                    -- where an unfinished reading goes on
    stored_at INTEGER,                -- when the last page of an unfinished reading was stored
    read_at INTEGER,                  -- when it was last read completely, or found to be as it was
    surplus INTEGER,                  -- what the platform counts beyond our items and the entries below; null where it does not count
    shown TEXT NOT NULL DEFAULT '[]', -- JSON; the fields of the natural key that some entry has shown
    hides INTEGER NOT NULL DEFAULT 0, -- 1 where an entry shows none of them
    matched_to INTEGER NOT NULL DEFAULT 0, -- creates up to this delivery have been compared with it
    failure TEXT                      -- JSON; why it could not be read or used the last time
  ) STRICT, WITHOUT ROWID;
  INSERT INTO listings (kind) VALUES ('product'), ('material'), ('publication');

  -- Entries of the lists that belong to no item of this ledger.
  CREATE TABLE listed (
    kind TEXT NOT NULL,
    remote_id TEXT NOT NULL,          -- JSON, in its own type
    fields TEXT NOT NULL,             -- JSON, by canonical name
    PRIMARY KEY (kind, remote_id)
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE listed_keys (
    kind TEXT NOT NULL,
    field TEXT NOT NULL,
    folded TEXT NOT NULL,             -- the value as domain/natural-key.ts folds it
    remote_id TEXT NOT NULL,
    value TEXT NOT NULL,
    standing TEXT NOT NULL,           -- key; other: a preferred field has a value; hidden: a preferred field is not shown
    PRIMARY KEY (kind, field, folded, remote_id)
  ) STRICT, WITHOUT ROWID;

  -- 1 for an item that was at the platform before, differs from what is desired, and may not be changed before a person accepts it.
  ALTER TABLE items ADD COLUMN adopted INTEGER NOT NULL DEFAULT 0;
  -- 1 for an adopted product of which nobody has said whether its BOM items are at the platform.
  ALTER TABLE items ADD COLUMN parts_unknown INTEGER NOT NULL DEFAULT 0;
  CREATE INDEX items_parts_unknown ON items (key) WHERE parts_unknown = 1;

  INSERT INTO contacts (source, kind, contacted)
    SELECT DISTINCT source, kind, 1 FROM items WHERE kind IN ('product', 'material') AND remote_id IS NOT NULL;
  -- What came with the first complete read of a source is known by its records: they are at most this one.
  INSERT OR IGNORE INTO meta (name, value)
    SELECT DISTINCT 'first_read:' || source, (SELECT CAST(coalesce(max(id), 0) AS TEXT) FROM records)
    FROM runs WHERE result = 'complete';
    `,
  `
  -- Reads that the guard took for a broken export: one row for each stream, until a whole export comes or an accepted one.
  CREATE TABLE guarded_reads (
    stream_id INTEGER PRIMARY KEY REFERENCES streams (id),
    run_id INTEGER NOT NULL,          -- the last run that the guard held
    since INTEGER NOT NULL,           -- when the guard held the first one
    missing INTEGER NOT NULL,
    read INTEGER NOT NULL,
    message TEXT NOT NULL,
    accepted_at INTEGER               -- when a person accepted these figures
  ) STRICT;
  INSERT INTO guarded_reads (stream_id, run_id, since, missing, read, message)
    SELECT a.stream_id, a.run_id, r.started_at, a.missing, a.read, a.guarded FROM run_streams a JOIN runs r ON r.id = a.run_id
    WHERE a.guarded IS NOT NULL AND a.run_id = (SELECT max(id) FROM runs WHERE source = r.source);

  -- The desired hash of a write that a person has ended although the platform does not have it; null for all other items.
  ALTER TABLE items ADD COLUMN ignored_hash TEXT;
  CREATE INDEX items_ignored ON items (kind) WHERE ignored_hash IS NOT NULL;
  -- The missing_since that a person has accepted: an item that comes back and goes missing again is shown again.
  ALTER TABLE items ADD COLUMN missing_accepted INTEGER;
  CREATE INDEX items_missing ON items (kind) WHERE missing_since IS NOT NULL;
  `,
];
