// The database: SQLite's settings, its version, and its log. Everything that names SQLite's own words is in this folder.

import Database from 'better-sqlite3';
import { fault } from '../../domain/faults.ts';

export type Sqlite = Database.Database;

/** Loads SQLite's library. Otherwise opening the first database of a thread would load it. */
export function loadSqlite(): void {
  new Database(':memory:').close();
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

/** Sets up a database that this process writes. */
export function configure(db: Sqlite): void {
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

/**
 * The first version in which a commit and a copy of the log at the same moment cannot damage the database:
 * https://sqlite.org/wal.html#walresetbug. The ledger is used in this way: the process that writes copies the log, and
 * reads come from other threads and processes.
 */
const FIXED = [3, 51, 3] as const;

/**
 * Refuses to write a ledger with an older SQLite, such as one from a copy of better-sqlite3 that was built otherwise.
 *
 * @throws Fault `ledger.sqlite`
 */
export function assertFixedSqlite(db: Sqlite): void {
  const version = String(db.prepare('SELECT sqlite_version()').pluck().get());
  const parts = version.split('.').map(Number);
  const at = FIXED.findIndex((part, index) => parts[index] !== part);
  if (at === -1 || (parts[at] ?? 0) > (FIXED[at] ?? 0)) return;
  throw fault(
    'ledger.sqlite',
    `SQLite ${version} can damage the ledger. The first fixed version is ${FIXED.join('.')}.`,
    {
      path: 'ledger',
      suggestion:
        'Install dpp-sync again with its own better-sqlite3, which brings a fixed SQLite: `npm ls better-sqlite3` shows which one is installed.',
    },
  );
}
