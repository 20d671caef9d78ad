// Upgrades a ledger of an older version: first a backup, then all steps in one transaction. After a kill or a power cut
// at any moment the ledger is complete, in the former version or in the present one.

import { existsSync, readdirSync, renameSync, statSync, utimesSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { fault } from '../../domain/faults.ts';
import type { Clock } from '../../lib/clock.ts';
import { type Fault, systemCodeOf } from '../../lib/errors.ts';
import { freeBytesBeside } from '../file/file.ts';
import { readSchema } from '../schema.ts';
import {
  changeTables,
  copyInto,
  damageOf,
  markAsBackup,
  openFile,
  removePartial,
  replaceViews,
  type Sqlite,
  setVersion,
  syncFile,
  tablesOf,
  usedBytes,
  versionOf,
} from '../store/database.ts';
import { isTrouble } from '../store/ledger-fault.ts';
import { readMeta } from '../store/meta.ts';
import { FIRST_VERSION, STEPS, type UpgradeProgress, type UpgradeStep, versionAfter } from '../upgrade-steps.ts';

export interface UpgradeOptions {
  clock: Clock;
  /** False if the ledger is a copy itself, whose original is unchanged. */
  backsUp: boolean;
  /**
   * Reports in full sentences what happens. An upgrade of a large ledger takes a minute, in which the process does
   * nothing else.
   */
  report: (fields: object, message: string) => void;
  /** The steps from the first version on: those of the program, except in tests. */
  steps: readonly UpgradeStep[];
}

/** The time between two reports of the progress. */
const REPORT_MS = 5000;
/**
 * The size of the page cache. Keys come in no order, so a small cache would write the same index pages again and again.
 */
const CACHE_KB = 64_000;
/** Every upgrade needs this much room, however small the ledger is. */
const ROOM_LEAST = 1_000_000;
/**
 * The room for the new tables, as a share of the ledger: they are first in the log, and then in the file together with
 * the old tables.
 */
const ROOM_SHARE = 1.5;

/** Creates the tables of a new ledger, in one transaction. */
export function createTables(db: Sqlite): void {
  db.transaction(() => {
    db.exec(readSchema());
    setVersion(db, versionAfter(STEPS));
  }).immediate();
}

/**
 * Converts the tables of a ledger of an older version, from the first version on.
 *
 * @param place the ledger's real path
 * @param isWhole true if the ledger's log was copied into its file
 * @throws Fault `ledger.unwritable` if the disk has not enough room, or `ledger.unreadable`; the ledger is unchanged
 *   then
 */
export function upgrade(
  db: Sqlite,
  { place, isWhole }: { place: string; isWhole: boolean },
  { clock, backsUp, report, steps }: UpgradeOptions,
): void {
  if (isEmpty(db)) {
    runSteps(db, steps, () => {});
    return;
  }
  report(
    { ledger: place },
    `The ledger ${place} was last written by an older version of dpp-sync and is brought up to date.`,
  );
  const backup = backsUp ? findUpgradeBackup(db, { place, isWhole }) : null;
  let needed = roomFor(db, { copies: backup === null || backup.isThere ? 0 : 1 });
  try {
    assertRoom(place, needed);
    if (backup !== null) keepBackup(db, { place, backup, now: clock.now() }, report);
    needed = roomFor(db, { copies: 0 });
    const began = clock.ticks();
    let reported = began;
    runSteps(db, steps, (done, all) => {
      if (clock.ticks() - reported < REPORT_MS) return;
      reported = clock.ticks();
      report({ done, all }, `The ledger is being brought up to date: ${Math.floor((100 * done) / all)} %.`);
    });
    const ms = Math.round(clock.ticks() - began);
    report({ ms }, `The ledger is up to date, after ${Math.ceil(ms / 1000)} s.`);
  } catch (error) {
    throw isFull(error, place) ? roomFault(place, needed, error) : error;
  }
}

function keepBackup(
  db: Sqlite,
  { place, backup, now }: { place: string; backup: UpgradeBackup; now: number },
  report: UpgradeOptions['report'],
): void {
  const { file, isThere } = backup;
  if (!isThere) backUpBeforeUpgrade(db, { place, file, now });
  const made = isThere ? 'The interrupted upgrade has made a backup of the ledger' : 'A backup of the ledger was made';
  report(
    { backup: file },
    `${made}: ${file}. Nothing removes this file: remove it yourself when you no longer need it.`,
  );
}

/** Runs the steps that the ledger lacks, in one transaction. */
function runSteps(db: Sqlite, steps: readonly UpgradeStep[], onProgress: UpgradeProgress): void {
  const version = versionOf(db);
  changeTables(db, { cacheKb: CACHE_KB }, () => {
    // A step may change only the views for people, so every upgrade makes the views again.
    replaceViews(db, {
      change() {
        for (const step of steps.slice(version - FIRST_VERSION)) step(db, onProgress);
      },
      schema: readSchema(),
    });
    setVersion(db, versionAfter(steps));
  });
}

function isEmpty(db: Sqlite): boolean {
  return db.prepare('SELECT 1 FROM streams UNION ALL SELECT 1 FROM items LIMIT 1').get() === undefined;
}

/** The bytes that an upgrade needs beside the ledger, and those of a copy. */
function roomFor(db: Sqlite, { copies }: { copies: 0 | 1 }): number {
  return Math.ceil(ROOM_LEAST + (copies + ROOM_SHARE) * usedBytes(db));
}

/**
 * @throws Fault `ledger.unwritable` before anything was changed, where the system reports too little room on the disk
 */
function assertRoom(place: string, needed: number): void {
  const free = freeBytesBeside(place);
  if (free !== null && free < needed) throw roomFault(place, needed);
}

/**
 * True if an error means that the disk is full. If the disk is full when SQLite enlarges its shared memory, SQLite
 * reports a failing disk.
 */
function isFull(error: unknown, place: string): boolean {
  if (isTrouble(error, 'FULL') || systemCodeOf(error) === 'ENOSPC') return true;
  return isTrouble(error, 'IOERR') && (freeBytesBeside(place) ?? ROOM_LEAST) < ROOM_LEAST;
}

function roomFault(place: string, needed: number, cause?: unknown): Fault {
  const free = freeBytesBeside(place);
  const has = free === null ? '' : `, and ${megabytes(free)} are free`;
  return fault(
    'ledger.unwritable',
    `The ledger ${place} was last written by an older version of dpp-sync. To bring it up to date, its folder needs about ${megabytes(needed)} of free room${has}. The ledger was not changed.`,
    {
      path: 'ledger',
      suggestion: 'Make room on that disk, and run the command again. The older version can still use the ledger.',
      ...(cause === undefined ? {} : { cause }),
    },
  );
}

function megabytes(bytes: number): string {
  return `${Math.ceil(bytes / 1_000_000)} MB`;
}

/** The copy of a ledger that is made before an upgrade. */
interface UpgradeBackup {
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
function findUpgradeBackup(db: Sqlite, { place, isWhole }: { place: string; isWhole: boolean }): UpgradeBackup {
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
function backUpBeforeUpgrade(db: Sqlite, { place, file, now }: { place: string; file: string; now: number }): void {
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
