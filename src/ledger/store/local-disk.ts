import { statfsSync } from 'node:fs';
import { dirname } from 'node:path';
import { fault } from '../../domain/faults.ts';

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
