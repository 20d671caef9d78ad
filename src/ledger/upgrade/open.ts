// Opens the ledger's file, for writing or for reading only.

import { accessSync, constants, existsSync, realpathSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { fault } from '../../domain/faults.ts';
import { systemClock } from '../../lib/clock.ts';
import { Fault, messageOf, systemCodeOf } from '../../lib/errors.ts';
import {
  accessFault,
  assertLocalDisk,
  assertOneName,
  assertUsable,
  ledgerPath,
  makeDurableFolder,
  makePrivateFile,
  tightenFile,
} from '../file/file.ts';
import { assertIsMarked, readMark } from '../file/identity.ts';
import { assertLedgerContent, assertLedgerFile, contentOf, notALedgerFault } from '../file/is-ledger.ts';
import { assertFixedSqlite, configure, moveLog, openFile, type Sqlite, versionOf } from '../store/database.ts';
import { isTrouble, ledgerFaultOf } from '../store/ledger-fault.ts';
import { STEPS, versionAfter } from '../upgrade-steps.ts';
import { createTables, type UpgradeOptions, upgrade } from './upgrade.ts';

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
      db = openFile(file);
      // Nothing has changed the file or its mode so far.
      assertLedgerContent(contentOf(db), file, options.steps);
    }
    makePrivateFile(place);
    // SQLite creates its log with the mode of the ledger's file. A log that exists already may have a wider mode.
    for (const suffix of ['-wal', '-shm']) tightenFile(`${place}${suffix}`);
    db ??= openFile(file);
    assertFixedSqlite(db);
    configure(db);
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
    db = openFile(file, { readonly: true });
    const content = contentOf(db);
    assertLedgerContent(content, file, steps);
    if (content.version === 0) {
      db.close();
      return null;
    }
    return db;
  } catch (error) {
    db?.close();
    throw isTrouble(error, 'READONLY') ? shutFolderFault(file, error) : openFault(file, error);
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
 * Opens a ledger for reading only, beside a process that writes it. Null if there is none yet.
 *
 * @throws Fault `ledger.restored` where there was a ledger, or a later one, `ledger.network`, and the faults of
 *   `openDatabaseReadOnly`
 */
export function openToRead(file: string): Sqlite | null {
  // The mark is read before the ledger: a process that creates a ledger writes the mark last, and the count of a mark
  // is never greater than that of its ledger.
  const mark = readMark(file);
  assertOneName(file);
  if (existsSync(file)) assertLocalDisk(realpathSync(file));
  const db = openDatabaseReadOnly(file);
  try {
    if (mark !== null) assertIsMarked(db, file, mark);
    return db;
  } catch (error) {
    db?.close();
    throw error;
  }
}

/** True if the ledger has the tables of this version. */
export function isOfPresentVersion(db: Sqlite, steps: UpgradeOptions['steps'] = STEPS): boolean {
  return versionOf(db) === versionAfter(steps);
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
  if (isTrouble(error, 'NOTADB')) {
    return notALedgerFault(file, messageOf(error), error);
  }
  if (['EACCES', 'EPERM'].includes(systemCodeOf(error) ?? '')) return accessFault(file, error);
  return (
    ledgerFaultOf(error, file) ??
    fault('ledger.unreadable', `The ledger ${file} cannot be opened: ${messageOf(error)}.`, {
      path: 'ledger',
      suggestion: 'Check that the folder exists, that it may be written, and that the disk is not full.',
      cause: error,
    })
  );
}
