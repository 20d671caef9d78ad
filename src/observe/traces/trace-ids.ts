import { createHash } from 'node:crypto';

/** Names one delivery: an item and its revision in one ledger. */
export interface DeliveryName {
  ledger: string;
  kind: string;
  key: string;
  revision: number;
}

/**
 * The ids of the trace of a delivery. They are computed from the name of the delivery, so they are the same in every
 * process and after every restart. Neither the queue nor the ledger has to store them.
 */
export function traceOf({ ledger, kind, key, revision }: DeliveryName): { traceId: string; rootId: string } {
  const hash = createHash('sha256')
    .update(JSON.stringify([ledger, kind, key, revision]))
    .digest('hex');
  return { traceId: hash.slice(0, 32), rootId: hash.slice(32, 48) };
}

/**
 * True if an item is traced. Either all its revisions are traced or none, and the answer is the same in every process.
 * @param ratio from 0 to 1
 */
export function isTraced(kind: string, key: string, ratio: number): boolean {
  if (ratio >= 1) return true;
  const hash = createHash('sha256')
    .update(JSON.stringify([kind, key]))
    .digest();
  return hash.readUInt32BE(0) / 2 ** 32 < ratio;
}
