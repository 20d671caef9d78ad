import type { DeliveryLedger } from '../domain/ports/ledger/delivery-ledger.ts';

const LOOK_MS = 60_000;
/** Blocked deliveries that are staged in one transaction. Other work of the process runs between two transactions. */
const PAGE = 250;

/** Sends deliveries again that a business rule of the platform has blocked. The ledger decides when. */
export function createRecheck(options: { ledger: Pick<DeliveryLedger, 'recheckBlocked'>; now: () => number }) {
  const { ledger, now } = options;
  let lookedAt = Number.NEGATIVE_INFINITY;
  let more = false;
  return {
    /** True while there is another page. The staged deliveries may be sent before that page is staged. */
    hasMore: () => more,
    /**
     * Stages a page of the blocked deliveries whose time has come. A new search begins at most once a minute; further
     * pages follow without a wait.
     *
     * @returns the number of staged deliveries
     */
    async stageNext(): Promise<number> {
      const at = now();
      if (!more && at - lookedAt < LOOK_MS) return 0;
      lookedAt = at;
      const looked = await ledger.recheckBlocked({ limit: PAGE });
      more = looked.more;
      return looked.staged;
    },
  };
}

export type Recheck = ReturnType<typeof createRecheck>;
