import { accessSync, constants, existsSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import Database from 'better-sqlite3';
import { fault } from '../../domain/faults.ts';
import { systemClock } from '../../lib/clock.ts';
import { Fault, messageOf, systemCodeOf } from '../../lib/errors.ts';
import { STEPS, versionAfter } from '../upgrade/steps/steps.ts';
import { createTables, type UpgradeOptions, upgrade } from '../upgrade/upgrade.ts';
import { makeDurableFolder } from './durable-folder.ts';
import { accessFault, assertUsable, makePrivateFile, tightenFile } from './file-access.ts';
import { assertLedgerContent, assertLedgerFile, contentOf, notALedgerFault } from './is-ledger.ts';
import { compileLazily } from './lazy-statements.ts';
import { ledgerFaultOf } from './ledger-fault.ts';
import { ledgerPath } from './ledger-path.ts';
import { assertFixedSqlite } from './sqlite-version.ts';

export type Sqlite = Database.Database;

/** What to do with a ledger of an older version. */
export interface OpenOptions extends UpgradeOptions {
  /** Called before the ledger is changed. If it throws, the ledger is not changed. */
  beforeUpgrade: (db: Sqlite) => void;
}

const DEFAULTS: OpenOptions = {
  clock: systemClock,
  backsUp: true,
  report: () => {},
  steps: STEPS,
  beforeUpgrade: () => {},
};

/** Loads SQLite's library. Otherwise opening the first database of a thread would load it. */
export function loadSqlite(): void {
  new Database(':memory:').close();
}

/**
 * Opens the ledger's file for writing and brings its schema up to date. Only the owner can open the file and its log,
 * because they have confidential data.
 *
 * @throws Fault `ledger.unreadable`, `ledger.unwritable`, `ledger.linked`, `ledger.sqlite`, `ledger.newer` or
 *   `ledger.older`, and the errors of `beforeUpgrade`
 */
export function openDatabase(file: string, given: Partial<OpenOptions> = {}): Sqlite {
  const options = { ...DEFAULTS, ...given };
  let db: Sqlite | null = null;
  try {
    makeDurableFolder(dirname(file));
    const place = ledgerPath(file);
    assertOneName(place);
    const isThere = (statSync(place, { throwIfNoEntry: false })?.size ?? 0) > 0;
    if (isThere) {
      assertUsable(place);
      db = new Database(file);
      // Nothing has changed the file or its mode so far.
      assertLedgerContent(contentOf(db), file, options.steps);
    }
    makePrivateFile(place);
    // SQLite creates its log with the mode of the ledger's file. A log that exists already may have a wider mode.
    for (const suffix of ['-wal', '-shm']) tightenFile(`${place}${suffix}`);
    db ??= new Database(file);
    assertFixedSqlite(db);
    configure(db);
    compileLazily(db);
    bringUpToDate(db, place, options);
    // I8: after a failed fsync of an earlier process, its last writes may only be in the system's memory, and no later
    // fsync writes them. So this process first copies the whole log into the database.
    moveLog(db, 'TRUNCATE');
    return db;
  } catch (error) {
    // The failed upgrade may have filled the disk with its log; closing the database deletes that log.
    db?.close();
    throw openFault(file, error);
  }
}

/**
 * Opens the ledger's file for reading only, beside a process that writes. Null if there is no ledger yet.
 *
 * @throws Fault `ledger.unreadable`, `ledger.unwritable`, `ledger.newer`, or `ledger.older` for a ledger that cannot be
 *   upgraded
 */
export function openDatabaseReadOnly(file: string, steps: UpgradeOptions['steps'] = STEPS): Sqlite | null {
  if (!existsSync(file)) return null;
  let db: Sqlite | null = null;
  try {
    accessSync(file, constants.R_OK);
    assertLedgerFile(file, steps);
    db = new Database(file, { readonly: true });
    const content = contentOf(db);
    assertLedgerContent(content, file, steps);
    if (content.version === 0) {
      db.close();
      return null;
    }
    compileLazily(db);
    return db;
  } catch (error) {
    db?.close();
    throw systemCodeOf(error)?.startsWith('SQLITE_READONLY') ? shutFolderFault(file, error) : openFault(file, error);
  }
}

/** To read a ledger, SQLite needs two files beside it, which exist while a process has the ledger open. */
function shutFolderFault(file: string, cause: unknown): Fault {
  return fault(
    'ledger.unwritable',
    `The ledger ${file} cannot be read: no process has it open, and this process may not write to its folder.`,
    {
      path: 'ledger',
      suggestion:
        'Run the command while the daemon runs, or as a user who may write to the folder: to read a ledger, SQLite makes the files -wal and -shm beside it.',
      cause,
    },
  );
}

/**
 * Copies the log into the database, and syncs both to the disk. `PASSIVE` does not wait for readers. `TRUNCATE` empties
 * the log as well.
 *
 * @returns false if a reading process has prevented the copy of the later part
 */
export function moveLog(db: Sqlite, mode: 'PASSIVE' | 'FULL' | 'TRUNCATE'): boolean {
  const [moved] = db.pragma(`wal_checkpoint(${mode})`) as { busy: number; log: number; checkpointed: number }[];
  return moved !== undefined && moved.busy === 0 && moved.log === moved.checkpointed;
}

/**
 * Refuses a ledger with several names (hard links). The lock and the log belong to one name, so a process that opens
 * the ledger by another name would write beside the owner of the lock.
 *
 * @throws Fault `ledger.linked`
 */
export function assertOneName(file: string): void {
  const links = statSync(file, { throwIfNoEntry: false })?.nlink ?? 0;
  if (links <= 1) return;
  throw fault(
    'ledger.linked',
    `The ledger ${file} has ${links} names (hard links), but its lock protects only one name.`,
    {
      path: 'ledger',
      suggestion: `Stop every process that uses the ledger, find the other names with \`find FOLDER -samefile ${file}\` and remove them. A copy is made with \`dpp-sync ledger backup\`, never with a hard link.`,
    },
  );
}

/** True if the ledger has the tables of this version. */
export function isOfPresentVersion(db: Sqlite, steps: UpgradeOptions['steps'] = STEPS): boolean {
  return Number(db.pragma('user_version', { simple: true })) === versionAfter(steps);
}

/**
 * Refuses a ledger of an older version that was opened for reading, and closes it.
 *
 * @throws Fault `ledger.older`
 */
export function assertPresentSchema(db: Sqlite, file: string, steps: UpgradeOptions['steps'] = STEPS): void {
  if (isOfPresentVersion(db, steps)) return;
  db.close();
  throw fault('ledger.older', `The ledger ${file} was last written by an older version of dpp-sync.`, {
    path: 'ledger',
    suggestion:
      'Start the daemon, or run `dpp-sync sync`, with this version: that brings the ledger up to date. `dpp-sync ledger restore` brings a backup up to date.',
  });
}

function configure(db: Sqlite): void {
  db.pragma('journal_mode = WAL');
  // I8: a commit is on the disk before its promise resolves. The library's default for WAL is NORMAL, with which a
  // power cut can undo a commit.
  db.pragma('synchronous = FULL');
  db.pragma('foreign_keys = ON');
  db.pragma('temp_store = MEMORY');
  db.pragma('cache_size = -16000');
  // Copies the log into the database after every 16 MB and not after every 4 MB: pages that are written often are then
  // copied less often.
  db.pragma('wal_autocheckpoint = 4000');
  // While a reader is active, the log cannot be truncated and may grow. With this limit the disk gets the room back
  // afterwards.
  db.pragma(`journal_size_limit = ${64 * 1024 * 1024}`);
}

function bringUpToDate(db: Sqlite, place: string, options: OpenOptions): void {
  if (contentOf(db).version === 0) return createTables(db);
  if (isOfPresentVersion(db, options.steps)) return;
  // With an empty log, the file's own time says when the ledger was last written.
  const isWhole = moveLog(db, 'TRUNCATE');
  options.beforeUpgrade(db);
  upgrade(db, { place, isWhole }, options);
}

function openFault(file: string, error: unknown): unknown {
  if (error instanceof Fault) return error;
  if (systemCodeOf(error) === 'SQLITE_NOTADB') {
    return notALedgerFault(file, messageOf(error), error);
  }
  if (['EACCES', 'EPERM'].includes(systemCodeOf(error) ?? '')) return accessFault(file, error);
  return (
    ledgerFaultOf(error) ??
    fault('ledger.unreadable', `The ledger ${file} cannot be opened: ${messageOf(error)}.`, {
      path: 'ledger',
      suggestion: 'Check that the folder exists, that it may be written, and that the disk is not full.',
      cause: error,
    })
  );
}
