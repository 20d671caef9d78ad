import type Database from 'better-sqlite3';
import { withShape } from '../../deliveries/stored-reason.ts';

/**
 * Adds the actions, notes and values of people, the time from which a record is in quarantine, and the indexes by which
 * the dashboard groups stuck items and records.
 */
export const PEOPLE = `
  -- The audit log: every action of a person, written before the action begins.
  CREATE TABLE actions (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    at INTEGER NOT NULL,
    ended_at INTEGER,                 -- null while the action runs, or where its process has ended before it
    who TEXT NOT NULL,
    via TEXT NOT NULL,                -- web, api or command
    action TEXT NOT NULL,
    detail TEXT NOT NULL,             -- JSON
    outcome TEXT                      -- one sentence
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
    lookup TEXT NOT NULL,             -- the title of the tables
    key TEXT NOT NULL,
    value TEXT NOT NULL,
    set_by TEXT NOT NULL,
    set_at INTEGER NOT NULL,
    PRIMARY KEY (lookup, key)
  ) STRICT, WITHOUT ROWID;

  -- The name by which mappings call the table; null until its source is loaded for the first time.
  ALTER TABLE lookups ADD COLUMN title TEXT;

  -- Who asked for the run; null where it was a schedule.
  ALTER TABLE runs ADD COLUMN asked_by TEXT;

  -- When the record was put into quarantine; null for one that is not in quarantine, and where an older version did it.
  ALTER TABLE records ADD COLUMN quarantined_at INTEGER;

  -- The statements that use these indexes repeat their words: \`src/ledger/dashboard/stuck-groups.ts\`.
  CREATE INDEX records_by_issue ON records (
    stream_id,
    CASE WHEN json_valid(issues) THEN issues ->> '$[0].code' END,
    CASE WHEN json_valid(issues) THEN issues ->> '$[0].field' END,
    id, quarantined_at
  ) WHERE state = 'quarantined' AND missing_since IS NULL;
  CREATE INDEX items_by_reason ON items (
    state,
    CASE WHEN json_valid(reason) THEN coalesce(reason ->> '$.shape', reason ->> '$.code', '') ELSE '' END,
    source, id, settled_at, kind
  ) WHERE ((state IN ('blocked', 'rejected') OR state = 'parked') OR (state = 'in_doubt' AND due_at = 0));

  -- Passports by where they stand, as one number: \`src/ledger/dashboard/standing.ts\`.
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
`;

/** Adds the shape to the reasons of items that may need a person. */
export function addShapes(db: Database.Database): void {
  db.function('with_shape', { deterministic: true }, (text) => withShape(String(text)));
  db.exec(`UPDATE items SET reason = with_shape(reason)
    WHERE state IN ('blocked', 'rejected', 'parked', 'in_doubt') AND json_valid(reason)`);
}
