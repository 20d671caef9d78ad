import type Database from 'better-sqlite3';
import { separateOlderExports } from './older-exports.ts';

/** Called with the number of converted rows, and the number of all rows. */
export type UpgradeProgress = (done: number, all: number) => void;

/**
 * Changes the tables of one version into those of the next. A step runs inside the transaction of the upgrade. Foreign
 * keys are off and there are no views.
 */
export type UpgradeStep = (db: Database.Database, onProgress: UpgradeProgress) => void;

/** The version of the tables from which the steps begin. An older ledger is refused. */
export const FIRST_VERSION = 21;

/**
 * The steps from the first version to the present one. Each is in a file of this folder. A step that has landed is never
 * edited.
 */
export const STEPS: readonly UpgradeStep[] = [separateOlderExports];

/** The `user_version` of a ledger after these steps; by default of the tables that this code reads and writes. */
export function versionAfter(steps: readonly UpgradeStep[] = STEPS): number {
  return FIRST_VERSION + steps.length;
}
