import { createHash } from 'node:crypto';

/** Names one delivery: an item and its revision in one ledger. */
export interface DeliveryName {
  ledger: string;
  kind: string;
  key: string;
  revision: number;
}

/**
 * The ids of the trace of a delivery. They follow from its name, so they are the same in every process and after every restart, and
 * neither the queue nor the ledger carries them.
 */
export function traceOf({ ledger, kind, key, revision }: DeliveryName): { traceId: string; rootId: string } {
  const hash = createHash('sha256')
    .update(JSON.stringify([ledger, kind, key, revision]))
    .digest('hex');
  return { traceId: hash.slice(0, 32), rootId: hash.slice(32, 48) };
}

/** Whether an item is traced: all its revisions are or none, whichever process asks. @param ratio from 0 to 1 */
export function isTraced(kind: string, key: string, ratio: number): boolean {
  if (ratio >= 1) return true;
  const hash = createHash('sha256')
    .update(JSON.stringify([kind, key]))
    .digest();
  return hash.readUInt32BE(0) / 2 ** 32 < ratio;
}
