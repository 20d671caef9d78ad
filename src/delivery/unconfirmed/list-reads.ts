import type { Outcome } from '../../domain/outcome.ts';
import type { Emit } from '../../domain/ports/progress.ts';
import type { Listing } from '../../domain/ports/target.ts';
import type { Clock } from '../../lib/clock.ts';
import type { ApiHealth } from '../admission/api-health.ts';
import { createReadBudget, type ListName } from './read-budget.ts';

/** A list whose last reading failed. `since` is in `ticks` of the clock. */
export interface UnreadableList {
  what: ListName;
  since: number;
  reason: string;
  /** Whether a limit of this machine prevented the reading, and not the API. */
  local: boolean;
}

/** ListReads of the platform's lists: when they may begin, and what their answers show about the API. */
export interface ListReads {
  /** Milliseconds until this list may be read; 0 for now. @param gathers as of `ReadBudget.admit` */
  waitMs(what: ListName, gathers?: boolean): number;
  /** Passes the result of a reading on to the API's health and to the counters, like any other answer. Returns it as an outcome. */
  ended(what: ListName, listing: Listing, begunAt: number): Outcome;
  /** The list that has been unreadable for longest; null if the last reading of every list succeeded. */
  unreadable(): UnreadableList | null;
}

export function createListReads(options: { health: Pick<ApiHealth, 'observe'>; clock: Clock; emit: Emit }): ListReads {
  const { health, clock, emit } = options;
  const budget = createReadBudget();
  const failing = new Map<ListName, UnreadableList>();
  return {
    // Whole milliseconds, as the ledger has them.
    waitMs: (what, gathers = false) => Math.ceil(budget.admit(what, clock.ticks(), gathers)),

    ended(what, listing, begunAt) {
      const outcome: Outcome = listing.complete ? { kind: 'accepted', remoteId: null } : listing.outcome;
      budget.ended(what, { begunAt, endedAt: clock.ticks() }, listing.complete);
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
