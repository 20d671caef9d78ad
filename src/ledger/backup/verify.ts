// Checks the file of a ledger, and the rules of its rows that no database enforces.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DELIVERY_STATES, OPEN_STATES } from '../../domain/delivery/delivery.ts';
import { OPERATIONS } from '../../domain/delivery/operation.ts';
import { REF_KINDS, REF_ROLES, SUBJECT_KINDS } from '../../domain/item.ts';
import { RUN_RESULTS } from '../../domain/ports/intake.ts';
import { messageOf } from '../../lib/errors.ts';
import { assertNotGone } from '../file/identity.ts';
import { allDamageOf, copyInto, orphansOf, type Sqlite } from '../store/database.ts';
import { ledgerFaultOf } from '../store/ledger-fault.ts';
import { readMeta } from '../store/meta.ts';
import { isOfPresentVersion, openDatabase, openDatabaseReadOnly } from '../upgrade/open.ts';
import type { UpgradeOptions } from '../upgrade/upgrade.ts';
import { STEPS } from '../upgrade-steps.ts';

/** What a check of the ledger found. */
export interface Finding {
  /** Stable: `file.integrity`, `file.refs`, or the name of one of `SOUND_CHECKS`. */
  check: string;
  /** The rule that is broken, as a full sentence. */
  rule: string;
  count: number;
  /** Some of the violations, in words for people. */
  examples: string[];
}

interface Verification {
  checks: number;
  findings: Finding[];
  /** When the backup was made; null for a ledger that is no backup. */
  backupAt: string | null;
}

const EXAMPLES_MAX = 5;
const INTEGRITY_MAX = 100;

/**
 * Checks a ledger or a backup in its state at one moment. Another process may write it meanwhile. The file is not
 * changed. Returns null if there is no file.
 *
 * @throws Fault `ledger.restored` if the ledger is gone, `ledger.unreadable`, `ledger.newer`, `ledger.older` if it cannot be
 *   upgraded, or `ledger.unwritable` if the disk has no room for an upgraded copy
 */
export function verifyLedger(
  file: string,
  onCheck: (name: string) => void,
  steps: UpgradeOptions['steps'] = STEPS,
): Verification | null {
  const db = openDatabaseReadOnly(file, steps);
  if (!db) {
    assertNotGone(file);
    return null;
  }
  try {
    db.exec('BEGIN');
    const ofFile = findingsOfFile(db, onCheck);
    // In a damaged file the other checks would only find the same damage again.
    if (ofFile.isDamaged) return { checks: 1, findings: ofFile.findings, backupAt: null };
    const backupAt = readMeta({ db }, 'backup_at');
    const isPresent = isOfPresentVersion(db, steps);
    if (isPresent) ofFile.findings.push(...findingsOfRules(db, onCheck));
    db.exec('COMMIT');
    if (!isPresent) ofFile.findings.push(...onUpgradedCopy(db, steps, (copy) => findingsOfRules(copy, onCheck)));
    return { checks: SOUND_CHECKS.length + 2, findings: ofFile.findings, backupAt };
  } catch (error) {
    throw ledgerFaultOf(error) ?? error;
  } finally {
    db.close();
  }
}

/**
 * Upgrades a copy of an older ledger in the folder for temporary files, so that the checks of this version can run on
 * it.
 */
function onUpgradedCopy<T>(db: Sqlite, steps: UpgradeOptions['steps'], use: (copy: Sqlite) => T): T {
  const folder = mkdtempSync(join(tmpdir(), 'dpp-sync-verify-'));
  try {
    const file = join(folder, 'copy.db');
    copyInto(db, file);
    const copy = openDatabase(file, { backsUp: false, steps });
    try {
      return use(copy);
    } finally {
      copy.close();
    }
  } finally {
    rmSync(folder, { recursive: true });
  }
}

function findingsOfFile(db: Sqlite, onCheck: (name: string) => void): { findings: Finding[]; isDamaged: boolean } {
  onCheck('file.integrity');
  const damage = integrityOf(db);
  if (damage.length > 0) {
    const integrity = { check: 'file.integrity', rule: 'The file is as SQLite wrote it.' };
    return { findings: [findingOf(integrity, damage)], isDamaged: true };
  }
  onCheck('file.refs');
  const orphans = orphansOf(db);
  if (orphans.length === 0) return { findings: [], isDamaged: false };
  const places = orphans.map(({ table, rowid, parent }) => `${table} ${rowid ?? ''} without its row in ${parent}`);
  const refs = { check: 'file.refs', rule: 'If a row refers to another row, that row exists.' };
  return { findings: [findingOf(refs, places)], isDamaged: false };
}

