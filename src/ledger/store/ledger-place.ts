import { existsSync, lstatSync, readlinkSync, realpathSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';

/** Where a ledger's file really is, or would be: what stands beside it belongs to it by whatever link it is reached. */
export function ledgerPlace(file: string): string {
  if (existsSync(file)) return realpathSync(file);
  const place = join(realpathSync(dirname(file)), basename(file));
  // A link whose target is gone.
  if (lstatSync(place, { throwIfNoEntry: false })?.isSymbolicLink() !== true) return place;
  const target = resolve(dirname(place), readlinkSync(place));
  return existsSync(dirname(target)) ? join(realpathSync(dirname(target)), basename(target)) : place;
}

/** The files beside a ledger that are parts of it. */
export function sidecarsOf(place: string): string[] {
  return ['-wal', '-shm', '.lock', '.mark', '.sock'].map((suffix) => `${place}${suffix}`);
}
