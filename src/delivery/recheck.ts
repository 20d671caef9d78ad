import type { Ledger } from '../domain/ports/ledger.ts';

/** Asks again, in the course of time, for what a gate of the platform has blocked. When is decided in the ledger. */
export interface Recheck {
  /**
   * Stages a page of what is to be asked again by now, and looks for a first one at most once a minute. Gives how many
   * deliveries that staged.
   */
  stageNext(): Promise<number>;
  /** True while there is another page: what was staged may go out before that is. */
  hasMore(): boolean;
}

const LOOK_MS = 60_000;
/** Blocked deliveries that are staged anew in one transaction, between two looks at the event loop. */
const PAGE = 250;

export function createRecheck(options: { ledger: Pick<Ledger, 'recheckBlocked'>; now: () => number }): Recheck {
  const { ledger, now } = options;
  let lookedAt = Number.NEGATIVE_INFINITY;
  let more = false;
  return {
    hasMore: () => more,
    async stageNext() {
      const at = now();
      if (!more && at - lookedAt < LOOK_MS) return 0;
      lookedAt = at;
      const looked = await ledger.recheckBlocked({ limit: PAGE });
      more = looked.more;
      return looked.staged;
    },
  };
}
