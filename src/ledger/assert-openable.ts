import { existsSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { nearestPlace } from '../lib/files.ts';
import { assertFolderWritable, assertUsable, fullDiskFault, ledgerPath, sidecarsOf } from './file/file.ts';
import { assertNoBackup, bindTarget } from './file/identity.ts';
import { readMeta } from './store/meta.ts';
import { openToRead } from './upgrade/open.ts';

/**
 * Refuses a ledger that a process of this user could not open for writing. Takes no lock and changes nothing, so it may run
 * beside the process that writes the ledger.
 *
 * @throws Fault `ledger.unwritable`, `ledger.network`, `ledger.linked`, `ledger.restored`, `ledger.unreadable`, `ledger.newer`,
 *   `ledger.target`, or `ledger.older` for a ledger that cannot be upgraded
 */
export function assertOpenable({ file, target }: { file: string; target: string }): void {
  assertPlace(file);
  const db = openToRead(file);
  if (db === null) return;
  try {
    assertNoBackup(db, file);
    const bound = readMeta({ db }, 'target');
    if (bound !== null) bindTarget(bound, target, file);
  } finally {
    db.close();
  }
}

function assertPlace(file: string): void {
  const folder = dirname(resolve(file));
  const there = nearestPlace(folder);
  assertFolderWritable(there);
  if (there !== folder) return;
  const place = ledgerPath(file);
  assertFolderWritable(dirname(place));
  for (const path of [place, ...sidecarsOf(place)]) if (existsSync(path)) assertUsable(path);
  const full = fullDiskFault(file);
  if (full !== null) throw full;
}
