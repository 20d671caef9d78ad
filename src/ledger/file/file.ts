// Where the files of a ledger are, and who may use them.

import {
  accessSync,
  chmodSync,
  closeSync,
  constants,
  existsSync,
  fsyncSync,
  lstatSync,
  openSync,
  readlinkSync,
  realpathSync,
  statfsSync,
  statSync,
} from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { fault } from '../../domain/faults.ts';
import { Fault, fileReasonOf, messageOf, systemCodeOf } from '../../lib/errors.ts';
import { makeFolderSync } from '../../lib/files.ts';
import { limitFaultOf, MAKE_ROOM } from '../store/ledger-fault.ts';

/**
 * The real path of a ledger's file, without symbolic links. The files beside the ledger are found by this path.
 *
 * @throws Fault `ledger.unwritable` if the path names a folder
 */
export function ledgerPath(file: string): string {
  if (existsSync(file)) {
    if (statSync(file).isDirectory()) throw folderFault(file);
    return realpathSync(file);
  }
  const place = join(realpathSync(dirname(file)), basename(file));
  // The link points to a file that does not exist.
  if (lstatSync(place, { throwIfNoEntry: false })?.isSymbolicLink() !== true) return place;
  const target = resolve(dirname(place), readlinkSync(place));
  return existsSync(dirname(target)) ? join(realpathSync(dirname(target)), basename(target)) : place;
}

/** The files beside a ledger that belong to it. */
export function sidecarsOf(place: string): string[] {
  return ['-wal', '-shm', '.lock', '.mark', '.sock'].map((suffix) => `${place}${suffix}`);
}

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
 * Refuses a folder in which this process may not make files: the lock, the log, the mark and the socket are beside the ledger.
 *
 * @throws Fault `ledger.unwritable`
 */
