import { existsSync, readdirSync, renameSync, statSync, utimesSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { fault } from '../../domain/faults.ts';
import { markAsBackup, removePartial, syncFile } from '../file/copy.ts';
import { copyInto, damageOf, openFile, type Sqlite, tablesOf, versionOf } from '../store/database.ts';
import { readMeta } from '../store/meta.ts';

/** The copy of a ledger that is made before an upgrade. */
export interface UpgradeBackup {
  file: string;
  /** True if an interrupted upgrade of the same ledger has made the copy already. */
  isThere: boolean;
}

/** Two file times count as equal within this difference, because some file systems round to whole milliseconds. */
const SAME_MS = 2;

/**
 * Finds the copy that an interrupted upgrade of this ledger has made, or a free name for a new copy. A copy is used
 * again only if the ledger was not written since the copy was made. The copy then has the file time of the ledger, or
 * the same rows. The rows are compared if a process that reads the ledger keeps a part of it in the log: the file time
 * does not cover that part.
 *
 * @param isWhole true if the ledger's log was copied into its file: only then is the file's time that of the last
 *   write
 */
export function findUpgradeBackup(db: Sqlite, { place, isWhole }: { place: string; isWhole: boolean }): UpgradeBackup {
  const { mtime } = statSync(place);
  const prefix = `${basename(place)}.backup-before-upgrade-`;
  const folder = dirname(place);
  const copies = readdirSync(folder).filter((entry) => entry.startsWith(prefix));
  const found = copies.find((entry) => isCopyOf(db, join(folder, entry), isWhole ? mtime : null));
  if (found !== undefined) return { file: join(folder, found), isThere: true };
  const name = join(folder, `${prefix}${mtime.toISOString().replaceAll(/[-:]|\.\d+/g, '')}`);
  let file = name;
  for (let count = 2; existsSync(file); count += 1) file = `${name}-${count}`;
  return { file, isThere: false };
}

/**
 * Copies a ledger beside itself before an upgrade changes it. The copy is marked as a backup, so `ledger restore`
 * accepts it. It appears under its name only when it is complete, sound and synced. Nothing deletes it.
 *
 * @throws Fault `ledger.unreadable` where the copy is damaged, and the errors of SQLite and the system
 */
export function backUpBeforeUpgrade(
  db: Sqlite,
  { place, file, now }: { place: string; file: string; now: number },
): void {
  const { mtime, atime } = statSync(place);
  // All attempts use the same name, so the next attempt removes the file of a killed process.
  const partial = `${place}.backup-before-upgrade.part`;
  removePartial(partial);
  try {
    copyInto(db, partial);
    markAsBackup(partial, now);
    assertSound(partial);
    utimesSync(partial, atime, mtime);
    syncFile(partial);
    renameSync(partial, file);
    syncFile(dirname(file));
  } catch (error) {
    // A failed copy is as large as the ledger, so it must not stay on the disk.
    removePartial(partial);
    throw error;
  }
}

/**
 * True if a file is a complete copy of a ledger that was not written since the copy was made.
 *
 * @param writtenAt when the ledger was written last; null if that is unknown
 */
function isCopyOf(db: Sqlite, file: string, writtenAt: Date | null): boolean {
  let copy: Sqlite | null = null;
  try {
    const there = openFile(file, { readonly: true });
    copy = there;
    const isSame = ['id', 'epoch', 'generation'].every(
      (name) => readMeta({ db: there }, name) === readMeta({ db }, name),
    );
    if (!isSame || versionOf(copy) !== versionOf(db)) return false;
    const isSameTime = writtenAt !== null && Math.abs(statSync(file).mtimeMs - writtenAt.getTime()) <= SAME_MS;
    return isSameTime || hasSameRows(db, copy);
  } catch {
    // Another kind of file has this name.
    return false;
  } finally {
    copy?.close();
  }
}

function assertSound(file: string): void {
  const copy = openFile(file, { readonly: true });
  try {
    const found = damageOf(copy);
    if (found === null) return;
    throw fault('ledger.unreadable', `The ledger is damaged, and was not changed: ${found}.`, {
      path: 'ledger',
      suggestion:
        'Put a sound backup in its place: `dpp-sync ledger restore FILE`. `dpp-sync ledger verify FILE` shows whether a backup is sound.',
    });
  } finally {
    copy.close();
  }
}

/**
 * Returns whether two files have the same tables with the same rows, apart from the mark of a backup. Reads both files
 * once, row by row with bounded memory, and stops at the first difference.
 */
function hasSameRows(one: Sqlite, other: Sqlite): boolean {
  const tables = tablesOf(one);
  return isDeepStrictEqual(tables, tablesOf(other)) && tables.every(({ name }) => hasSameRowsIn(name, one, other));
}

function hasSameRowsIn(table: string, one: Sqlite, other: Sqlite): boolean {
  const [rows, otherRows] = [rowsOf(one, table), rowsOf(other, table)];
  try {
    for (;;) {
      const row = rows.next();
      const otherRow = otherRows.next();
      if (row.done === true || otherRow.done === true) return row.done === otherRow.done;
      if (!isDeepStrictEqual(row.value, otherRow.value)) return false;
    }
  } finally {
    // An iterator that is not at its end would keep its file open.
    rows.return?.();
    otherRows.return?.();
  }
}

/** Both files have the same tables and indexes, so SQLite returns their rows in the same order. */
function rowsOf(db: Sqlite, table: string): IterableIterator<unknown> {
  const condition = table === 'meta' ? "WHERE name <> 'backup_at'" : '';
  return db.prepare(`SELECT * FROM "${table}" ${condition}`).raw().safeIntegers().iterate();
}
