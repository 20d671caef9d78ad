import { accessSync, chmodSync, closeSync, constants, lstatSync, openSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { fault } from '../../domain/faults.ts';
import { Fault, messageOf, systemCodeOf } from '../../lib/errors.ts';
import { limitFaultOf } from './ledger-fault.ts';

/** Read and write for the owner, nothing for anybody else. */
const PRIVATE = 0o600;
const OF_OTHERS = 0o077;

/**
 * Makes a file that only its owner can open. Creates a missing file, and tightens the mode of an existing one. Other
 * users must not open the file even for reading, because they could lock it.
 *
 * An existing file is never opened here, because a process that closes any handle of a file loses all its locks on that
 * file.
 *
 * @throws Fault `ledger.unwritable` when this process may not use the file, or the path does not name a regular file
 */
export function makePrivateFile(path: string): void {
  try {
    const stats = lstatSync(path, { throwIfNoEntry: false });
    if (stats === undefined) closeSync(openSync(path, 'wx', PRIVATE));
    else if (stats.isFile()) tighten(path, stats.mode);
    else throw notAFileFault(path);
  } catch (error) {
    throw accessFault(path, error);
  }
}

/**
 * Refuses a file that this process may not read and write, without changing it.
 *
 * @throws Fault `ledger.unwritable`
 */
export function assertUsable(path: string): void {
  try {
    accessSync(path, constants.R_OK | constants.W_OK);
  } catch (error) {
    throw accessFault(path, error);
  }
}

/**
 * Tightens the mode of a file. Does nothing if the file is missing.
 *
 * @throws Fault `ledger.unwritable` when this process may not use the file
 */
export function tightenFile(path: string): void {
  try {
    const stats = statSync(path, { throwIfNoEntry: false });
    if (stats !== undefined) tighten(path, stats.mode);
  } catch (error) {
    throw accessFault(path, error);
  }
}

function tighten(path: string, mode: number): void {
  if ((mode & OF_OTHERS) !== 0) chmodSync(path, PRIVATE);
  accessSync(path, constants.R_OK | constants.W_OK);
}

/**
 * The fault of a ledger's file that this process may not use. It names the owner if the file belongs to another user.
 */
export function accessFault(path: string, error: unknown): Fault {
  if (error instanceof Fault) return error;
  const limit = limitFaultOf(error);
  if (limit !== null) return limit;
  const code = systemCodeOf(error) ?? '';
  const details = { path: 'ledger', cause: error };
  if (code === 'EIO') {
    return fault(
      'ledger.unwritable',
      `The disk reports an error for the ledger: ${path} cannot be used: ${messageOf(error)}.`,
      {
        ...details,
        suggestion: 'Check whether the disk is failing, or is a network share that is no longer there.',
      },
    );
  }
  const foreign = ['EACCES', 'EPERM'].includes(code) ? foreignOwnerOf(path) : null;
  if (foreign === null) {
    return fault('ledger.unwritable', `${path} cannot be used: ${messageOf(error)}.`, {
      ...details,
      suggestion:
        'Check that the folder exists and may be written, that the files in it are yours, and that the disk is neither full nor read-only.',
    });
  }
  const { place, owner, user } = foreign;
  return fault(
    'ledger.unwritable',
    `${path} cannot be used: ${place} belongs to user ${owner}, and this process runs as user ${user} (${messageOf(error)}).`,
    {
      ...details,
      suggestion: `Run every dpp-sync command as user ${owner}, or name a ledger in a folder that is yours. To take the files over, stop every process that uses them and run \`chown ${user}\` on the folder ${dirname(path)} and the ledger's files in it.`,
    },
  );
}

/** The owner of a path, or of the nearest folder above it that exists. Null if this process runs as that owner. */
function foreignOwnerOf(path: string): { place: string; owner: number; user: number } | null {
  const user = process.getuid?.();
  if (user === undefined) return null;
  for (let place = path; ; place = dirname(place)) {
    try {
      const owner = statSync(place).uid;
      return owner === user ? null : { place, owner, user };
    } catch {
      // The path is missing, or this user may not look into its folder. The folder's owner can help in both cases.
      if (place === dirname(place)) return null;
    }
  }
}

function notAFileFault(path: string): Fault {
  return fault('ledger.unwritable', `${path} is not a regular file.`, {
    path: 'ledger',
    suggestion:
      'dpp-sync creates this file itself and does not follow a link in its place. Find out who has made the link, and remove the link while no process uses the ledger.',
  });
}
