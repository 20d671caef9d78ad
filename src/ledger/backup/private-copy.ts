import { existsSync, statSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fault } from '../../domain/faults.ts';
import { type Fault, fileReasonOf } from '../../lib/errors.ts';
import { makeTemporaryFolder } from '../../lib/temporary-folder.ts';
import { freeBytesBeside, ledgerPath } from '../file/file.ts';
import { assertNotGone, bindTarget } from '../file/identity.ts';
import { copyPages, unmarkBackup } from '../store/database.ts';
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
 * Copies the ledger as it is at one moment, also beside a process that writes it. Nothing is written to the ledger.
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
      assertRoom(file);
    }
    const folder = await makeTemporaryFolder(parent, 'plan').catch((error: unknown) => {
      throw folderFault(parent, error);
    });
    const copy = { file: join(folder, 'ledger.db'), remove: () => rm(folder, { recursive: true, force: true }) };
    try {
      if (ledger !== null) {
        await copyPages(ledger, copy.file);
        // A backup may be planned with, because nothing is sent.
        unmarkBackup(copy.file);
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

function assertRoom(file: string): void {
  const needed = statSync(file).size * (1 + GROWTH);
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
