import { existsSync, lstatSync, readlinkSync, realpathSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';

/** The real path of a ledger's file, without symbolic links. The files beside the ledger are found by this path. */
export function ledgerPath(file: string): string {
  if (existsSync(file)) return realpathSync(file);
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