export function assertFolderWritable(folder: string): void {
  try {
    // The dot makes the system refuse a file in the place of the folder.
    accessSync(`${folder}/.`, constants.W_OK | constants.X_OK);
  } catch (error) {
    throw accessFault(folder, error, folder);
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
 * The fault of a ledger's file, or of its folder, that this process may not use. It names the owner if the path belongs to
 * another user.
 */
export function accessFault(path: string, error: unknown, folder = dirname(path)): Fault {
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
    // A folder cannot be made where a file is.
    const reason = code === 'EEXIST' ? 'a part of the path is a file, or a link to nothing' : fileReasonOf(error);
    return fault('ledger.unwritable', `${path} cannot be used: ${reason}.`, {
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
      suggestion: `Run every dpp-sync command as user ${owner}, or name a ledger in a folder that is yours. To take the files over, stop every process that uses them and run \`chown ${user}\` on the folder ${folder} and the ledger's files in it.`,
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

function folderFault(path: string): Fault {
  return fault('ledger.unwritable', `The ledger ${path} is a folder, not a file.`, {
    path: 'ledger',
    suggestion: `Name a file in it, such as ${join(path, 'ledger.db')}. dpp-sync creates the file.`,
  });
}

function notAFileFault(path: string): Fault {
  return fault('ledger.unwritable', `${path} is not a regular file.`, {
    path: 'ledger',
    suggestion:
      'dpp-sync creates this file itself and does not follow a link in its place. Find out who has made the link, and remove the link while no process uses the ledger.',
  });
}

/**
 * Refuses a ledger with several names (hard links). The lock and the log belong to one name, so a process that opens
 * the ledger by another name would write beside the owner of the lock.
 *
 * @throws Fault `ledger.linked`
 */
export function assertOneName(file: string): void {
  const links = statSync(file, { throwIfNoEntry: false })?.nlink ?? 0;
  if (links <= 1) return;
  throw fault(
    'ledger.linked',
    `The ledger ${file} has ${links} names (hard links), but its lock protects only one name.`,
    {
      path: 'ledger',
      suggestion: `Stop every process that uses the ledger, find the other names with \`find FOLDER -samefile ${file}\` and remove them. A copy is made with \`dpp-sync ledger backup\`, never with a hard link.`,
    },
  );
}

/** Error codes of systems that cannot fsync a folder, or do not let this user open it. */
const NO_FOLDER_SYNC = new Set(['EINVAL', 'ENOTSUP', 'EISDIR', 'EPERM', 'EACCES']);

/**
 * Makes a folder and the missing folders above it. When the function returns, all of them are on the disk. Without
 * this, a synced file could be lost together with the name of its folder (I8). Only the owner can open the new folders.
 *
 * @throws Fault `ledger.unwritable` when the disk fails, and the system's error when a folder cannot be made
 */
export function makeDurableFolder(folder: string): void {
  const first = makeFolderSync(folder, 0o700);
  if (first === undefined) return;
  // The name of a folder is stored in the folder above it.
  for (let made = resolve(folder); ; made = dirname(made)) {
    syncFolder(dirname(made));
    if (made === first || made === dirname(made)) return;
  }
}

/**
 * Syncs the names in a folder to the disk.
 *
 * @throws Fault `ledger.unwritable` when the disk fails
 */
export function syncFolder(folder: string): void {
  try {
    const descriptor = openSync(folder, 'r');
    try {
      fsyncSync(descriptor);
    } finally {
      closeSync(descriptor);
    }
  } catch (error) {
    if (NO_FOLDER_SYNC.has(systemCodeOf(error) ?? '')) return;
    throw diskFault(error);
  }
}

/** The fault of a disk that fails to sync a file or a folder. */
export function diskFault(error: unknown): Fault {
  const limit = limitFaultOf(error);
  if (limit !== null) return limit;
  return fault('ledger.unwritable', `The disk reports an error for the ledger: ${messageOf(error)}.`, {
    path: 'ledger',
    suggestion: 'Check whether the disk is full, read-only or failing, or is a network share that is no longer there.',
    cause: error,
  });
}

/**
 * The types of file systems that `statfs` gives in Linux for files of another machine, from linux/magic.h and the
 * sources of the file systems. FUSE is not here, because its type does not say whether the files are on this machine.
 */
const NETWORK_FILE_SYSTEMS: ReadonlyMap<number, string> = new Map([
  [0x6969, 'NFS'],
  [0x517b, 'SMB'],
  [0xff534d42, 'SMB (CIFS)'],
  [0xfe534d42, 'SMB 2 or 3'],
  [0x5346414f, 'AFS'],
  [0x6b414653, 'AFS'],
  [0x01021997, '9p'],
  [0x00c36400, 'Ceph'],
  [0x0bd00bd0, 'Lustre'],
  [0x73757245, 'Coda'],
  [0x564c, 'NCP'],
]);

/**
 * Refuses a ledger on a network file system. The processes that use a ledger share memory in its -shm file, and one of
 * them holds a lock. Machines that share a folder share neither with certainty, and two writers would damage the ledger.
 * A file system of an unknown type counts as local.
 *
 * @param place the real path of the ledger; its folder exists
 * @throws Fault `ledger.network`
 */
export function assertLocalDisk(place: string): void {
  const name = NETWORK_FILE_SYSTEMS.get(typeOf(dirname(place)));
  if (name === undefined) return;
  throw fault('ledger.network', `The ledger ${place} is on a network file system (${name}).`, {
    path: 'ledger',
    suggestion:
      'Name a place on a local disk of this machine. If the ledger exists, stop every process that uses it, and move it with all files beside it (`ledger.db*`). Backups may be on a network file system.',
  });
}

/** The type that `statfs` gives; 0 if it is unknown. */
function typeOf(folder: string): number {
  // The numbers have this meaning in Linux only.
  if (process.platform !== 'linux') return 0;
  try {
    // Some systems give the type as a signed number of 32 bits.
    return statfsSync(folder).type >>> 0;
  } catch {
    return 0;
  }
}

/** A disk with less free space than this counts as full: a few pages of the ledger's log take as much. */
export const FULL_BYTES = 64 * 1024;

/** The free bytes on the disk of the ledger; null if the system does not report them. */
export function freeBytesBeside(ledger: string): number | null {
  try {
    const { bavail, bsize } = statfsSync(dirname(ledgerPath(ledger)));
    return bavail * bsize;
  } catch {
    return null;
  }
}

/** The fault of a ledger whose disk is full; null if there is room, or if the system does not report the room. */
export function fullDiskFault(ledger: string): Fault | null {
  const free = freeBytesBeside(ledger);
  if (free === null || free >= FULL_BYTES) return null;
  return fault('ledger.unwritable', `The ledger cannot be written: ${free} bytes are free on its disk.`, {
    path: 'ledger',
    suggestion: MAKE_ROOM,
  });
}

/**
 * Watches a file that this process has open. Each look costs one `stat` of the path.
 *
 * @param alone whether a second name (a hard link) counts as a change
 * @returns the change as the end of a sentence; null while there is none. A change is final: even if the file is back
 *   under its name, another process may have written to it meanwhile.
 */
export function watchFile(path: string, { alone }: { alone: boolean }): () => string | null {
  const original = look(path);
  let change = typeof original === 'string' ? original : null;
  return () => {
    if (change !== null || typeof original === 'string') return change;
    const seen = look(path);
    if (typeof seen === 'string') change = seen;
    else if (seen.ino !== original.ino || seen.dev !== original.dev) change = 'was replaced by another file';
    else if (alone && seen.nlink > 1n) change = 'was given a second name (a hard link)';
    return change;
  };
}

function look(path: string): { dev: bigint; ino: bigint; nlink: bigint } | string {
  try {
    return statSync(path, { bigint: true, throwIfNoEntry: false }) ?? 'was removed';
  } catch (error) {
    return `cannot be checked any more (${messageOf(error)})`;
  }
}
