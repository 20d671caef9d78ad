// Upgrades a ledger of an older version: first a backup, then all steps in one transaction. After a kill or a power cut
// at any moment the ledger is complete, in the former version or in the present one.

import { fault } from '../../domain/faults.ts';
import type { Clock } from '../../lib/clock.ts';
import { type Fault, systemCodeOf } from '../../lib/errors.ts';
import { freeBytesBeside } from '../file/file.ts';
import { FIRST_VERSION, readSchema, STEPS, type UpgradeProgress, type UpgradeStep, versionAfter } from '../schema.ts';
import { changeTables, replaceViews, type Sqlite, setVersion, usedBytes, versionOf } from '../store/database.ts';
import { isTrouble } from '../store/ledger-fault.ts';
import { backUpBeforeUpgrade, findUpgradeBackup, type UpgradeBackup } from './upgrade-backup.ts';

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
