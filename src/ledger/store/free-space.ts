import { statfsSync } from 'node:fs';
import { dirname } from 'node:path';
import { ledgerPath } from './ledger-path.ts';

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
