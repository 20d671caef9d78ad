// The database: how it is opened and set up, its version, its size, its log and its copies. SQLite's own statements and the
// names of its own tables are only in this folder.

import { closeSync, fsyncSync, openSync, rmSync } from 'node:fs';
import Database from 'better-sqlite3';
import { fault } from '../../domain/faults.ts';
import { readOrWriteMeta, removeMeta } from './meta.ts';
import { inTransaction } from './tx.ts';

export type Sqlite = Database.Database;

/** Opens a file without any setting. */
export function openFile(file: string, options: { readonly?: boolean; timeout?: number } = {}): Sqlite {
  return new Database(file, options);
}

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

/** Leaves the sync of each commit to the caller. SQLite still syncs the log before it copies pages into the database. */
export function leaveSyncToCaller(db: Sqlite): void {
  db.pragma('synchronous = NORMAL');
}

/** Syncs nothing, so that a power cut may damage the file. For a file that nobody needs after this process. */
export function neverSync(db: Sqlite): void {
  db.pragma('synchronous = OFF');
}

/** Has a database without a log beside it, so that it is one file. */
function makeOneFile(db: Sqlite): void {
  db.pragma('journal_mode = DELETE');
}

/** The version of the tables; 0 for an empty database. */
export function versionOf(db: Sqlite): number {
  return Number(db.pragma('user_version', { simple: true }));
}

export function setVersion(db: Sqlite, version: number): void {
  db.pragma(`user_version = ${version}`);
}

/** A number that changes when another connection has committed. */
export function changeCountOf(db: Sqlite): number {
  return Number(db.pragma('data_version', { simple: true }));
}

/** The version of SQLite itself. */
export function sqliteVersion(db: Sqlite): string {
  return String(db.prepare('SELECT sqlite_version()').pluck().get());
}

/** The bytes of the pages that have content. */
export function usedBytes(db: Sqlite): number {
  const [pages = 0, free = 0, size = 0] = ['page_count', 'freelist_count', 'page_size'].map((name) =>
    Number(db.pragma(name, { simple: true })),
  );
  return (pages - free) * size;
}

/** The tables with the statements that made them, by name. */
export function tablesOf(db: Sqlite): { name: string; sql: string | null }[] {
  return db
    .prepare<[], { name: string; sql: string | null }>(
      "SELECT name, sql FROM sqlite_schema WHERE type = 'table' ORDER BY name",
    )
    .all();
}

/** Drops the views and makes those of another schema. SQLite refuses to drop a column that a view names. */
export function replaceViews(db: Sqlite, { change, schema }: { change: () => void; schema: string }): void {
  const names = db.prepare<[], string>("SELECT name FROM sqlite_schema WHERE type = 'view'").pluck();
  for (const name of names.all()) db.exec(`DROP VIEW "${name}"`);
  change();
  const present = openFile(':memory:');
  try {
    present.exec(schema);
    const views = present.prepare<[], string>("SELECT sql FROM sqlite_schema WHERE type = 'view' ORDER BY rowid");
    for (const view of views.pluck().all()) db.exec(view);
  } finally {
    present.close();
  }
}

/**
 * Changes tables in one transaction. Foreign keys are off, because replacing a table would delete rows of other tables.
 *
 * @param cacheKb the size of the page cache meanwhile
 */
export function changeTables(db: Sqlite, { cacheKb }: { cacheKb: number }, change: () => void): void {
  const cacheSize = Number(db.pragma('cache_size', { simple: true }));
  db.pragma('foreign_keys = OFF');
  db.pragma('legacy_alter_table = ON');
  db.pragma(`cache_size = -${cacheKb}`);
  try {
    db.transaction(change).immediate();
  } finally {
    db.pragma(`cache_size = ${cacheSize}`);
    db.pragma('legacy_alter_table = OFF');
    db.pragma('foreign_keys = ON');
  }
}

/** Copies a database as it is at one moment into a new file, which only its owner can open. */
export function copyInto(db: Sqlite, file: string): void {
  closeSync(openSync(file, 'wx', 0o600));
  db.prepare('VACUUM INTO ?').run(file);
}

/**
 * Reads the database from before the work until after it, so that no other process replaces its files, and few begin its log again.
 */
export async function whileReading<Result>(db: Sqlite, work: () => Promise<Result>): Promise<Result> {
  db.exec('BEGIN');
  try {
    // SQLite takes its locks with the first read.
    versionOf(db);
    return await work();
  } finally {
    db.exec('COMMIT');
  }
}

/** The first damage of the pages; null if they are sound. */
export function damageOf(db: Sqlite): string | null {
  const found = db.pragma('quick_check(1)', { simple: true });
  return found === 'ok' ? null : String(found);
}

/** The damage of pages and indexes. Some damage is thrown as an error. */
export function allDamageOf(db: Sqlite, { limit }: { limit: number }): string[] {
  const rows = db.pragma(`integrity_check(${limit})`) as { integrity_check: string }[];
  return rows.map((row) => row.integrity_check).filter((found) => found !== 'ok');
}

/** The rows that refer to a row which does not exist. */
export function orphansOf(db: Sqlite): { table: string; rowid: number | null; parent: string }[] {
  return db.pragma('foreign_key_check') as { table: string; rowid: number | null; parent: string }[];
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
  const version = sqliteVersion(db);
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

// Copies of a ledger: made step by step under another name, marked as a backup, and synced.

/** Removes a file that is made step by step, with the files that SQLite makes beside it, as a killed process leaves them. */
export function removePartial(partial: string): void {
  for (const suffix of ['', '-wal', '-shm', '-journal']) rmSync(`${partial}${suffix}`, { force: true });
}

/** Marks a file as a backup, unless it is marked already. Afterwards the file has no log beside it. */
export function markAsBackup(file: string, now: number): void {
  const db = openFile(file);
  try {
    makeOneFile(db);
    inTransaction({ db }, (tx) => readOrWriteMeta(tx, 'backup_at', () => new Date(now).toISOString()));
  } finally {
    db.close();
  }
}

/** Makes a copy a database that can be written without syncs, and takes the mark of a backup from it. */
export function makeUnsynced(file: string): void {
  const db = openFile(file);
  try {
    neverSync(db);
    // The mode stays in the file. Whoever sets it with syncs would sync the whole file.
    db.pragma('journal_mode = WAL');
    inTransaction({ db }, (tx) => removeMeta(tx, 'backup_at'));
  } finally {
    db.close();
  }
}

/** Writes a file, or the names in a folder, to the disk (fsync). */
export function syncFile(path: string): void {
  const handle = openSync(path, 'r');
  try {
    fsyncSync(handle);
  } finally {
    closeSync(handle);
  }
}
