import type { Operation } from '../../domain/delivery/operation.ts';
import type { BulkCreates } from '../imports/bulk-creates.ts';
import { isImportable, type Received, type ReceivedQueue } from '../received-queue.ts';

/** Gathers the members of bulk imports from the received deliveries. */
export interface ImportMembers {
  /** How many more milliseconds the import of this delivery has to wait for members; 0 for any other request. */
  waitMs(one: Received, now: number): number;
  /** Takes the other members of the delivery's import out of the queue; null if the delivery is sent alone. */
  takeWith(one: Received): Received[] | null;
}

/** A bulk import that is not full waits for more members for this long. */
const LINGER_MS = 2;
/** A split import waits this long for more members, because they come back one by one. */
const SPLIT_LINGER_MS = 100;

export function createImportMembers({
  queue,
  bulk,
}: {
  queue: Pick<ReceivedQueue, 'waiting' | 'take'>;
  bulk: Pick<BulkCreates, 'sizeMax' | 'fewest' | 'createForm' | 'beginProof'>;
}): ImportMembers {
  /** How many deliveries one request with this operation may have; null if it is not sent as an import. */
  function countMax(operation: Operation): number | null {
    if (operation === 'product.import') return bulk.sizeMax();
    const form = operation === 'product.create' ? bulk.createForm() : 'alone';
    if (form === 'alone') return null;
    return form === 'proof' ? 1 : bulk.sizeMax();
  }

  return {
    waitMs({ operation }, now) {
      const max = countMax(operation);
      if (max === null || !isImportable(operation)) return 0;
      const { count, since } = queue.waiting(operation);
      const lingerMs = operation === 'product.create' && bulk.fewest() > 1 ? SPLIT_LINGER_MS : LINGER_MS;
      return count >= max ? 0 : Math.max(0, since + lingerMs - now);
    },
    takeWith(one) {
      const { operation } = one;
      const max = countMax(operation);
      if (max === null || !isImportable(operation)) return null;
      if (operation === 'product.create') {
        if (bulk.createForm() === 'proof') bulk.beginProof(one);
        else if (queue.waiting(operation).count + 1 < bulk.fewest()) return null;
      }
      return queue.take(operation, max - 1);
    },
  };
}
