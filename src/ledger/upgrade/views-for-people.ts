// Views for people who query the ledger themselves: docs/ledger-sql.md. The tables change from version to version. The
// views keep their names and columns, so that a query or a spreadsheet still works after an upgrade. The views store
// nothing.

import type Database from 'better-sqlite3';

/** Converts a time in milliseconds since the epoch to a text in UTC that the date functions of SQLite can read. */
function time(column: string): string {
  return `strftime('%Y-%m-%d %H:%M:%S', ${column} / 1000.0, 'unixepoch')`;
}

/** Reads a field of a JSON column. The column may be null or have the form of an older version. */
function member(column: string, name: string): string {
  return `CASE WHEN json_valid(${column}) THEN ${column} ->> '$.${name}' END`;
}

const IS_OPEN = "i.state NOT IN ('delivered', 'superseded')";
/** A missing item that the platform does not have was not delivered: its last delivery was ended. */
const IS_DELIVERED = 'i.ignored_hash IS NULL AND NOT (i.acknowledged = 0 AND i.missing_since IS NOT NULL)';
const STATE = `CASE WHEN ${IS_OPEN} THEN i.state WHEN ${IS_DELIVERED} THEN 'delivered' ELSE 'superseded' END`;
const WHY = `iif(${IS_OPEN} OR i.ignored_hash IS NOT NULL, i.reason, NULL)`;
/** The parts of a row's key are separated by a character that cannot be typed. */
const ROW_KEY = "replace(r.key, char(31), ' / ')";
const PLACE = `r.place ->> '$.file' AS file, r.place ->> '$.line' AS line, r.place ->> '$.path' AS path`;

/** A part that may be a product or a material counts as a product until its item appears. People are shown that it is not known. */
const PART_KIND =
  'iif(m.either = 1 AND NOT EXISTS (SELECT 1 FROM items t WHERE t.kind = m.kind AND t.key = m.key), NULL, m.kind)';

export const VIEWS: Readonly<Record<string, string>> = {
  v_items: `SELECT i.id, i.kind, i.key, i.natural_key, i.desired ->> '$.name' AS name, i.source, ${STATE} AS state,
      i.missing_since IS NOT NULL AS missing, i.remote_id ->> '$' AS remote_id, i.operation, i.revision, i.attempts,
      ${member(WHY, 'code')} AS reason_code, ${member(WHY, 'message')} AS reason,
      iif(${IS_OPEN}, ${time('nullif(i.due_at, 0)')}, NULL) AS due_at, ${time('i.appeared_at')} AS appeared_at,
      ${time('i.staged_at')} AS staged_at, ${time('i.settled_at')} AS settled_at, i.desired,
      iif(i.acknowledged = 1, i.desired, i.baseline) AS acknowledged
    FROM items i WHERE i.kind <> 'passport'`,
  v_passports: `SELECT p.key AS product, p.natural_key, p.desired ->> '$.name' AS name, p.source,
      CASE WHEN i.state IN ('blocked', 'rejected', 'parked') OR (i.state = 'in_doubt' AND i.due_at = 0) THEN 'blocked'
        ELSE coalesce(i.baseline ->> '$.status', 'none') END AS state,
      i.baseline ->> '$.status' AS acknowledged, i.desired ->> '$.status' AS wanted, i.desired ->> '$.because' AS wanted_because,
      iif(${IS_OPEN}, i.operation, NULL) AS operation, iif(${IS_OPEN}, i.state, NULL) AS delivery_state,
      ${member(WHY, 'code')} AS reason_code, ${member(WHY, 'message')} AS reason,
      iif(${IS_OPEN}, ${time('nullif(i.due_at, 0)')}, NULL) AS due_at, ${time('i.settled_at')} AS settled_at
    FROM items p LEFT JOIN items i ON i.kind = 'passport' AND i.key = p.key WHERE p.kind = 'product'`,
  v_quarantine: `SELECT r.id AS record, s.source, s.name AS stream, ${ROW_KEY} AS row_key, ${PLACE}, n.value ->> '$.code' AS rule,
      n.value ->> '$.field' AS field, n.value ->> '$.value' AS value, n.value ->> '$.message' AS message, n.value ->> '$.cure' AS cure,
      ${time('r.quarantined_at')} AS since, r.raw AS fields
    FROM records r JOIN streams s ON s.id = r.stream_id
      LEFT JOIN json_each(iif(json_valid(r.issues), r.issues, '[]')) n
    WHERE r.state = 'quarantined' AND r.missing_since IS NULL`,
  v_records: `SELECT r.id AS record, s.source, s.name AS stream, ${ROW_KEY} AS row_key, ${PLACE}, r.state,
      r.missing_since IS NOT NULL AS missing, r.raw AS fields
    FROM records r JOIN streams s ON s.id = r.stream_id`,
  v_bom: `SELECT i.key AS bom_item, p.key AS product, ${PART_KIND} AS part_kind, m.key AS part, i.desired ->> '$.quantity' AS quantity,
      i.desired ->> '$.unit' AS unit, ${STATE} AS state, i.missing_since IS NOT NULL AS missing, i.source
    FROM items i JOIN refs p ON p.item_id = i.id AND p.role = 'product'
      LEFT JOIN refs m ON m.item_id = i.id AND m.role <> 'product'
    WHERE i.kind = 'bom_item'`,
  v_runs: `SELECT u.id AS run, u.source, s.name AS stream, u.cause AS started_by, u.asked_by, ${time('u.started_at')} AS started_at,
      ${time('u.ended_at')} AS ended_at, (u.ended_at - u.started_at) / 1000.0 AS seconds, coalesce(u.result, 'running') AS result, u.error,
      a.read, a.unchanged, a.changed, a.quarantined, a.excluded, a.missing, a.guarded
    FROM runs u LEFT JOIN run_streams a ON a.run_id = u.id LEFT JOIN streams s ON s.id = a.stream_id`,
  v_deliveries: `SELECT i.kind, i.key, i.natural_key, i.source, d.revision, d.operation, d.state, d.attempts,
      ${time('d.staged_at')} AS staged_at, ${time('d.sent_at')} AS sent_at, ${time('d.settled_at')} AS settled_at,
      ${member('d.reason', 'code')} AS reason_code, ${member('d.reason', 'message')} AS reason
    FROM (
      SELECT id AS item_id, revision, operation, state, attempts, staged_at, sent_at, settled_at, reason FROM items WHERE state IS NOT NULL
      UNION ALL
      SELECT item_id, revision, operation, state, attempts, staged_at, sent_at, settled_at, reason FROM history
    ) d JOIN items i ON i.id = d.item_id`,
  v_events: `SELECT ${time('e.at')} AS at, i.kind, i.key, e.revision, e.type AS event, ${member('e.detail', 'message')} AS message
    FROM events e JOIN items i ON i.id = e.item_id`,
  v_actions: `SELECT a.id AS action_id, ${time('a.at')} AS at, ${time('a.ended_at')} AS ended_at, a.who, a.via, a.action, a.detail, a.outcome
    FROM actions a`,
};

/** Call it before tables change: SQLite refuses to drop a column that a view names. */
export function dropViews(db: Database.Database): void {
  const names = db
    .prepare<[], string>("SELECT name FROM sqlite_schema WHERE type = 'view' AND name GLOB 'v_*'")
    .pluck();
  for (const name of names.all()) db.exec(`DROP VIEW "${name}"`);
}

export function createViewsForPeople(db: Database.Database): void {
  for (const [name, text] of Object.entries(VIEWS)) db.exec(`CREATE VIEW ${name} AS ${text}`);
}
