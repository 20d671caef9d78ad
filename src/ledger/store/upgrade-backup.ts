import { closeSync, existsSync, openSync, readdirSync, renameSync, rmSync, statSync, utimesSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import Database from 'better-sqlite3';
import { fault } from '../../domain/faults.ts';
import { markAsBackup, syncFile } from '../backup/put-in-place.ts';
import { createMeta } from './meta.ts';
import { hasSameRows } from './same-rows.ts';

/** Where the copy of a ledger before an upgrade is, or will be. */
export interface UpgradeBackup {
  file: string;
  /** True where an interrupted upgrade of the same ledger has made it. */
  isThere: boolean;
}

/** Two times of files that are no further apart are equal: not every file system keeps fractions of a millisecond. */
const SAME_MS = 2;

/**
 * Finds the copy that an interrupted upgrade of this ledger has made, or a free name for one. A copy is used again only if nobody has
 * written to the ledger since: it has the time of its ledger then, or else the same rows. The rows have to be compared where a process
 * that reads the ledger keeps a part of it in the log, since the file's time says nothing about that part.
 *
 * @param isWhole whether the ledger's log was moved into its file: only then does the file's time say when it was written last
 */
export function findUpgradeBackup(
  db: Database.Database,
  { place, isWhole }: { place: string; isWhole: boolean },
): UpgradeBackup {
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
 * Copies a ledger beside itself before an upgrade changes it. The copy is marked as a backup, and `ledger restore` takes it. It
 * appears under its name when it is complete, sound and on the disk. Nothing removes it.
 *
 * @throws Fault `ledger.unreadable` where the copy is damaged, and what SQLite and the system throw
 */
export function backUpBeforeUpgrade(
  db: Database.Database,
  { place, file, now }: { place: string; file: string; now: number },
): void {
  const { mtime, atime } = statSync(place);
  // One name for all attempts, so that what a killed process has left behind is removed by the next one.
  const partial = `${place}.backup-before-upgrade.part`;
  removePartial(partial);
  try {
    closeSync(openSync(partial, 'wx', 0o600));
    db.prepare('VACUUM INTO ?').run(partial);
    markAsBackup(partial, now);
    assertSound(partial);
    utimesSync(partial, atime, mtime);
    syncFile(partial);
    renameSync(partial, file);
    syncFile(dirname(file));
  } catch (error) {
    // A copy as large as the ledger must not be what fills the disk.
    removePartial(partial);
    throw error;
  }
}

/**
 * Whether a file is a complete copy of a ledger that nobody has written to since.
 *
 * @param writtenAt when the ledger was written last; null where nobody knows
 */
function isCopyOf(db: Database.Database, file: string, writtenAt: Date | null): boolean {
  let copy: Database.Database | null = null;
  try {
    copy = new Database(file, { readonly: true });
    const there = createMeta(copy);
    const here = createMeta(db);
    const isSame = ['id', 'epoch', 'generation'].every((name) => there.get(name) === here.get(name));
    if (!isSame || versionOf(copy) !== versionOf(db)) return false;
    const isSameTime = writtenAt !== null && Math.abs(statSync(file).mtimeMs - writtenAt.getTime()) <= SAME_MS;
    return isSameTime || hasSameRows(db, copy);
  } catch {
    // Something else has the name.
    return false;
  } finally {
    copy?.close();
  }
}

function versionOf(db: Database.Database): number {
  return Number(db.pragma('user_version', { simple: true }));
}

function assertSound(file: string): void {
  const copy = new Database(file, { readonly: true });
  try {
    const found = copy.pragma('quick_check(1)', { simple: true });
    if (found === 'ok') return;
    throw fault('ledger.unreadable', `The ledger is damaged, and was not changed: ${String(found)}.`, {
      path: 'ledger',
      suggestion:
        'Put a sound backup in its place: `dpp-sync ledger restore FILE`. `dpp-sync ledger verify FILE` says whether one is sound.',
    });
  } finally {
    copy.close();
  }
}

function removePartial(partial: string): void {
  for (const suffix of ['', '-journal', '-wal', '-shm']) rmSync(`${partial}${suffix}`, { force: true });
}
