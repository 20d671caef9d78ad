import { existsSync, realpathSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';

/** Where a ledger's file really is: what stands beside it belongs to it by whatever link it is reached. */
export function ledgerPlace(file: string): string {
  return existsSync(file) ? realpathSync(file) : join(realpathSync(dirname(file)), basename(file));
}

/** The files beside a ledger that are parts of it. */
export function sidecarsOf(place: string): string[] {
  return ['-wal', '-shm', '.lock', '.mark'].map((suffix) => `${place}${suffix}`);
}
