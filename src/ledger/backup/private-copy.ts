// Makes a private copy of a ledger. A process of its own (`copy-process.ts`) copies the files.

import { execFile } from 'node:child_process';
import { existsSync, statSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { fault } from '../../domain/faults.ts';
import { type Fault, fileReasonOf, systemCodeOf } from '../../lib/errors.ts';
import { makeTemporaryFolder } from '../../lib/files.ts';
import { freeBytesBeside, ledgerPath, sidecarsOf } from '../file/file.ts';
import { assertNotGone, bindTarget } from '../file/identity.ts';
import { copyInto, makeUnsynced, whileReading } from '../store/database.ts';
import { ledgerFaultOf, limitFaultOf, MAKE_ROOM } from '../store/ledger-fault.ts';
import { readMeta } from '../store/meta.ts';
import { openToRead } from '../upgrade/open.ts';

/** A ledger that belongs to this process alone, and that nobody needs after it. */
export interface PrivateCopy {
  /** The file of the copy. It does not exist if there is no ledger yet. */
  file: string;
  remove(): Promise<void>;
}

/** What work on the copy may add to it, as a share of its size. */
const GROWTH = 0.25;

/**
 * Copies the ledger as it is at one moment, also beside a process that writes it. Nothing is written to the ledger, and this
 * process can work meanwhile.
 *
 * @param target the base URL of the API to which the ledger has to belong
 * @throws Fault `ledger.target`, `ledger.unreadable`, `ledger.newer`, `ledger.older`, `ledger.restored`, `ledger.network`, or
 *   `ledger.unwritable` if the copy cannot be written
 */
export async function copyLedger(file: string, target: string): Promise<PrivateCopy> {
  const isThere = existsSync(file) && statSync(file).size > 0;
  if (!isThere) assertNotGone(file);
  // A large copy does not fit into a folder for temporary files that is in memory.
  const parent = isThere ? dirname(ledgerPath(file)) : tmpdir();
  const ledger = openToRead(file);
  try {
    if (ledger !== null) {
      bindTarget(readMeta({ db: ledger }, 'target') ?? target, target, file);
      assertRoomForCopy(file);
    }
    const folder = await makeTemporaryFolder(parent, 'plan').catch((error: unknown) => {
      throw folderFault(parent, error);
    });
    const copy = { file: join(folder, 'ledger.db'), remove: () => rm(folder, { recursive: true, force: true }) };
    try {
      if (ledger !== null) {
        const copied = await whileReading(ledger, () => copyFilesApart(file, copy.file));
        // SQLite's own copy takes longer, and this thread does nothing else meanwhile.
        if (!copied) copyInto(ledger, copy.file);
        // A backup may be planned with, because nothing is sent.
        makeUnsynced(copy.file);
      }
      return copy;
    } catch (error) {
      await copy.remove();
      throw error;
    }
  } catch (error) {
    throw ledgerFaultOf(error) ?? error;
  } finally {
    ledger?.close();
  }
}

/** How the copying process has ended. */
export interface CopyEnd {
  /** False if there is no copy: after an error, or if the log was begun again during each attempt. */
  copied: boolean;
  error?: { code: string; message: string };
}

const run = promisify(execFile);

/** Copies the files in a process of its own. False if they were changed too often meanwhile. */
async function copyFilesApart(file: string, to: string): Promise<boolean> {
  // The process needs no secret that the environment may have.
  const ended = run(process.execPath, [copyProcess(), ledgerPath(file), to], { env: {} });
  const { stdout } = await ended.catch((error: unknown) => {
    throw stoppedFault(error) ?? error;
  });
  const { copied, error } = JSON.parse(stdout) as CopyEnd;
  if (error !== undefined) throw copyFault(Object.assign(new Error(error.message), { code: error.code }));
  return copied;
}

/** The fault of a process that a signal has ended, such as that of Ctrl-C. */
function stoppedFault(error: unknown): Fault | null {
  const isStopped = error instanceof Error && 'signal' in error && typeof error.signal === 'string';
  if (!isStopped) return null;
  return fault('interrupted', 'The copy of the ledger was stopped before it was complete.', { cause: error });
}

/** The file of the process: a source in a checkout, and a file of the build in an installed package. */
function copyProcess(): string {
  const suffix = import.meta.url.endsWith('.ts') ? 'ts' : 'js';
  return fileURLToPath(new URL(`copy-process.${suffix}`, import.meta.url));
}

/**
 * Checks that the disk of a ledger has room for a private copy of it.
 *
 * @throws Fault `ledger.unwritable`
 */
export function assertRoomForCopy(file: string): void {
  const parts = [ledgerPath(file), ...sidecarsOf(ledgerPath(file))];
  const bytes = parts.reduce((sum, part) => sum + (statSync(part, { throwIfNoEntry: false })?.size ?? 0), 0);
  const needed = bytes * (1 + GROWTH);
  const free = freeBytesBeside(file);
  if (free === null || free >= needed) return;
  const megabytes = (bytes: number): string => `${Math.ceil(bytes / 1e6).toLocaleString('en')} MB`;
  throw fault(
    'ledger.unwritable',
    `The disk of the ledger has ${megabytes(free)} left, and a copy of the ledger needs ${megabytes(needed)}.`,
    { path: 'ledger', suggestion: MAKE_ROOM },
  );
}

function folderFault(folder: string, cause: unknown): Fault {
  const limit = limitFaultOf(cause);
  if (limit !== null) return limit;
  return fault(
    'ledger.unwritable',
    `The ledger cannot be copied: ${folder} cannot be written: ${fileReasonOf(cause)}.`,
    {
      path: 'ledger',
      suggestion:
        'Run the command as a user who may write to this folder. Or make a copy elsewhere, `dpp-sync ledger backup FILE`, and name it as `ledger` in a config of its own.',
      cause,
    },
  );
}

function copyFault(cause: Error): Fault {
  const limit = limitFaultOf(cause);
  if (limit !== null) return limit;
  const isFull = ['ENOSPC', 'EDQUOT'].includes(systemCodeOf(cause) ?? '');
  return fault('ledger.unwritable', `The ledger cannot be copied: ${fileReasonOf(cause)}.`, {
    path: 'ledger',
    suggestion: isFull
      ? MAKE_ROOM
      : 'Check whether the disk is failing, or is a network share that is no longer there.',
    cause,
  });
}
