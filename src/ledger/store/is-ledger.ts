import { existsSync, statSync } from 'node:fs';
import type Database from 'better-sqlite3';
import { fault } from '../../domain/faults.ts';
import { type Fault, systemCodeOf } from '../../lib/errors.ts';
import { FIRST_VERSION, STEPS, type UpgradeStep, versionAfter } from '../upgrade/steps/steps.ts';
import { ledgerPath } from './ledger-path.ts';
import { type DatabaseContent, readSqliteFile } from './sqlite-file.ts';

/** Tables that the ledgers of all versions have. */
const TABLES = ['meta', 'streams', 'records', 'items'];
/** How many tables of another program the message names. */
const TABLES_SHOWN = 3;
/** The last commit that upgrades ledgers of the versions before the first one of `schema.sql`. */
const UPGRADES_OLDER = '3296a033d5e19be9a460c8494374b1a1e028e5c3';

/**
 * Refuses a file that is not a ledger, a ledger of a newer version, or one that is too old to be upgraded. Changes neither the
 * file nor its folder. An empty file becomes a ledger, because a process that was killed may have left it.
 *
 * A file with a lock beside it is not read here, because this process may have it open. `assertLedgerContent` checks it after
 * it was opened.
 *
 * @throws Fault `ledger.unreadable`, `ledger.newer` or `ledger.older`
 */
export function assertLedgerFile(file: string, steps: readonly UpgradeStep[] = STEPS): void {
  if (!existsSync(file)) return;
  const place = ledgerPath(file);
  const stats = statSync(place);
  if (!stats.isFile() || stats.size === 0 || existsSync(`${place}.lock`)) return;
  const content = read(place);
  if (content === 'other') throw notALedgerFault(file, 'it is no database of SQLite');
  if (content !== null) assertLedgerContent(content, file, steps);
}

/**
 * Refuses the database of another program, a ledger of a newer version, or one that is too old to be upgraded.
 *
 * @throws Fault `ledger.unreadable`, `ledger.newer` or `ledger.older`
 */
export function assertLedgerContent(
  { version, tables }: DatabaseContent,
  file: string,
  steps: readonly UpgradeStep[] = STEPS,
): void {
  if (version === 0 && tables.length === 0) return;
  if (version === 0 || !TABLES.every((name) => tables.includes(name))) {
    const named = tables.slice(0, TABLES_SHOWN).join(', ');
    const has = tables.length === 0 ? '' : `, with the tables ${named}${tables.length > TABLES_SHOWN ? ', …' : ''}`;
    throw notALedgerFault(file, `it is a database of another program${has}`);
  }
  if (version > versionAfter(steps)) throw newerFault(file);
  if (version < FIRST_VERSION) throw tooOldFault(file);
}

/** The content of an open database. */
export function contentOf(db: Database.Database): DatabaseContent {
  const tables = db.prepare<[], string>("SELECT name FROM sqlite_schema WHERE type = 'table'").pluck().all();
  return { version: Number(db.pragma('user_version', { simple: true })), tables };
}

export function notALedgerFault(file: string, why: string, cause?: unknown): Fault {
  return fault('ledger.unreadable', `The file ${file} is not a ledger: ${why}. It was not changed.`, {
    path: 'ledger',
    suggestion: 'Name a file of its own in `ledger`, which dpp-sync makes, or put the right file back from a backup.',
    ...(cause === undefined ? {} : { cause }),
  });
}

function newerFault(file: string): Fault {
  return fault('ledger.newer', `The ledger ${file} was written by a newer version of dpp-sync.`, {
    path: 'ledger',
    suggestion: 'Install that version or a later one, or name another ledger file.',
  });
}

/** The fault of a ledger that this code cannot upgrade. No released version of dpp-sync has made such a ledger. */
function tooOldFault(file: string): Fault {
  return fault(
    'ledger.older',
    `The ledger ${file} was last written by a version of dpp-sync that is too old to be upgraded by this one. It was not changed.`,
    {
      path: 'ledger',
      suggestion: `Upgrade it with the commit ${UPGRADES_OLDER}: in a clone of dpp-sync, run \`git checkout ${UPGRADES_OLDER}\` and \`npm ci\`, and then \`npm run -s dpp-sync -- replay --dry-run -c CONFIG\`, which sends nothing. A backup is upgraded when you restore it with that commit.`,
    },
  );
}

/** Null if this process may not read the file. Then opening it reports why. */
function read(place: string): ReturnType<typeof readSqliteFile> {
  try {
    return readSqliteFile(place);
  } catch (error) {
    if (systemCodeOf(error) === undefined) throw error;
    return null;
  }
}
