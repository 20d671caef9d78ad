import type { Outcome } from '../../domain/outcome.ts';
import type { Emit } from '../../domain/ports/progress.ts';
import type { Listing } from '../../domain/ports/target.ts';
import type { Clock } from '../../lib/clock.ts';
import type { ApiHealth } from '../admission/api-health.ts';
import { createReadBudget, type ListName } from './read-budget.ts';

/** A list whose last read failed. `since` is in `ticks` of the clock. */
export interface UnreadableList {
  what: ListName;
  since: number;
  reason: string;
  /** True if a limit of this machine prevented the read, and not the API. */
  local: boolean;
}

/** Reads of the platform's lists: when they may begin, and what their answers show about the API. */
export interface ListReads {
  /** Milliseconds until this list may be read; 0 for now. @param mayCollect as of `ReadBudget.admit` */
  waitMs(list: ListName, mayCollect?: boolean): number;
  /**
   * Reports the result of a read to the API's health and to the counters, like any other answer.
   *
   * @returns the result as an outcome
   */
  ended(list: ListName, listing: Listing, begunAt: number): Outcome;
  /** The list that could not be read for the longest time; null if every list was read the last time. */
  unreadable(): UnreadableList | null;
}

export function createListReads(options: { health: Pick<ApiHealth, 'observe'>; clock: Clock; emit: Emit }): ListReads {
  const { health, clock, emit } = options;
  const budget = createReadBudget();
  const failing = new Map<ListName, UnreadableList>();
  return {
    // Whole milliseconds, as the ledger stores them.
    waitMs: (list, mayCollect = false) => Math.ceil(budget.admit(list, clock.ticks(), mayCollect)),

    ended(list, listing, begunAt) {
      const outcome: Outcome = listing.complete ? { kind: 'accepted', remoteId: null } : listing.outcome;
      budget.ended(list, { begunAt, endedAt: clock.ticks() }, listing.complete);
      if (listing.complete) failing.delete(list);
      else {
        const reason = 'detail' in outcome ? outcome.detail.message : '';
        const local = outcome.kind === 'unavailable' && outcome.local === true;
        failing.set(list, { what: list, since: failing.get(list)?.since ?? begunAt, reason, local });
      }
      health.observe({ outcome, scope: 'read', subject: list }, null);
      const operation = list === 'publications' ? list : 'list';
      emit({ type: 'request', operation, outcome: outcome.kind, retry: false });
      return outcome;
    },

    unreadable: () => [...failing.values()].toSorted((a, b) => a.since - b.since)[0] ?? null,
  };
}
