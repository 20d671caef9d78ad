import { messageOf } from '../../lib/errors.ts';
import { assertPresentSchema, openDatabaseReadOnly, type Sqlite } from '../store/database.ts';
import { ledgerFaultOf } from '../store/ledger-fault.ts';
import { assertNotGone } from '../store/recognise.ts';
import { SOUND_CHECKS } from './sound-checks.ts';

/** What a check of the ledger found. */
export interface Finding {
  /** Stable: `file.integrity`, `file.refs`, or the name of one of the ledger's own rules. */
  check: string;
  /** What should hold, as a full sentence. */
  holds: string;
  count: number;
  /** Some of the places, for people. */
  examples: string[];
}

export interface Verification {
  /** How many checks were made. */
  checks: number;
  findings: Finding[];
  /** When the file was made, where it is a backup. */
  backupAt: string | null;
}

const EXAMPLES_MAX = 5;
const INTEGRITY_MAX = 100;

/**
 * Checks a ledger or a backup as it is at one moment, beside whoever writes it. Null where there is none.
 *
 * @throws Fault `ledger.restored` where there was one, `ledger.unreadable`, `ledger.newer` or `ledger.older`
 */
export function verifyLedger(file: string, onCheck: (name: string) => void): Verification | null {
  const db = openDatabaseReadOnly(file);
  if (!db) {
    assertNotGone(file);
    return null;
  }
  assertPresentSchema(db, file);
  try {
    db.exec('BEGIN');
    return verify(db, onCheck);
  } catch (error) {
    throw ledgerFaultOf(error) ?? error;
  } finally {
    db.close();
  }
}

function verify(db: Sqlite, onCheck: (name: string) => void): Verification {
  onCheck('file.integrity');
  const integrity = { check: 'file.integrity', holds: 'The file is as SQLite wrote it.' };
  const damage = integrityOf(db);
  // In a damaged file the other checks would tell of the damage only.
  if (damage.length > 0) return { checks: 1, findings: [findingOf(integrity, damage)], backupAt: null };

  const findings: Finding[] = [];
  onCheck('file.refs');
  const orphans = db.pragma('foreign_key_check') as { table: string; rowid: number | null; parent: string }[];
  if (orphans.length > 0) {
    const places = orphans.map(({ table, rowid, parent }) => `${table} ${rowid ?? ''} without its row in ${parent}`);
    findings.push(findingOf({ check: 'file.refs', holds: 'Every row that another belongs to is there.' }, places));
  }
  for (const { name, holds, sql } of SOUND_CHECKS) {
    onCheck(name);
    const finding: Finding = { check: name, holds, count: 0, examples: [] };
    for (const place of db.prepare<[], unknown>(sql).pluck().iterate()) {
      finding.count += 1;
      if (finding.examples.length < EXAMPLES_MAX) finding.examples.push(String(place));
    }
    if (finding.count > 0) findings.push(finding);
  }
  const backupAt = db.prepare<[], string>("SELECT value FROM meta WHERE name = 'backup_at'").pluck().get() ?? null;
  return { checks: SOUND_CHECKS.length + 2, findings, backupAt };
}

/** What is wrong with the file's pages and indexes; some damage is told by an error in place of a row. */
function integrityOf(db: Sqlite): string[] {
  try {
    const rows = db.pragma(`integrity_check(${INTEGRITY_MAX})`) as { integrity_check: string }[];
    return rows.map((row) => row.integrity_check).filter((said) => said !== 'ok');
  } catch (error) {
    if (ledgerFaultOf(error)?.code !== 'ledger.unreadable') throw error;
    return [messageOf(error)];
  }
}

function findingOf({ check, holds }: { check: string; holds: string }, places: readonly string[]): Finding {
  return { check, holds, count: places.length, examples: places.slice(0, EXAMPLES_MAX) };
}
