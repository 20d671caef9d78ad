import { existsSync, realpathSync } from 'node:fs';
import { fault } from '../../domain/faults.ts';
import type { Profile } from '../../domain/profile.ts';
import type { Clock } from '../../lib/clock.ts';
import { createHighWater } from '../identity/high-water.ts';
import { bindTarget, takeIdentity } from '../identity/identity.ts';
import { readMark } from '../identity/mark.ts';
import { readHolder } from '../read-ledger.ts';
import { openDatabase, openDatabaseReadOnly } from '../store/database.ts';
import { thisHolder } from '../store/holder.ts';
import { ledgerPath } from '../store/ledger-path.ts';
import { acquireLock } from '../store/lock.ts';
import { readMeta } from '../store/meta.ts';
import { STEPS } from '../upgrade/steps/steps.ts';
import type { UpgradeOptions } from '../upgrade/upgrade.ts';
import { acceptRestored, type ToLookUp } from './accept-restored.ts';
import { putInPlace } from './put-in-place.ts';

export interface RestoreRequest {
  file: string;
  /** The backup's path; null to accept the file that is at the ledger's path already. */
  from: string | null;
  target: string;
  profile: Profile;
  clock: Clock;
  /** Reports in full sentences how a backup of an older version is upgraded. */
  report?: UpgradeOptions['report'];
  /** The steps of upgrades; those of the program, except in tests. */
  steps?: UpgradeOptions['steps'];
}

/**
 * Puts a backup in the ledger's place and accepts it. After a crash, the same call completes the restore, with or
 * without `from`.
 *
 * @returns which deliveries have to be looked up, and the path of the former ledger
 * @throws Fault `ledger.held`, `ledger.target`, `ledger.unreadable`, `ledger.newer`, `ledger.older`, `ledger.linked` or
 *   `usage`
 */
export function restoreLedger({
  file,
  from,
  target,
  profile,
  clock,
  report = () => {},
  steps = STEPS,
}: RestoreRequest): {
  toLookUp: ToLookUp;
  kept: string | null;
} {
  const lock = acquireLock(file, () => holderOf(file));
  try {
    const place = ledgerPath(file);
    const isInPlace = from === null || (existsSync(from) && realpathSync(from) === place);
    assertUsable(isInPlace ? place : from, target, steps);
    const stamp = new Date(clock.now()).toISOString().replaceAll(/[-:]|\.\d+/g, '');
    const kept = isInPlace ? null : putInPlace(from, { place, keepAs: `${place}.before-${stamp}`, now: clock.now() });

    const generation = readMark(file)?.generation ?? 0;
    // An upgrade of a copied backup needs no further backup: the original is unchanged.
    const db = openDatabase(place, { clock, report, steps, backsUp: isInPlace });
    try {
      // A ledger that lost its log before the first checkpoint has no identity yet.
      const holder = thisHolder({ command: 'ledger restore', now: clock.now() });
      const { id } = takeIdentity(db, { file, target, holder });
      const toLookUp = acceptRestored(db, { target, profile, clock, generation });
      createHighWater(db, file, id).close();
      return { toLookUp, kept };
    } finally {
      db.close();
    }
  } finally {
    lock.release();
  }
}

/** Checks the whole file before anything is changed. */
function assertUsable(file: string, target: string, steps: UpgradeOptions['steps']): void {
  const db = openDatabaseReadOnly(file, steps);
  if (!db) {
    throw fault('usage', `${file} is not a ledger, or does not exist.`, {
      suggestion: 'Name a file that `dpp-sync ledger backup` has made, or a copy of a ledger.',
    });
  }
  try {
    bindTarget(readMeta({ db }, 'target') ?? target, target, file);
    const damage = db.pragma('quick_check(1)', { simple: true });
    if (damage !== 'ok') {
      throw fault('ledger.unreadable', `${file} is damaged: ${String(damage)}.`, {
        path: 'ledger',
        suggestion: 'Name another backup: `dpp-sync ledger verify FILE` shows whether a backup is sound.',
      });
    }
  } finally {
    db.close();
  }
}

/** The process that has the lock, or null if the ledger is too damaged to name it. */
function holderOf(file: string): ReturnType<typeof readHolder> {
  try {
    return readHolder(file);
  } catch {
    return null;
  }
}
