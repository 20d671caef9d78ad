// Upgrades a ledger of an older version: first a backup, then all steps in one transaction. After a kill or a power cut
// at any moment the ledger is complete, in the former version or in the present one.

import type Database from 'better-sqlite3';
import { fault } from '../../domain/faults.ts';
import type { Clock } from '../../lib/clock.ts';
import { type Fault, systemCodeOf } from '../../lib/errors.ts';
import { freeBytesBeside } from '../store/free-space.ts';
import { MIGRATIONS } from './steps/first-migrations.ts';
import { HELD_CREATES } from './steps/held-creates.ts';
import { IDENTITY_OF_STREAMS } from './steps/identity-of-streams.ts';
import { IMPORT_PLACES } from './steps/import-places.ts';
import { KEYS_OF_QUARANTINED_ROWS } from './steps/keys-of-quarantined-rows.ts';
import { removePaddingFromKeys } from './steps/keys-without-padding.ts';
import { LOOKUPS_AND_PARTS } from './steps/lookups-and-parts.ts';
import { LOST_RECORDS } from './steps/lost-records.ts';
import { type ConvertProgress, moveDeliveriesIntoItems } from './steps/move-deliveries-into-items.ts';
import { addShapes, PEOPLE } from './steps/people.ts';
import { RELEASED_ITEMS } from './steps/released-items.ts';
import { SNAPSHOTS_OF_STREAMS } from './steps/snapshots-of-streams.ts';
import { TIMES_OF_STREAMS } from './steps/times-of-streams.ts';
import { UNPROVEN_WRITES } from './steps/unproven-writes.ts';
import { WARNINGS_OF_READS } from './steps/warnings-of-reads.ts';
import { WIRE_FORMS } from './steps/wire-forms.ts';
import { backUpBeforeUpgrade, findUpgradeBackup, type UpgradeBackup } from './upgrade-backup.ts';
import { createViewsForPeople, dropViews } from './views-for-people.ts';

/** The `user_version` of the tables that this code reads and writes. */
export const PRESENT_VERSION: number = MIGRATIONS.length + 17;

export interface UpgradeOptions {
  clock: Clock;
  /** False if the ledger is a copy itself, whose original is unchanged. */
  backsUp: boolean;
  /**
   * Reports in full sentences what happens. An upgrade of a large ledger takes a minute, in which the process does
   * nothing else.
   */
  report: (fields: object, message: string) => void;
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

/**
 * Creates the tables of an empty ledger, or converts those of an older version.
 *
 * @param place the ledger's real path
 * @param isWhole true if the ledger's log was copied into its file
 * @throws Fault `ledger.unwritable` if the disk has not enough room, or `ledger.unreadable`; the ledger is unchanged
 *   then
 */
export function upgrade(
  db: Database.Database,
  { place, isWhole }: { place: string; isWhole: boolean },
  { clock, backsUp, report }: UpgradeOptions,
): void {
  const version = Number(db.pragma('user_version', { simple: true }));
  if (version === PRESENT_VERSION) return;
  if (version === 0 || isEmpty(db)) {
    runSteps(db, version, () => {});
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
    runSteps(db, version, (done, all) => {
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
  db: Database.Database,
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

/**
 * Runs all steps in one transaction. Foreign keys are off, because replacing a table would delete rows of other tables.
 */
function runSteps(db: Database.Database, version: number, onProgress: ConvertProgress): void {
  const cacheSize = Number(db.pragma('cache_size', { simple: true }));
  db.pragma('foreign_keys = OFF');
  db.pragma('legacy_alter_table = ON');
  db.pragma(`cache_size = -${CACHE_KB}`);
  try {
    db.transaction(() => {
      dropViews(db);
      for (const sql of MIGRATIONS.slice(version)) db.exec(sql);
      if (version <= MIGRATIONS.length) moveDeliveriesIntoItems(db, onProgress);
      else if (version === MIGRATIONS.length + 1) db.exec(IMPORT_PLACES);
      if (version <= MIGRATIONS.length + 2) db.exec(SNAPSHOTS_OF_STREAMS);
      if (version <= MIGRATIONS.length + 3) db.exec(LOOKUPS_AND_PARTS);
      if (version <= MIGRATIONS.length + 4) db.exec(RELEASED_ITEMS);
      if (version <= MIGRATIONS.length + 5) {
        addShapes(db);
        db.exec(PEOPLE);
      }
      if (version <= MIGRATIONS.length + 7) db.exec(KEYS_OF_QUARANTINED_ROWS);
      if (version <= MIGRATIONS.length + 8) db.exec(HELD_CREATES);
      if (version <= MIGRATIONS.length + 9) db.exec(WIRE_FORMS);
      if (version <= MIGRATIONS.length + 10) db.exec(UNPROVEN_WRITES);
      if (version <= MIGRATIONS.length + 11) removePaddingFromKeys(db);
      if (version <= MIGRATIONS.length + 12) db.exec(IDENTITY_OF_STREAMS);
      if (version <= MIGRATIONS.length + 13) db.exec(TIMES_OF_STREAMS);
      if (version <= MIGRATIONS.length + 14) db.exec(LOST_RECORDS);
      if (version <= MIGRATIONS.length + 15) db.exec(WARNINGS_OF_READS);
      // A step may change only the views for people, which every upgrade creates again.
      createViewsForPeople(db);
      db.pragma(`user_version = ${PRESENT_VERSION}`);
    }).immediate();
  } finally {
    db.pragma(`cache_size = ${cacheSize}`);
    db.pragma('legacy_alter_table = OFF');
    db.pragma('foreign_keys = ON');
  }
}

function isEmpty(db: Database.Database): boolean {
  return db.prepare('SELECT 1 FROM streams UNION ALL SELECT 1 FROM items LIMIT 1').get() === undefined;
}

/** The bytes that an upgrade needs beside the ledger, and those of a copy. */
function roomFor(db: Database.Database, { copies }: { copies: 0 | 1 }): number {
  const [pages, free, size] = ['page_count', 'freelist_count', 'page_size'].map((name) =>
    Number(db.pragma(name, { simple: true })),
  ) as [number, number, number];
  const bytes = (pages - free) * size;
  return Math.ceil(ROOM_LEAST + (copies + ROOM_SHARE) * bytes);
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
  const code = systemCodeOf(error) ?? '';
  if (code === 'SQLITE_FULL' || code === 'ENOSPC') return true;
  return code.startsWith('SQLITE_IOERR') && (freeBytesBeside(place) ?? ROOM_LEAST) < ROOM_LEAST;
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
