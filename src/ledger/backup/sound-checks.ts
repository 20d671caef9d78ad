import { DELIVERY_STATES, OPEN_STATES, OPERATIONS } from '../../domain/delivery.ts';
import { REF_KINDS, REF_ROLES, SUBJECT_KINDS } from '../../domain/item.ts';

/** Something that always holds in a ledger, and the query that finds where it does not. */
export interface SoundCheck {
  /** Stable, for scripts. */
  name: string;
  /** What holds, as a full sentence. */
  holds: string;
  /** Gives one row for each violation, with its `place` as text. */
  sql: string;
}

const list = (words: readonly string[]): string => `(${words.map((word) => `'${word}'`).join(', ')})`;
const OPEN = list(OPEN_STATES);
const DELIVERY = "d.operation || ' of ' || i.key || ', revision ' || d.revision AS place";
const DELIVERIES = 'deliveries d JOIN items i ON i.id = d.item_id';
const ITEM = "i.kind || ' ' || i.key AS place";
const NO_OPEN = `NOT EXISTS (SELECT 1 FROM deliveries d WHERE d.item_id = i.id AND d.state IN ${OPEN})`;
const ROLE_PAIRS = `(VALUES ${REF_ROLES.map((role) => `('${role}', '${REF_KINDS[role]}')`).join(', ')})`;