/** The statement of a check, with its places in order. */
export function orderedPlaces(sql: string): string {
  return `SELECT place FROM (${sql}) AS found ORDER BY place`;
}

function findingsOfRules(db: Sqlite, onCheck: (name: string) => void): Finding[] {
  const findings: Finding[] = [];
  for (const { name, rule, sql } of SOUND_CHECKS) {
    onCheck(name);
    const finding: Finding = { check: name, rule, count: 0, examples: [] };
    for (const place of db.prepare<[], unknown>(orderedPlaces(sql)).pluck().iterate()) {
      finding.count += 1;
      if (finding.examples.length < EXAMPLES_MAX) finding.examples.push(String(place));
    }
    if (finding.count > 0) findings.push(finding);
  }
  return findings;
}

/** Lists the damage of the file's pages and indexes. SQLite reports some damage as a thrown error and not as a row. */
function integrityOf(db: Sqlite): string[] {
  try {
    return allDamageOf(db, { limit: INTEGRITY_MAX });
  } catch (error) {
    if (ledgerFaultOf(error)?.code !== 'ledger.unreadable') throw error;
    return [messageOf(error)];
  }
}

function findingOf({ check, rule }: { check: string; rule: string }, places: readonly string[]): Finding {
  return { check, rule, count: places.length, examples: places.slice(0, EXAMPLES_MAX) };
}

/** A rule of the ledger, and the query that finds the rows that break it. */
interface SoundCheck {
  /** Stable, because scripts use it. */
  name: string;
  /** The rule as a full sentence. */
  rule: string;
  /** Selects one row for each violation. Its column `place` says where the violation is. */
  sql: string;
}

const list = (words: readonly string[]): string => `(${words.map((word) => `'${word}'`).join(', ')})`;
const OPEN = list(OPEN_STATES);
const DELIVERY = "i.operation || ' of ' || i.key || ', revision ' || i.revision AS place";
const ITEM = "i.kind || ' ' || i.key AS place";
const NO_OPEN = `coalesce(i.state, '') NOT IN ${OPEN}`;
/** The hash of the payload that the API has acknowledged. */
const BASELINE_HASH = 'CASE WHEN i.acknowledged = 1 THEN i.desired_hash ELSE i.baseline_hash END';
/** The characters of base64url: nothing is left of a text that has no other ones. */
const KEY_CHARACTERS = "'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-'";
const ROLE_PAIRS = `(VALUES ${REF_ROLES.map((role) => `('${role}', '${REF_KINDS[role]}')`).join(', ')})`;

