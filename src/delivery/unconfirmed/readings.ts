import type { Outcome } from '../../domain/outcome.ts';
import type { Emit } from '../../domain/ports/progress.ts';
import type { Listing } from '../../domain/ports/target.ts';
import type { Clock } from '../../lib/clock.ts';
import type { ApiHealth } from '../admission/api-health.ts';
import { createReadBudget, type Readable } from './read-budget.ts';

/** A list whose last reading failed. `since` is in `ticks` of the clock. */
export interface Unreadable {
  what: Readable;
  since: number;
  reason: string;
  /** Whether a limit of this machine prevented the reading, and not the API. */
  local: boolean;
}

/** Readings of the platform's lists: when they may begin, and what their answers show about the API. */
export interface Readings {
  /** Milliseconds until this list may be read; 0 for now. @param gathers as of `ReadBudget.admit` */
  waitMs(what: Readable, gathers?: boolean): number;
  /** Passes the result of a reading on to the API's health and to the counters, like any other answer. Returns it as an outcome. */
  heard(what: Readable, listing: Listing, begunAt: number): Outcome;
  /** The list that has been unreadable for longest; null if the last reading of every list succeeded. */
  unreadable(): Unreadable | null;
}

export function createReadings(options: { health: Pick<ApiHealth, 'observe'>; clock: Clock; emit: Emit }): Readings {
  const { health, clock, emit } = options;
  const budget = createReadBudget();
  const failing = new Map<Readable, Unreadable>();
  return {
    // Whole milliseconds, as the ledger has them.
    waitMs: (what, gathers = false) => Math.ceil(budget.admit(what, clock.ticks(), gathers)),

    heard(what, listing, begunAt) {
      const outcome: Outcome = listing.complete ? { kind: 'accepted', remoteId: null } : listing.outcome;
      budget.spent(what, { begunAt, endedAt: clock.ticks() }, listing.complete);
      if (listing.complete) failing.delete(what);
      else {
        const reason = 'detail' in outcome ? outcome.detail.message : '';
        const local = outcome.kind === 'unavailable' && outcome.local === true;
        failing.set(what, { what, since: failing.get(what)?.since ?? begunAt, reason, local });
      }
      health.observe({ outcome, scope: 'read', subject: what }, null);
      const operation = what === 'publications' ? what : 'list';
      emit({ type: 'request', operation, outcome: outcome.kind, retry: false });
      return outcome;
    },

    unreadable: () => [...failing.values()].toSorted((a, b) => a.since - b.since)[0] ?? null,
  };
}
