import type { Operation } from '../../domain/delivery/operation.ts';
import type { BulkImports } from '../imports/bulk-imports.ts';
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
  bulk: Pick<BulkImports, 'sizeMax' | 'fewest' | 'begin'>;
}): ImportMembers {
  /** How many deliveries one request with this operation may have; null if it is not sent as an import. */
  function countMax(operation: Operation): number | null {
    const max = isImportable(operation) ? bulk.sizeMax(operation) : 0;
    return max === 0 ? null : max;
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
      const isTooSmall = max > 1 && queue.waiting(operation).count + 1 < bulk.fewest();
      if (operation === 'product.create' && isTooSmall) return null;
      const others = queue.take(operation, max - 1);
      bulk.begin([one, ...others]);
      return others;
    },
  };
}
