import { existsSync, realpathSync } from 'node:fs';
import { fault } from '../../domain/faults.ts';
import type { Profile } from '../../domain/profile.ts';
import type { Clock } from '../../lib/clock.ts';
import { readHolder } from '../read-ledger.ts';
import { openDatabase, openDatabaseReadOnly } from '../store/database.ts';
import { createHighWater } from '../store/high-water.ts';
import { thisHolder } from '../store/holder.ts';
import { bindTarget, takeIdentity } from '../store/identity.ts';
import { ledgerPlace } from '../store/ledger-place.ts';
import { acquireLock } from '../store/lock.ts';
import { readMark } from '../store/mark.ts';
import { createMeta } from '../store/meta.ts';
import type { UpgradeOptions } from '../store/upgrade.ts';
import { acceptRestored, type ToLookUp } from './accept-restored.ts';
import { putInPlace } from './put-in-place.ts';

export interface RestoreRequest {
  /** The ledger's file. */
  file: string;
  /** The backup; null for the file that is in the ledger's place already. */
  from: string | null;
  target: string;
  profile: Profile;
  clock: Clock;
  /** Reports for people what happens to a backup of an older version. */
  report?: UpgradeOptions['report'];
}

/**
 * Puts a backup in the ledger's place and takes on what it does not know. After a crash on the way, the same again, or
 * without the backup, goes on.
 *
 * @returns what has to be looked up, and where the former ledger is kept
 * @throws Fault `ledger.held`, `ledger.target`, `ledger.unreadable`, `ledger.newer`, `ledger.linked` or
 *   `usage`
 */
export function restoreLedger({ file, from, target, profile, clock, report = () => {} }: RestoreRequest): {
  toLookUp: ToLookUp;
  kept: string | null;
} {
  const lock = acquireLock(file, () => holderOf(file));
  try {
    const place = ledgerPlace(file);
    const isInPlace = from === null || (existsSync(from) && realpathSync(from) === place);
    assertUsable(isInPlace ? place : from, target);
    const stamp = new Date(clock.now()).toISOString().replaceAll(/[-:]|\.\d+/g, '');
    const kept = isInPlace ? null : putInPlace(from, { place, keepAs: `${place}.before-${stamp}`, now: clock.now() });

    const generation = readMark(file)?.generation ?? 0;
    // A copy of a backup is brought up to date without another backup: the one that it was made of stays as it is.
    const db = openDatabase(place, { clock, report, backsUp: isInPlace });
    try {
      // A ledger that lost its first log has no identity yet.
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

/** Looks at the whole file before anything is changed. */
function assertUsable(file: string, target: string): void {
  const db = openDatabaseReadOnly(file);
  if (!db) {
    throw fault('usage', `${file} is no ledger, or there is none.`, {
      suggestion: 'Name a file that `dpp-sync ledger backup` has made, or a copy of a ledger.',
    });
  }
  try {
    bindTarget(createMeta(db).get('target') ?? target, target, file);
    const damage = db.pragma('quick_check(1)', { simple: true });
    if (damage !== 'ok') {
      throw fault('ledger.unreadable', `${file} is damaged: ${String(damage)}.`, {
        path: 'ledger',
        suggestion: 'Take another backup: `dpp-sync ledger verify FILE` says whether one is sound.',
      });
    }
  } finally {
    db.close();
  }
}

/** Whoever holds a damaged ledger cannot be read in it. */
function holderOf(file: string): ReturnType<typeof readHolder> {
  try {
    return readHolder(file);
  } catch {
    return null;
  }
}
