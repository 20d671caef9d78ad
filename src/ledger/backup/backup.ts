// Makes a backup of the ledger, in this thread or in a thread of its own (`backup-thread.ts`).

import { existsSync, renameSync, statSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { Worker } from 'node:worker_threads';
import { fault } from '../../domain/faults.ts';
import type { ItemKind } from '../../domain/item.ts';
import type { ItemCounts, ItemState } from '../../domain/ports/ledger/ledger-standing.ts';
import { Fault, fileReasonOf, sentence } from '../../lib/errors.ts';
import { ledgerPath, sidecarsOf } from '../file/file.ts';
import { assertNotGone } from '../file/identity.ts';
import { copyInto, damageOf, markAsBackup, openFile, removePartial, type Sqlite, syncFile } from '../store/database.ts';
import { ledgerFaultOf, limitFaultOf } from '../store/ledger-fault.ts';
import { isOfPresentVersion, openDatabaseReadOnly } from '../upgrade/open.ts';
import type { UpgradeOptions } from '../upgrade/upgrade.ts';
import { STEPS } from '../upgrade-steps.ts';
import { itemCounts } from '../views/counts.ts';

interface BackupRequest {
  file: string;
  /** The path of the backup. */
  to: string;
  /** Allows replacing an existing file. */
  force: boolean;
  now: number;
  /** The steps of upgrades; those of the program, except in tests. */
  steps?: UpgradeOptions['steps'];
  onStep: (step: 'copy' | 'verify') => void;
}

interface Backup {
  file: string;
  bytes: number;
  items: ItemCounts;
}

/**
 * Copies the ledger as it is at one moment. Another process may write the ledger meanwhile: the copy is made by one
 * statement, which reads one snapshot. (SQLite's page-by-page backup starts again whenever another process commits, so
 * it never ends beside a busy process.) The copy appears under its name only after it was verified.
 *
 * @throws Fault `usage`, `ledger.unreadable`, `ledger.newer`, `ledger.older`, `ledger.restored` if the ledger is gone, or
 *   `ledger.unwritable`
 */
export function backUpLedger({ file, to, force, now, steps = STEPS, onStep }: BackupRequest): Backup {
  const ledger = openDatabaseReadOnly(file, steps);
  if (!ledger) {
    assertNotGone(file);
    throw noLedgerFault(file);
  }
  const backup = resolve(to);
  const partial = join(dirname(backup), `.${basename(backup)}.part`);
  try {
    assertFree(backup, { file, force });
    // A killed attempt may have left this file behind.
    removePartial(partial);
    onStep('copy');
    copyInto(ledger, partial);
    markAsBackup(partial, now);
    onStep('verify');
    const items = countSound(partial, steps);
    syncFile(partial);
    assertFree(backup, { file, force });
    renameSync(partial, backup);
    syncFile(dirname(backup));
    return { file: backup, bytes: statSync(backup).size, items };
  } catch (error) {
    removePartial(partial);
    if (error instanceof Fault) throw error;
    const limit = limitFaultOf(error);
    if (limit !== null) throw limit;
    const damage = ledgerFaultOf(error);
    if (damage?.code === 'ledger.unreadable') throw damage;
    throw fault('ledger.unwritable', `The backup ${backup} cannot be made: ${fileReasonOf(error)}.`, {
      suggestion:
        'Name a file in a folder that exists, may be written and has room. `dpp-sync ledger verify` shows whether the ledger is sound.',
      cause: error,
    });
  } finally {
    ledger.close();
  }
}

/** The fault of a command that needs a ledger and finds none. */
export function noLedgerFault(file: string): Fault {
  return fault('ledger.unreadable', `There is no ledger at ${file}.`, {
    path: 'ledger',
    suggestion: 'Name another file, or run `dpp-sync sync` first.',
  });
}

function countSound(file: string, steps: UpgradeOptions['steps']): ItemCounts {
  const db = openFile(file, { readonly: true });
  try {
    const found = damageOf(db);
    if (found === null) {
      return isOfPresentVersion(db, steps) ? itemCounts({ db }) : countOlderItems(db);
    }
    throw fault('ledger.unreadable', `The copy is damaged, and the ledger may be damaged too: ${found}.`, {
      path: 'ledger',
      suggestion: 'Run `dpp-sync ledger verify`, and keep the backups that you have.',
    });
  } finally {
    db.close();
  }
}

/** Counts the items of a ledger of an older version with the view for people, whose columns are those of all versions. */
function countOlderItems(db: Sqlite): ItemCounts {
  const counts: ItemCounts = { product: {}, material: {}, bom_item: {} };
  const rows = db
    .prepare<[], { kind: ItemKind; state: ItemState; n: number }>(
      'SELECT kind, state, count(*) AS n FROM v_items GROUP BY kind, state',
    )
    .all();
  for (const { kind, state, n } of rows) counts[kind][state] = n;
  return counts;
}

const OTHER_FILE = 'Name another file for the backup.';

function assertFree(backup: string, { file, force }: { file: string; force: boolean }): void {
  if (!existsSync(backup)) return;
  const place = ledgerPath(file);
  if ([place, ...sidecarsOf(place)].includes(ledgerPath(backup))) {
    throw fault('usage', `${backup} is the ledger itself, or a part of it.`, { suggestion: OTHER_FILE });
  }
  if (!statSync(backup).isFile()) throw fault('usage', `${backup} is not a file.`, { suggestion: OTHER_FILE });
  if (force) return;
  throw fault('usage', `There is a file ${backup} already.`, {
    suggestion: 'Name another file, or replace it with --force.',
  });
}

/** The data with which the thread is started. */
export interface BackupTask {
  /** The ledger. */
  file: string;
  /** The path of the backup. */
  to: string;
  now: number;
}

/** The thread's first message. The thread may be ended once this message has arrived. */
export const LOADED = 'loaded';

export type BackupAnswer = { ok: true; file: string; bytes: number } | { ok: false; message: string };

/** SQLite copies even a large ledger outside this memory. */
const HEAP_MB_MAX = 256;

/**
 * Makes a backup in a separate thread, as `backUpLedger` does. After an abort the thread is ended, and its unfinished
 * file stays.
 *
 * @throws Fault `ledger.unwritable` if it cannot be made, `interrupted` after an abort
 */
export async function runBackup(task: BackupTask, abort: AbortSignal): Promise<{ file: string; bytes: number }> {
  if (abort.aborted) throw interruptedFault();
  const worker = new Worker(threadFile(), {
    workerData: task,
    // The thread needs no secret that the environment may have.
    env: {},
    resourceLimits: { maxOldGenerationSizeMb: HEAP_MB_MAX },
  });
  const { promise, resolve, reject } = Promise.withResolvers<BackupAnswer>();
  const loaded = Promise.withResolvers<void>();
  const onAbort = () => {
    reject(interruptedFault());
    // If a thread is ended while it loads SQLite, the whole process ends.
    void loaded.promise.then(() => worker.terminate());
  };
  abort.addEventListener('abort', onAbort, { once: true });
  worker.on('message', (message: typeof LOADED | BackupAnswer) => {
    if (message === LOADED) loaded.resolve();
    else resolve(message);
  });
  worker.once('error', reject);
  worker.once('exit', () => reject(failedFault('the thread that makes the backup has ended')));
  try {
    const answer = await promise;
    if (!answer.ok) throw failedFault(answer.message);
    return answer;
  } finally {
    abort.removeEventListener('abort', onAbort);
  }
}

/** The thread's file: a source in a checkout, and a file of the build in an installed package. */
function threadFile(): URL {
  const suffix = import.meta.url.endsWith('.ts') ? 'ts' : 'js';
  return new URL(`backup-thread.${suffix}`, import.meta.url);
}

function failedFault(reason: string): Error {
  return fault('ledger.unwritable', `The ledger could not be backed up: ${sentence(reason)}`, {
    path: 'backups',
    suggestion: 'Check that the folder of `backups` can be written and has room. The earlier backups are kept.',
  });
}

function interruptedFault(): Error {
  return fault('interrupted', 'The backup was stopped before it was complete.');
}
