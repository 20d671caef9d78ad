import { accessOf, type ListName } from '../../domain/delivery/operation.ts';
import type { Outcome } from '../../domain/delivery/outcome.ts';
import type { Emit } from '../../domain/ports/progress.ts';
import type { Listing } from '../../domain/ports/target.ts';
import type { Clock } from '../../lib/clock.ts';
import type { ApiHealth } from '../admission/api-health.ts';

/**
 * Refused creates are collected between two reads that serve only them. While more of them come, each pause is twice as long as the
 * one before, so that ten thousand of them cost a few reads.
 */
const COLLECT = { firstMs: 2000, lastMs: 60_000 };

/** The first and the longest pause after a read that was not complete. */
const AGAIN = { firstMs: 2000, lastMs: 300_000 };

/**
 * Limits how often whole lists of the API are read back. Pure: the caller passes a monotonic time and gets a wait.
 *
 * Read-backs have a separate budget, so that read-backs and retries do not slow each other. After each read of a list
 * there is a pause as long as the read took. The next read serves all deliveries that became unconfirmed during the
 * pause. A list that cannot be read is tried less and less often.
 */
export function createReadBudget() {
  const pausedUntil = new Map<ListName, number>();
  const failures = new Map<ListName, number>();
  const collected = new Map<ListName, { pauseMs: number; until: number }>();

  function collect(list: ListName, endedAt: number): void {
    const before = collected.get(list);
    const continues = before !== undefined && endedAt - before.until < COLLECT.lastMs;
    const pauseMs = continues ? Math.min(before.pauseMs * 2, COLLECT.lastMs) : COLLECT.firstMs;
    collected.set(list, { pauseMs, until: endedAt + pauseMs });
  }

  return {
    /**
     * Milliseconds to wait before asking again; 0 admits the read.
     *
     * @param mayCollect true if all deliveries are refused creates, so that the read may wait for more of them
     */
    admit(list: ListName, now: number, mayCollect: boolean = false): number {
      const until = Math.max(pausedUntil.get(list) ?? now, mayCollect ? (collected.get(list)?.until ?? now) : now);
      return Math.max(0, until - now);
    },
    /** A read has ended, completely or not. */
    ended(list: ListName, { begunAt, endedAt }: { begunAt: number; endedAt: number }, complete: boolean) {
      const count = complete ? 0 : (failures.get(list) ?? 0) + 1;
      failures.set(list, count);
      if (complete) collect(list, endedAt);
      const againMs = complete ? 0 : Math.min(AGAIN.firstMs * 2 ** Math.min(count - 1, 16), AGAIN.lastMs);
      pausedUntil.set(list, endedAt + Math.max(endedAt - begunAt, againMs));
    },
    /** How many reads of the list in a row were not complete. */
    failures: (list: ListName) => failures.get(list) ?? 0,
  };
}

/** A list whose last read failed. `since` is in `ticks` of the clock. */
interface UnreadableList {
  what: ListName;
  since: number;
  reason: string;
  /** True if a limit of this machine prevented the read, and not the API. */
  local: boolean;
}

/** A list that the API does not give is asked for again after this time. */
const USELESS_MS = 3_600_000;

/** After so many failed reads in a row, about half a minute apart from the first to the last, a list is given up. */
const GIVEN_UP_AFTER = 5;

/** Reads of the platform's lists: when they may begin, and what their answers show about the API. */
export function createListReads(options: { health: Pick<ApiHealth, 'observe'>; clock: Clock; emit: Emit }) {
  const { health, clock, emit } = options;
  const budget = createReadBudget();
  const failing = new Map<ListName, UnreadableList>();
  const uselessUntil = new Map<ListName, number>();
  return {
    // Whole milliseconds, as the ledger stores them.
    /** Milliseconds until this list may be read; 0 means at once. @param mayCollect see `ReadBudget.admit` */
    waitMs: (list: ListName, mayCollect: boolean = false) => Math.ceil(budget.admit(list, clock.ticks(), mayCollect)),

    /**
     * Reports the result of a read to the API's health and to the counters, like any other answer.
     *
     * @returns the result as an outcome
     */
    ended(list: ListName, listing: Listing, begunAt: number): Outcome {
      const outcome: Outcome = listing.complete
        ? { kind: 'accepted', evidence: 'bare', remoteId: null }
        : listing.outcome;
      budget.ended(list, { begunAt, endedAt: clock.ticks() }, listing.complete);
      if (listing.complete) failing.delete(list);
      else {
        const reason = 'detail' in outcome ? outcome.detail.message : '';
        const local = outcome.kind === 'unavailable' && outcome.local === true;
        failing.set(list, { what: list, since: failing.get(list)?.since ?? begunAt, reason, local });
      }
      if (!listing.complete && isNoList(listing)) uselessUntil.set(list, clock.ticks() + USELESS_MS);
      else uselessUntil.delete(list);
      health.observe({ outcome, access: accessOf(list), subject: list }, null);
      const operation = list === 'publications' ? list : 'list';
      emit({ type: 'request', operation, outcome: outcome.kind, retry: false, latencyMs: null });
      return outcome;
    },

    /**
     * True if the list has failed so often in a row that answers are taken without it, where the profile accepts that.
     */
    isGivenUp: (list: ListName) => budget.failures(list) >= GIVEN_UP_AFTER,

    /**
     * True if the API has answered the last read with something else than a list that can be relied on. It will not answer
     * otherwise soon.
     */
    isUseless: (list: ListName) => clock.ticks() < (uselessUntil.get(list) ?? Number.NEGATIVE_INFINITY),

    /** Of the lists whose last read failed, the one that has failed for the longest time; null if there is none. */
    unreadable: (): UnreadableList | null => [...failing.values()].toSorted((a, b) => a.since - b.since)[0] ?? null,
  };
}

export type ListReads = ReturnType<typeof createListReads>;

/** True if the API itself has answered, and reading the list again will give no other answer. */
function isNoList({ outcome, moved }: Extract<Listing, { complete: false }>): boolean {
  if (moved === true) return false;
  switch (outcome.kind) {
    case 'refused':
      return true;
    case 'denied':
      return outcome.by === 'scope';
    case 'ambiguous':
      return outcome.atWork === true && outcome.cause === 'unreadable_answer';
    case 'accepted':
    case 'exists':
    case 'throttled':
    case 'unavailable':
    case 'gated':
    case 'in_flight':
      return false;
  }
}