/** The rules of the ledger that SQLite does not enforce. */
export const SOUND_CHECKS: readonly SoundCheck[] = [
  {
    name: 'meta.identity',
    rule: 'The ledger has an id, an epoch and a target.',
    sql: `SELECT w.column1 AS place FROM (VALUES ('id'), ('epoch'), ('target')) w
      WHERE NOT EXISTS (SELECT 1 FROM meta WHERE name = w.column1 AND value <> '')`,
  },
  {
    name: 'states.known',
    rule: 'Every delivery, record and item is in a state, of an operation and of a kind that there is.',
    sql: `SELECT 'delivery of item ' || id || ': ' || coalesce(operation, '') || ', ' || coalesce(state, '') AS place FROM items
        WHERE state NOT IN ${list(DELIVERY_STATES)} OR operation NOT IN ${list(OPERATIONS)}
      UNION ALL SELECT 'revision ' || revision || ' of item ' || item_id || ': ' || operation || ', ' || state FROM history
        WHERE state NOT IN ('delivered', 'superseded') OR operation NOT IN ${list(OPERATIONS)}
      UNION ALL SELECT 'record ' || key || ': ' || state FROM records
        WHERE state NOT IN ('stale', 'pending', 'mapped', 'excluded', 'quarantined')
      UNION ALL SELECT 'item ' || key || ': ' || kind FROM items WHERE kind NOT IN ${list(SUBJECT_KINDS)}
      UNION ALL SELECT 'run ' || id || ': ' || result FROM runs WHERE result NOT IN ${list(RUN_RESULTS)}`,
  },
  {
    name: 'delivery.present',
    rule: 'An item has a delivery from its first revision on, which has a state, an operation and a time.',
    sql: `SELECT ${ITEM} FROM items i WHERE (i.revision = 0) <> (i.state IS NULL)
      OR (i.state IS NULL) <> (i.operation IS NULL) OR (i.state IS NULL) <> (i.staged_at IS NULL)`,
  },
  {
    name: 'delivery.revision',
    rule: 'Each revision in the history of an item is at least 1 and lower than the present revision of the item.',
    sql: `SELECT h.operation || ' of ' || i.key || ', revision ' || h.revision AS place
      FROM history h JOIN items i ON i.id = h.item_id WHERE h.revision >= i.revision OR h.revision < 1`,
  },
  {
    name: 'delivery.key',
    rule: 'Every request has an idempotency key, and no two have the same (I2).',
    sql: `SELECT 'request ' || id AS place FROM requests
        WHERE length(idempotency_key) <> 43 OR trim(idempotency_key, ${KEY_CHARACTERS}) <> ''
      UNION ALL SELECT 'requests ' || group_concat(CAST(id AS TEXT), ', ' ORDER BY id) FROM requests GROUP BY idempotency_key HAVING count(*) > 1`,
  },
  {
    name: 'delivery.bytes',
    rule: 'A delivery that is being sent has a request with its bytes (I2).',
    sql: `SELECT ${DELIVERY} FROM items i WHERE i.state = 'sending' AND i.request_id IS NULL`,
  },
  {
    name: 'delivery.payload',
    rule: 'Only an open delivery may have a payload other than the desired one. It then has both the payload and its hash.',
    sql: `SELECT ${DELIVERY} FROM items i WHERE (i.sent IS NOT NULL AND (i.sent_hash IS NULL OR i.kind = 'passport' OR ${NO_OPEN}))
      OR (i.sent_hash IS NOT NULL AND i.sent IS NULL AND NOT ${NO_OPEN})`,
  },
  {
    name: 'delivery.doubt',
    rule: 'An unconfirmed delivery is marked as uncertain, and a delivered one is not.',
    sql: `SELECT ${DELIVERY} FROM items i
      WHERE (i.state = 'in_doubt' AND i.uncertain <> 1) OR (i.state = 'delivered' AND i.uncertain <> 0)`,
  },
  {
    name: 'delivery.waiting',
    rule: 'A waiting delivery has a ref without a remote id, or the guard holds it.',
    sql: `SELECT ${DELIVERY} FROM items i WHERE i.state = 'waiting'
        AND i.id NOT IN (SELECT item_id FROM held_creates) AND NOT EXISTS (
        SELECT 1 FROM refs f LEFT JOIN items t ON t.kind = f.kind AND t.key = f.key
        WHERE f.item_id = i.id AND nullif(t.remote_id, 'null') IS NULL)`,
  },
  {
    name: 'item.baseline',
    rule: 'An acknowledged item has a content, a hash and a remote id, or none of the three.',
    sql: `SELECT ${ITEM} FROM items i WHERE i.acknowledged NOT IN (0, 1, 2) OR (i.acknowledged = 2) <> (i.baseline IS NOT NULL)
      OR (i.acknowledged = 2) <> (i.baseline_hash IS NOT NULL) OR (i.acknowledged = 0) <> (i.remote_id IS NULL)
      OR (i.kind = 'passport' AND i.acknowledged = 1)`,
  },
  {
    name: 'item.remote_id',
    rule: 'A remote id belongs to one item of a kind.',
    sql: `SELECT i.kind || ' ' || group_concat(i.key, ', ' ORDER BY i.id) || ' share ' || i.remote_id AS place FROM items i NOT INDEXED
      WHERE i.remote_id <> 'null' GROUP BY i.kind, i.remote_id HAVING count(*) > 1`,
  },
  {
    name: 'item.difference',
    rule: 'If the desired content differs from the acknowledged one, the item has a delivery for the difference (I4).',
    // Three cases are left out. A record that waits to be read or mapped again stages the difference later. An item
    // without a record stages nothing. A missing item that is not at the platform is staged when its record is back.
    sql: `SELECT ${ITEM} FROM items i JOIN records r ON r.id = i.record_id
      WHERE i.kind <> 'passport' AND i.desired_hash IS DISTINCT FROM ${BASELINE_HASH} AND r.state NOT IN ('stale', 'pending')
        AND i.ignored_hash IS DISTINCT FROM i.desired_hash AND NOT (i.acknowledged = 0 AND r.missing_since IS NOT NULL) AND ${NO_OPEN}`,
  },
  {
    name: 'item.ignored',
    rule: 'If a person has ended the write of an item, the write is superseded and has the ended payload (I4).',
    sql: `SELECT ${ITEM} FROM items i WHERE i.ignored_hash IS NOT NULL AND (i.state IS DISTINCT FROM 'superseded' OR i.reason IS NULL
        OR coalesce(i.sent_hash, i.desired_hash) <> i.ignored_hash)`,
  },
  {
    name: 'item.adopted',
    rule: 'An adopted item whose changes wait for a person is at the platform, and differs from the desired content.',
    sql: `SELECT ${ITEM} FROM items i WHERE i.adopted = 1 AND (i.remote_id IS NULL OR i.desired_hash IS NOT DISTINCT FROM ${BASELINE_HASH})`,
  },
  {
    name: 'passport.step',
    rule: 'A passport that is not in its desired state has a delivery toward that state, or needs evaluation (I4).',
    sql: `SELECT ${ITEM} FROM items i WHERE i.kind = 'passport' AND i.dirty = 0 AND ${NO_OPEN} AND CASE i.desired ->> 'status'
        WHEN 'none' THEN FALSE
        WHEN 'unpublished' THEN coalesce(i.baseline ->> 'status', '') = 'published'
        WHEN 'published' THEN coalesce(i.baseline ->> 'status', '') <> 'published'
        ELSE i.baseline IS NULL END`,
  },
  {
    name: 'item.refs',
    rule: 'A BOM item has its product and one material or component, a passport has its product, and other items have no refs.',
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
    rule: 'The ledger has the record that makes an item.',
    sql: `SELECT ${ITEM} FROM items i
      WHERE i.record_id IS NOT NULL AND NOT EXISTS (SELECT 1 FROM records r WHERE r.id = i.record_id)`,
  },
  {
    name: 'item.released',
    rule: 'An item at the platform has a record, or is missing, or waits for the guard to decide about it.',
    sql: `SELECT ${ITEM} FROM items i LEFT JOIN released l ON l.item_id = i.id WHERE i.kind <> 'passport'
      AND (i.record_id IS NULL AND i.missing_since IS NULL) <> (l.item_id IS NOT NULL)`,
  },
  {
    name: 'record.quarantine',
    rule: 'A record in quarantine has an issue.',
    sql: "SELECT 'record ' || key AS place FROM records WHERE state = 'quarantined' AND coalesce(issues, '[]') = '[]'",
  },
  {
    name: 'json.readable',
    rule: 'All stored JSON can be read.',
    sql: `SELECT 'cursor of ' || source || '/' || name AS place FROM streams WHERE NOT json_valid(cursor)
      UNION ALL SELECT 'record ' || key FROM records
        WHERE NOT json_valid(raw) OR NOT json_valid(place) OR NOT json_valid(issues) OR NOT json_valid(source_issues)
      UNION ALL SELECT ${ITEM} FROM items i
        WHERE NOT json_valid(desired) OR NOT json_valid(baseline) OR NOT json_valid(remote_id) OR NOT json_valid(sent)
          OR NOT json_valid(reason)
      UNION ALL SELECT 'revision ' || revision || ' of item ' || item_id FROM history WHERE NOT json_valid(reason)`,
  },
  {
    name: 'import.members',
    rule: 'A request has one member, or the members of an import in different places, which are all new or all changed. Its bytes may be sent again or may have arrived (I3).',
    sql: `SELECT 'request ' || coalesce(r.id, i.request_id) AS place
      FROM (SELECT * FROM items WHERE request_id IS NOT NULL) i FULL JOIN requests r ON r.id = i.request_id
      GROUP BY coalesce(r.id, i.request_id)
      HAVING count(i.id) = 0 OR count(r.id) = 0 OR min(i.operation) <> max(i.operation) OR CASE max(r.operation)
          WHEN 'product.import' THEN count(DISTINCT i.request_place) <> count(i.id)
            OR max(i.operation) NOT IN ('product.import', 'product.create')
          ELSE count(i.id) > 1 OR count(i.request_place) > 0 OR max(i.operation) <> max(r.operation) END
        OR sum(i.state NOT IN ('due', 'sending', 'in_doubt', 'rejected')) > 0`,
  },
];
