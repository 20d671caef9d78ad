// The steps that give an older ledger the present tables.

import type { Sqlite } from './store/database.ts';

/** Called with the number of converted rows, and the number of all rows. */
export type UpgradeProgress = (done: number, all: number) => void;

/**
 * Changes the tables of one version into those of the next. A step runs inside the transaction of the upgrade. Foreign
 * keys are off and there are no views.
 */
export type UpgradeStep = (db: Sqlite, onProgress: UpgradeProgress) => void;

/** The version of the tables from which the steps begin. An older ledger is refused. */
export const FIRST_VERSION = 21;

/**
 * The steps from the first version to the present one. A step that has landed is never edited.
 */
export const STEPS: readonly UpgradeStep[] = [separateOlderExports, noteHeldMaterials, addDecisionsAndActivity];

/** The `user_version` of a ledger after these steps; by default of the tables that this code reads and writes. */
export function versionAfter(steps: readonly UpgradeStep[] = STEPS): number {
  return FIRST_VERSION + steps.length;
}

/** Moves the exports that the guard holds because of their age into a table of their own, and adds the times of files. */
function separateOlderExports(db: Sqlite): void {
  db.exec(`
    CREATE TABLE older_exports (
      stream_id INTEGER PRIMARY KEY REFERENCES streams (id),
      run_id INTEGER NOT NULL,
      since INTEGER NOT NULL,
      as_of INTEGER,
      missing INTEGER NOT NULL,
      read INTEGER NOT NULL,
      message TEXT NOT NULL,
      accepted_at INTEGER
    ) STRICT;
    INSERT INTO older_exports (stream_id, run_id, since, missing, read, message, accepted_at)
      SELECT stream_id, run_id, since, missing, read, message, accepted_at FROM guarded_reads WHERE missing = 0;
    DELETE FROM guarded_reads WHERE missing = 0;
    ALTER TABLE streams ADD COLUMN read_files TEXT`);
}

/** Adds the materials that quarantined records make. They are known of a record once it was mapped again. */
function noteHeldMaterials(db: Sqlite): void {
  db.exec(`
    CREATE TABLE held_materials (
      record_id INTEGER NOT NULL REFERENCES records (id) ON DELETE CASCADE,
      material_key TEXT NOT NULL,
      CONSTRAINT held_materials_key PRIMARY KEY (record_id, material_key)
    ) STRICT, WITHOUT ROWID`);
}

/**
 * Adds the passwords that users have chosen themselves, the tasks that they have started, what was done in each hour, the passports by
 * state on each day, which streams have lost all rows, and who has refused an export that the guard holds.
 */
function addDecisionsAndActivity(db: Sqlite): void {
  db.exec(`
    CREATE TABLE passwords (
      name TEXT PRIMARY KEY,
      hash TEXT NOT NULL,
      replaces TEXT NOT NULL,
      set_at INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE activity_hours (
      hour INTEGER PRIMARY KEY,
      rows_read INTEGER NOT NULL,
      requests INTEGER NOT NULL,
      refused INTEGER NOT NULL,
      delivered INTEGER NOT NULL,
      failed INTEGER NOT NULL,
      latencies TEXT NOT NULL
    ) STRICT;
    CREATE TABLE passport_days (
      day INTEGER NOT NULL,
      state TEXT NOT NULL,
      count INTEGER NOT NULL,
      CONSTRAINT passport_days_key PRIMARY KEY (day, state)
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE tasks (
      number INTEGER PRIMARY KEY AUTOINCREMENT,
      id TEXT NOT NULL,
      name TEXT NOT NULL,
      title TEXT NOT NULL,
      who TEXT NOT NULL,
      started_at INTEGER NOT NULL,
      ended_at INTEGER,
      outcome TEXT,
      version TEXT NOT NULL,
      CONSTRAINT tasks_id UNIQUE (id)
    ) STRICT;
    ALTER TABLE streams ADD COLUMN emptied INTEGER`);
  for (const table of ['guarded_reads', 'older_exports', 'guarded_items']) {
    db.exec(`ALTER TABLE ${table} ADD COLUMN refused_at INTEGER; ALTER TABLE ${table} ADD COLUMN refused_by TEXT`);
  }
}
