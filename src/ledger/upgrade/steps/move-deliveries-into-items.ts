// The migration to the tables in which the open delivery is part of its item's row. It runs inside the transaction of
// the upgrade.
//
// Each item takes the columns of its present revision. All earlier revisions become rows of `history`. The bytes and
// the key of a request that may be sent again become a row of `requests`, unchanged (I2). A write that was never sent
// loses its stored key: the claim computes it again from the same ids.

import type Database from 'better-sqlite3';
import { fault } from '../../../domain/faults.ts';
import { TABLES } from './tables-of-items.ts';

/** Called with the number of converted rows, and the number of all rows. */
export type ConvertProgress = (done: number, all: number) => void;

/** One statement converts this many rows. The progress is reported after each statement. */
const ROWS_AT_ONCE = 20_000;

/**
 * SQL condition: true if the delivery has its own request, which may be sent again. This includes a refused create
 * whose item is looked up again.
 */
const IS_KEPT_ALONE = `(d.path IS NOT NULL AND d.import_id IS NULL AND (d.state IN ('due', 'sending', 'in_doubt')
  OR (d.state = 'rejected' AND d.reason ->> '$.lookAgain' = 1)))`;
const IS_OPEN = "d.state NOT IN ('delivered', 'superseded')";
/**
 * SQL condition: true if the delivery has an older payload than its item. A passport's step needs no payload, because
 * its operation determines it.
 */
const IS_OLDER = "i.kind <> 'passport' AND d.desired_hash <> i.desired_hash";
const ROWS = 'i.id > @after AND i.id <= @upTo';
// The present revision of an item. A BOM item that is assumed to be at the platform has a revision number without a
// delivery.
const PRESENT = '(SELECT max(p.revision) FROM deliveries p WHERE p.item_id = i.id)';

// Drops the indexes of the former tables first, because some new indexes have the same names and the new rows need the
// room. Two indexes stay, because the migration reads the former tables with them.
const MAKE_ROOM = `
  DROP INDEX items_stirred;
  DROP INDEX items_by_natural_key;
  DROP INDEX items_by_record;
  DROP INDEX items_by_remote_id;
  DROP INDEX items_parts_unknown;
  DROP INDEX items_ignored;
  DROP INDEX items_missing;
  DROP INDEX deliveries_open;
  DROP INDEX deliveries_due;
  DROP INDEX deliveries_by_hand;
  DROP INDEX deliveries_scheduled;
  DROP INDEX deliveries_blocked;
  DROP INDEX deliveries_sending;
  DROP INDEX deliveries_importable;
  DROP INDEX deliveries_stuck;
  DROP INDEX events_by_item;
  ALTER TABLE items RENAME TO old_items;
  ALTER TABLE events RENAME TO old_events;
`;

// An import keeps its id. The request of a single delivery gets an id after those of all imports, so that all ids
// differ.
const OFFSET = "(SELECT coalesce(max(seq), 0) FROM sqlite_sequence WHERE name = 'imports')";
const REQUESTS = `
  INSERT INTO requests (id, operation, sends, claimed_at, idempotency_key, path, body)
    SELECT m.id, 'product.import', m.sends, m.created_at, m.idempotency_key, m.path, m.body FROM imports m
    WHERE EXISTS (SELECT 1 FROM deliveries d WHERE d.import_id = m.id);
  INSERT INTO requests (id, operation, sends, claimed_at, idempotency_key, path, body)
    SELECT ${OFFSET} + d.id, d.operation, 1, coalesce(d.sent_at, d.staged_at), d.idempotency_key, d.path, d.body
    FROM deliveries d WHERE ${IS_KEPT_ALONE} ORDER BY d.id;
`;

const ITEMS = `
  INSERT INTO items (id, kind, key, natural_key, record_id, source, appeared_at, missing_since, missing_accepted, desired_hash,
    acknowledged, baseline_hash, remote_id, revision, state, operation, sent_hash, request_id, request_place, group_max, due_at,
    attempts, uncertain, by_hand, staged_at, sent_at, settled_at, dirty, was_absent, adopted, parts_unknown, ignored_hash,
    desired, baseline, sent, reason)
  SELECT i.id, i.kind, i.key, i.natural_key, i.record_id, i.source, i.appeared_at, i.missing_since, i.missing_accepted,
    i.desired_hash,
    i.acknowledged, iif(i.acknowledged = 2, i.baseline_hash, NULL), i.remote_id,
    iif(d.id IS NULL, 0, max(i.revision, d.revision)), d.state, d.operation, iif(${IS_OLDER}, d.desired_hash, NULL),
    CASE WHEN m.id IS NOT NULL THEN m.id
      WHEN ${IS_KEPT_ALONE} THEN @offset + d.id END,
    iif(m.id IS NOT NULL, d.import_place, NULL), d.group_max,
    coalesce(d.due_at, 0), coalesce(d.attempts, 0), coalesce(d.uncertain, 0), coalesce(d.by_hand, 0), d.staged_at, d.sent_at,
    d.settled_at, i.stirred, i.was_absent, i.adopted, i.parts_unknown, i.ignored_hash,
    i.desired, iif(i.acknowledged = 2, i.baseline, NULL), iif(${IS_OPEN} AND ${IS_OLDER}, d.desired, NULL), d.reason
  FROM (SELECT *, CASE WHEN i.baseline IS NULL THEN 0
      WHEN i.kind <> 'passport' AND i.baseline_hash = i.desired_hash AND i.baseline = i.desired THEN 1 ELSE 2 END AS acknowledged
    FROM old_items i WHERE ${ROWS}) i
  LEFT JOIN deliveries d ON d.item_id = i.id AND d.revision = ${PRESENT}
  LEFT JOIN imports m ON m.id = d.import_id ORDER BY i.id
`;

