import { closeSync, existsSync, openSync, renameSync, rmSync, statSync, utimesSync } from 'node:fs';
import { dirname } from 'node:path';
import Database from 'better-sqlite3';
import { fault } from '../../domain/faults.ts';
import { markAsBackup, syncFile } from '../backup/put-in-place.ts';
import { createMeta } from './meta.ts';

/** Where the copy of a ledger before an upgrade is, or will be. */
export interface UpgradeBackup {
  file: string;
  /** True where an interrupted upgrade of the same ledger has made it. */
  isThere: boolean;
}

/** Two times of files that are no further apart are equal: not every file system keeps fractions of a millisecond. */
const SAME_MS = 2;

/**
 * Finds the copy that an interrupted upgrade of this ledger has made, or a free name for one. A copy has the time of its ledger. So it
 * is recognised, and a ledger that was written to since is copied again.
 *
 * @param isWhole whether the ledger's log was moved into its file: only then does the file's time say when it was written last
 */
export function findUpgradeBackup(
  db: Database.Database,
  { place, isWhole }: { place: string; isWhole: boolean },
): UpgradeBackup {
  const { mtime } = statSync(place);
  const stamp = mtime.toISOString().replaceAll(/[-:]|\.\d+/g, '');
  const name = `${place}.backup-before-upgrade-${stamp}`;
  let file = name;
  for (let count = 2; existsSync(file); count += 1) {
    if (isWhole && isCopyOf(db, file, mtime)) return { file, isThere: true };
    file = `${name}-${count}`;
  }
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

/** Whether a file is a complete copy of a ledger that nobody has written to since. */
function isCopyOf(db: Database.Database, file: string, mtime: Date): boolean {
  if (Math.abs(statSync(file).mtimeMs - mtime.getTime()) > SAME_MS) return false;
  let copy: Database.Database | null = null;
  try {
    copy = new Database(file, { readonly: true });
    const there = createMeta(copy);
    const here = createMeta(db);
    const isSame = ['id', 'epoch', 'generation'].every((name) => there.get(name) === here.get(name));
    return isSame && versionOf(copy) === versionOf(db);
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
