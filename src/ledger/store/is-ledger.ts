import { existsSync, statSync } from 'node:fs';
import type Database from 'better-sqlite3';
import { fault } from '../../domain/faults.ts';
import { type Fault, systemCodeOf } from '../../lib/errors.ts';
import { PRESENT_VERSION } from '../upgrade/upgrade.ts';
import { ledgerPath } from './ledger-path.ts';
import { type DatabaseContent, readSqliteFile } from './sqlite-file.ts';

/** Tables that the ledgers of all versions have. */
const TABLES = ['meta', 'streams', 'records', 'items'];
/** How many tables of another program the message names. */
const TABLES_SHOWN = 3;

/**
 * Refuses a file that is not a ledger, or a ledger of a newer version. Changes neither the file nor its folder. An empty file
 * becomes a ledger, because a process that was killed may have left it.
 *
 * A file with a lock beside it is not read here, because this process may have it open. `assertLedgerContent` checks it after
 * it was opened.
 *
 * @throws Fault `ledger.unreadable` or `ledger.newer`
 */
export function assertLedgerFile(file: string): void {
  if (!existsSync(file)) return;
  const place = ledgerPath(file);
  const stats = statSync(place);
  if (!stats.isFile() || stats.size === 0 || existsSync(`${place}.lock`)) return;
  const content = read(place);
  if (content === 'other') throw notALedgerFault(file, 'it is no database of SQLite');
  if (content !== null) assertLedgerContent(content, file);
}

/**
 * Refuses the database of another program, or a ledger of a newer version.
 *
 * @throws Fault `ledger.unreadable` or `ledger.newer`
 */
export function assertLedgerContent({ version, tables }: DatabaseContent, file: string): void {
  if (version === 0 && tables.length === 0) return;
  if (version === 0 || !TABLES.every((name) => tables.includes(name))) {
    const named = tables.slice(0, TABLES_SHOWN).join(', ');
    const has = tables.length === 0 ? '' : `, with the tables ${named}${tables.length > TABLES_SHOWN ? ', …' : ''}`;
    throw notALedgerFault(file, `it is a database of another program${has}`);
  }
  if (version > PRESENT_VERSION) throw newerFault(file);
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

/** Null if this process may not read the file. Then opening it reports why. */
function read(place: string): ReturnType<typeof readSqliteFile> {
  try {
    return readSqliteFile(place);
  } catch (error) {
    if (systemCodeOf(error) === undefined) throw error;
    return null;
  }
}