const HISTORY = `
  INSERT INTO history (item_id, revision, operation, state, desired_hash, attempts, staged_at, sent_at, settled_at, reason)
  SELECT d.item_id, d.revision, d.operation, d.state, d.desired_hash, d.attempts, d.staged_at, d.sent_at, d.settled_at, d.reason
  FROM old_items i CROSS JOIN deliveries d ON d.item_id = i.id AND d.revision < ${PRESENT}
  WHERE ${ROWS} ORDER BY d.item_id, d.revision
`;

const EVENTS = `
  INSERT INTO events (id, item_id, revision, at, type, detail)
  SELECT i.id, i.item_id, d.revision, i.at, iif(i.type = 'doubt', 'unconfirmed', i.type), i.detail
  FROM old_events i LEFT JOIN deliveries d ON d.id = i.delivery_id WHERE ${ROWS} ORDER BY i.id
`;

// Raises the sequences of the new tables, because idempotency keys are made from ids: a used id must never be used
// again. The progress of comparing creates was stored as an id of a delivery. These ids no longer exist, so all due
// creates are compared again.
const FINISH = `
  INSERT INTO contenders (kind, key, record_id) SELECT kind, key, record_id FROM claims;
  CREATE TEMP TABLE given AS
    SELECT 'items' AS name, coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'old_items'), 0) AS seq
    UNION ALL SELECT 'events', coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'old_events'), 0)
    UNION ALL SELECT 'requests', max(${OFFSET}, (SELECT coalesce(max(id), 0) FROM requests));
  DELETE FROM sqlite_sequence WHERE name IN (SELECT name FROM given);
  INSERT INTO sqlite_sequence (name, seq) SELECT name, seq FROM given WHERE seq > 0;
  DROP TABLE given;
  UPDATE listings SET matched_to = 0;
  DELETE FROM meta WHERE name = 'pruned_deliveries';
  DROP TABLE old_events;
  DROP TABLE deliveries;
  DROP TABLE imports;
  DROP TABLE claims;
  DROP TABLE old_items;
`;

/**
 * Converts a ledger of the previous version. The caller turns foreign keys off and `legacy_alter_table` on, so that
 * tables that point to `items` point to the new table afterwards.
 *
 * @throws Fault `ledger.unreadable` where an open delivery would be lost, because it is not its item's latest
 */
export function moveDeliveriesIntoItems(db: Database.Database, onProgress: ConvertProgress): void {
  db.exec(MAKE_ROOM);
  db.exec(TABLES);
  db.exec(REQUESTS);
  const last = {
    items: numberOf(db, 'SELECT coalesce(max(id), 0) FROM old_items'),
    events: numberOf(db, 'SELECT coalesce(max(id), 0) FROM old_events'),
  };
  const all = last.items + last.events;
  const items = db.prepare(ITEMS);
  const history = db.prepare(HISTORY);
  const offset = numberOf(db, `SELECT ${OFFSET}`);
  for (let after = 0; after < last.items; after += ROWS_AT_ONCE) {
    const range = { after, upTo: after + ROWS_AT_ONCE };
    items.run({ ...range, offset });
    history.run(range);
    onProgress(Math.min(range.upTo, last.items), all);
  }
  const events = db.prepare(EVENTS);
  for (let after = 0; after < last.events; after += ROWS_AT_ONCE) {
    events.run({ after, upTo: after + ROWS_AT_ONCE });
    onProgress(last.items + Math.min(after + ROWS_AT_ONCE, last.events), all);
  }
  assertNoneLost(db);
  db.exec(FINISH);
}

function assertNoneLost(db: Database.Database): void {
  const before = numberOf(db, `SELECT count(*) FROM deliveries d WHERE ${IS_OPEN}`);
  const after = numberOf(db, `SELECT count(*) FROM items d WHERE ${IS_OPEN}`);
  if (before === after) return;
  throw fault(
    'ledger.unreadable',
    `The ledger is not sound: ${before - after} open deliveries are not the latest deliveries of their items.`,
    {
      path: 'ledger',
      suggestion: 'Nothing of the ledger was changed. Put a sound backup in its place: `dpp-sync ledger restore FILE`.',
    },
  );
}

function numberOf(db: Database.Database, sql: string): number {
  return Number(db.prepare(sql).pluck().get());
}
