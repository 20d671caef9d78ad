import { accessSync, constants, existsSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import Database from 'better-sqlite3';
import { fault } from '../../domain/faults.ts';
import { systemClock } from '../../lib/clock.ts';
import { Fault, messageOf, systemCodeOf } from '../../lib/errors.ts';
import { makeDurableFolder } from './durable-folder.ts';
import { accessFault, makePrivateFile, tightenFile } from './file-access.ts';
import { ledgerFaultOf } from './ledger-fault.ts';
import { ledgerPlace } from './ledger-place.ts';
import { PRESENT_VERSION, type UpgradeOptions, upgrade } from './upgrade.ts';

export type Sqlite = Database.Database;

/** What happens to a ledger of an older version. */
export interface OpenOptions extends UpgradeOptions {
  /** Sees the ledger before it is changed; what it throws leaves the ledger as it is. */
  beforeUpgrade: (db: Sqlite) => void;
}

const DEFAULTS: OpenOptions = { clock: systemClock, backsUp: true, report: () => {}, beforeUpgrade: () => {} };

/**
 * Opens the ledger's file for writing and brings its schema up to date. The file and its log are their owner's alone, since
 * they hold the company's data.
 *
 * @throws Fault `ledger.unreadable`, `ledger.unwritable`, `ledger.linked` or `ledger.newer`, and what `beforeUpgrade` throws
 */
export function openDatabase(file: string, options: Partial<OpenOptions> = {}): Sqlite {
  let db: Sqlite | null = null;
  try {
    makeDurableFolder(dirname(file));
    const place = ledgerPlace(file);
    makePrivateFile(place);
    assertOneName(place);
    // SQLite makes its log with the mode of the ledger. One that is there already may have a wider mode.
    for (const suffix of ['-wal', '-shm']) tightenFile(`${place}${suffix}`);
    db = new Database(file);
    configure(db);
    bringUpToDate(db, { file, place }, { ...DEFAULTS, ...options });
    // I8: where the disk failed the fsync of an earlier process, what that wrote last may be in the system's memory alone, and
    // no later fsync of the log writes it. What this process builds on is written anew, into the database.
    moveLog(db, 'TRUNCATE');
    return db;
  } catch (error) {
    // What an upgrade has written to the log until its disk was full is given back.
    db?.close();
    throw openFault(file, error);
  }
}

/** Opens the ledger's file for reading only, beside a process that writes. Null where there is no ledger yet. */
export function openDatabaseReadOnly(file: string): Sqlite | null {
  if (!existsSync(file)) return null;
  try {
    accessSync(file, constants.R_OK);
    const db = new Database(file, { readonly: true });
    const version = Number(db.pragma('user_version', { simple: true }));
    if (version > PRESENT_VERSION) throw newerFault(file);
    if (version === 0) {
      db.close();
      return null;
    }
    return db;
  } catch (error) {
    throw openFault(file, error);
  }
}

/**
 * Moves the log into the database, and both to the disk. `PASSIVE` does not wait for readers; `TRUNCATE` empties the log as well.
 *
 * @returns whether all of it was moved: a process that has been reading for long may keep the later part in the log
 */
export function moveLog(db: Sqlite, mode: 'PASSIVE' | 'FULL' | 'TRUNCATE'): boolean {
  const [moved] = db.pragma(`wal_checkpoint(${mode})`) as { busy: number; log: number; checkpointed: number }[];
  return moved !== undefined && moved.busy === 0 && moved.log === moved.checkpointed;
}

/**
 * Refuses a ledger that has several names (hard links): its lock and its log belong to one name, so that a process that opens it by
 * another one would write beside the holder of the lock.
 *
 * @throws Fault `ledger.linked`
 */
export function assertOneName(file: string): void {
  const links = statSync(file, { throwIfNoEntry: false })?.nlink ?? 0;
  if (links <= 1) return;
  throw fault(
    'ledger.linked',
    `The ledger ${file} has ${links} names (hard links), and its lock is for one name only.`,
    {
      path: 'ledger',
      suggestion: `Stop all that use it, find the other names with \`find FOLDER -samefile ${file}\` and remove them. A copy is made with \`dpp-sync ledger backup\`, never with a hard link.`,
    },
  );
}

/** Whether a ledger has the tables of this version. */
export function isOfPresentVersion(db: Sqlite): boolean {
  return Number(db.pragma('user_version', { simple: true })) === PRESENT_VERSION;
}

/**
 * Sees that a ledger that was opened for reading has the tables of this version. Closes it where it has not.
 *
 * @throws Fault `ledger.older`
 */
export function assertPresentSchema(db: Sqlite, file: string): void {
  if (isOfPresentVersion(db)) return;
  db.close();
  throw fault('ledger.older', `The ledger ${file} was last written by an older version of dpp-sync.`, {
    path: 'ledger',
    suggestion:
      'Start the daemon, or run `dpp-sync sync`, with this version: that brings the ledger up to date. `dpp-sync ledger restore` does so with a backup.',
  });
}

function configure(db: Sqlite): void {
  db.pragma('journal_mode = WAL');
  // I8: a commit is on the disk before anybody hears of it. The library is compiled with NORMAL for WAL, which a power
  // cut can undo.
  db.pragma('synchronous = FULL');
  db.pragma('foreign_keys = ON');
  db.pragma('temp_store = MEMORY');
  db.pragma('cache_size = -16000');
  // Pages that are written often are moved from the log into the database once in 16 MB of log rather than four times.
  db.pragma('wal_autocheckpoint = 4000');
  // A reader that never ends could keep the log from being truncated; this bounds what stays behind on the disk.
  db.pragma(`journal_size_limit = ${64 * 1024 * 1024}`);
}

function bringUpToDate(db: Sqlite, { file, place }: { file: string; place: string }, options: OpenOptions): void {
  const version = Number(db.pragma('user_version', { simple: true }));
  if (version > PRESENT_VERSION) throw newerFault(file);
  if (version === PRESENT_VERSION) return;
  // The file's own time says when the ledger was written last once its log was moved into it.
  const isWhole = moveLog(db, 'TRUNCATE');
  if (version > 0) options.beforeUpgrade(db);
  upgrade(db, { place, isWhole }, options);
}

function newerFault(file: string): Error {
  return fault('ledger.newer', `The ledger ${file} was written by a newer version of dpp-sync.`, {
    path: 'ledger',
    suggestion: 'Install that version or a later one, or name another ledger file.',
  });
}

function openFault(file: string, error: unknown): unknown {
  if (error instanceof Fault) return error;
  if (systemCodeOf(error) === 'SQLITE_NOTADB') {
    return fault('ledger.unreadable', `The file ${file} is not a ledger: ${messageOf(error)}.`, {
      path: 'ledger',
      suggestion: 'Name another file, or put the right one back from a backup.',
      cause: error,
    });
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
