import type { Ledger } from '../domain/ports/ledger.ts';

/** Asks again, in the course of time, for what a gate of the platform has blocked. When is decided in the ledger. */
export interface Recheck {
  /** Stages what is to be asked again by now, at most once a minute. Gives how many deliveries that staged. */
  look(): Promise<number>;
}

const LOOK_MS = 60_000;
/** Blocked deliveries that are staged anew in one transaction, between two looks at the event loop. */
const PAGE = 250;

export function createRecheck(options: { ledger: Pick<Ledger, 'recheckBlocked'>; now: () => number }): Recheck {
  const { ledger, now } = options;
  let lookedAt = Number.NEGATIVE_INFINITY;
  return {
    async look() {
      const at = now();
      if (at - lookedAt < LOOK_MS) return 0;
      lookedAt = at;
      let count = 0;
      for (;;) {
        const { staged, more } = await ledger.recheckBlocked({ limit: PAGE });
        count += staged;
        if (!more) return count;
      }
    },
  };
}
