import { closeSync, mkdtempSync, openSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { messageOf } from '../../lib/errors.ts';
import { assertNotGone } from '../identity/recognise.ts';
import { isOfPresentVersion, openDatabase, openDatabaseReadOnly, type Sqlite } from '../store/database.ts';
import { ledgerFaultOf } from '../store/ledger-fault.ts';
import { readMeta } from '../store/meta.ts';
import { STEPS } from '../upgrade/steps/steps.ts';
import type { UpgradeOptions } from '../upgrade/upgrade.ts';
import { SOUND_CHECKS } from './sound-checks.ts';

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

export interface Verification {
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
    // The copy has the ledger's data, so only its owner may read it.
    closeSync(openSync(file, 'wx', 0o600));
    db.prepare('VACUUM INTO ?').run(file);
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
  const orphans = db.pragma('foreign_key_check') as { table: string; rowid: number | null; parent: string }[];
  if (orphans.length === 0) return { findings: [], isDamaged: false };
  const places = orphans.map(({ table, rowid, parent }) => `${table} ${rowid ?? ''} without its row in ${parent}`);
  const refs = { check: 'file.refs', rule: 'If a row refers to another row, that row exists.' };
  return { findings: [findingOf(refs, places)], isDamaged: false };
}

function findingsOfRules(db: Sqlite, onCheck: (name: string) => void): Finding[] {
  const findings: Finding[] = [];
  for (const { name, rule, sql } of SOUND_CHECKS) {
    onCheck(name);
    const finding: Finding = { check: name, rule, count: 0, examples: [] };
    for (const place of db.prepare<[], unknown>(sql).pluck().iterate()) {
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
    const rows = db.pragma(`integrity_check(${INTEGRITY_MAX})`) as { integrity_check: string }[];
    return rows.map((row) => row.integrity_check).filter((said) => said !== 'ok');
  } catch (error) {
    if (ledgerFaultOf(error)?.code !== 'ledger.unreadable') throw error;
    return [messageOf(error)];
  }
}

function findingOf({ check, rule }: { check: string; rule: string }, places: readonly string[]): Finding {
  return { check, rule, count: places.length, examples: places.slice(0, EXAMPLES_MAX) };
}