/** What the ledger's own rules are, beside those that SQLite enforces. */
export const SOUND_CHECKS: readonly SoundCheck[] = [
  {
    name: 'meta.identity',
    holds: 'The ledger has an id, an epoch and a target.',
    sql: `SELECT w.column1 AS place FROM (VALUES ('id'), ('epoch'), ('target')) w
      WHERE NOT EXISTS (SELECT 1 FROM meta WHERE name = w.column1 AND value <> '')`,
  },
  {
    name: 'states.known',
    holds: 'Every delivery, record and item is in a state, of an operation and of a kind that there is.',
    sql: `SELECT 'delivery ' || id || ': ' || operation || ', ' || state AS place FROM deliveries
        WHERE state NOT IN ${list(DELIVERY_STATES)} OR operation NOT IN ${list(OPERATIONS)}
      UNION ALL SELECT 'record ' || key || ': ' || state FROM records
        WHERE state NOT IN ('stale', 'pending', 'mapped', 'excluded', 'quarantined')
      UNION ALL SELECT 'item ' || key || ': ' || kind FROM items WHERE kind NOT IN ${list(SUBJECT_KINDS)}
      UNION ALL SELECT 'run ' || id || ': ' || result FROM runs WHERE result NOT IN ('complete', 'failed', 'interrupted')`,
  },
  {
    name: 'delivery.one_open',
    holds: 'An item has at most one delivery that is not over (I3).',
    // Without the index, which a damaged one would hide the second row behind.
    sql: `SELECT ${ITEM} FROM items i JOIN deliveries d NOT INDEXED ON d.item_id = i.id
      WHERE d.state IN ${OPEN} GROUP BY i.id HAVING count(*) > 1`,
  },
  {
    name: 'delivery.revision',
    holds: "Each revision of an item was given once, and none is beyond the item's count.",
    sql: `SELECT ${DELIVERY} FROM ${DELIVERIES} WHERE d.revision > i.revision
      UNION ALL SELECT ${DELIVERY} FROM ${DELIVERIES} GROUP BY d.item_id, d.revision HAVING count(*) > 1`,
  },
  {
    name: 'delivery.key',
    holds: 'Every delivery has an idempotency key (I2).',
    sql: `SELECT ${DELIVERY} FROM ${DELIVERIES}
      WHERE length(d.idempotency_key) <> 43 OR d.idempotency_key GLOB '*[^A-Za-z0-9_-]*'`,
  },
  {
    name: 'delivery.bytes',
    holds: 'What is under way has the path that it went to, or the import that it went in (I2).',
    sql: `SELECT ${DELIVERY} FROM ${DELIVERIES}
      WHERE d.state = 'sending' AND d.path IS NULL AND d.import_id IS NULL`,
  },
  {
    name: 'delivery.payload',
    holds: 'Whatever may still be sent has its payload.',
    sql: `SELECT ${DELIVERY} FROM ${DELIVERIES} WHERE d.state IN ${OPEN} AND d.desired IS NULL`,
  },
  {
    name: 'delivery.doubt',
    holds: 'What is in doubt is noted as uncertain, and what was delivered is not.',
    sql: `SELECT ${DELIVERY} FROM ${DELIVERIES}
      WHERE (d.state = 'in_doubt' AND d.uncertain <> 1) OR (d.state = 'delivered' AND d.uncertain <> 0)`,
  },
  {
    name: 'delivery.waiting',
    holds: 'What waits has a ref to wait for.',
    sql: `SELECT ${DELIVERY} FROM ${DELIVERIES} WHERE d.state = 'waiting' AND NOT EXISTS (
        SELECT 1 FROM refs f LEFT JOIN items t ON t.kind = f.kind AND t.key = f.key
        WHERE f.item_id = i.id AND nullif(t.remote_id, 'null') IS NULL)`,
  },
  {
    name: 'item.baseline',
    holds: 'What the API acknowledged has a content, a hash and a remote id, or none of the three.',
    sql: `SELECT ${ITEM} FROM items i WHERE (i.baseline IS NULL) <> (i.baseline_hash IS NULL)
      OR (i.baseline IS NULL) <> (i.remote_id IS NULL)`,
  },
  {
    name: 'item.remote_id',
    holds: 'A remote id belongs to one item of a kind.',
    sql: `SELECT i.kind || ' ' || group_concat(i.key, ', ') || ' share ' || i.remote_id AS place FROM items i NOT INDEXED
      WHERE i.remote_id <> 'null' GROUP BY i.kind, i.remote_id HAVING count(*) > 1`,
  },
  {
    name: 'item.difference',
    holds: 'What is desired and what was acknowledged differ only with a delivery that says so (I4).',
    // A record that waits to be read or mapped anew stages the difference when it is; an item without one asks for nothing.
    sql: `SELECT ${ITEM} FROM items i JOIN records r ON r.id = i.record_id
      WHERE i.kind <> 'passport' AND i.desired_hash IS NOT i.baseline_hash AND r.state NOT IN ('stale', 'pending')
        AND i.ignored_hash IS NOT i.desired_hash AND ${NO_OPEN}`,
  },
  {
    name: 'item.ignored',
    holds: 'An item whose write a person has ended has nothing open, and that write says so (I4).',
    sql: `SELECT ${ITEM} FROM items i WHERE i.ignored_hash IS NOT NULL AND NOT (${NO_OPEN} AND EXISTS (
        SELECT 1 FROM deliveries d WHERE d.item_id = i.id AND d.revision = i.revision AND d.state = 'superseded'
          AND d.desired_hash = i.ignored_hash AND d.reason IS NOT NULL))`,
  },
  {
    name: 'item.adopted',
    holds: 'An adopted item whose changes wait for a person is at the platform, and differs from what is desired.',
    sql: `SELECT ${ITEM} FROM items i WHERE i.adopted = 1 AND (i.remote_id IS NULL OR i.desired_hash IS i.baseline_hash)`,
  },
  {
    name: 'passport.step',
    holds: 'A passport that is not where it is to be has a delivery that leads there, or is to be judged again (I4).',
    sql: `SELECT ${ITEM} FROM items i WHERE i.kind = 'passport' AND i.stirred = 0 AND ${NO_OPEN} AND CASE i.desired ->> 'status'
        WHEN 'none' THEN 0
        WHEN 'unpublished' THEN coalesce(i.baseline ->> 'status', '') = 'published'
        WHEN 'published' THEN coalesce(i.baseline ->> 'status', '') <> 'published'
        ELSE i.baseline IS NULL END`,
  },
  {
    name: 'item.refs',
    holds:
      'A BOM item has its product and one material or component, a passport its product, and nothing else has refs.',
    sql: `SELECT ${ITEM} FROM items i LEFT JOIN refs f ON f.item_id = i.id GROUP BY i.id
        HAVING CASE i.kind
          WHEN 'bom_item' THEN count(f.role) <> 2 OR sum(f.role = 'product') <> 1
          WHEN 'passport' THEN count(f.role) <> 1 OR sum(f.role = 'product') <> 1
          ELSE count(f.role) > 0 END
      UNION ALL SELECT ${ITEM} FROM refs f JOIN items i ON i.id = f.item_id
        WHERE (f.role, f.kind) NOT IN ${ROLE_PAIRS}`,
  },
  {
    name: 'item.owner',
    holds: 'The record that makes an item is there.',
    sql: `SELECT ${ITEM} FROM items i
      WHERE i.record_id IS NOT NULL AND NOT EXISTS (SELECT 1 FROM records r WHERE r.id = i.record_id)`,
  },
  {
    name: 'record.quarantine',
    holds: 'A record in quarantine says why.',
    sql: "SELECT 'record ' || key AS place FROM records WHERE state = 'quarantined' AND coalesce(issues, '[]') = '[]'",
  },
  {
    name: 'json.readable',
    holds: 'Everything that is kept as JSON can be read.',
    sql: `SELECT 'cursor of ' || source || '/' || name AS place FROM streams WHERE json_valid(cursor) = 0
      UNION ALL SELECT 'record ' || key FROM records
        WHERE json_valid(raw) = 0 OR json_valid(place) = 0 OR json_valid(issues) = 0 OR json_valid(source_issues) = 0
      UNION ALL SELECT ${ITEM} FROM items i
        WHERE json_valid(desired) = 0 OR json_valid(baseline) = 0 OR json_valid(remote_id) = 0
      UNION ALL SELECT 'delivery ' || id FROM deliveries WHERE json_valid(desired) = 0 OR json_valid(reason) = 0`,
  },
  {
    name: 'import.members',
    holds: 'An import has members, all of them on the same way and each in a place of its own (I3).',
    sql: `SELECT 'import ' || coalesce(m.id, d.import_id) AS place
      FROM (SELECT * FROM deliveries WHERE import_id IS NOT NULL) d FULL JOIN imports m ON m.id = d.import_id
      GROUP BY coalesce(m.id, d.import_id)
      HAVING count(d.id) = 0 OR count(m.id) = 0 OR count(DISTINCT d.import_place) <> count(d.id)
        OR sum(d.operation <> 'product.import') > 0 OR sum(d.state NOT IN ('due', 'sending', 'in_doubt')) > 0`,
  },
];
