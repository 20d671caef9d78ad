import type { ListableKind } from '../../domain/ports/target.ts';

/** How often what is at the API may be read as a whole, to settle doubts. Pure: monotonic time comes in, a wait goes out. */
export interface ReadBudget {
  /**
   * Milliseconds to wait before asking again; 0 admits the reading.
   *
   * @param gathers true where nothing is in doubt: creates were refused, and the list may show why
   */
  admit(what: ListName, now: number, gathers?: boolean): number;
  /** A reading is over, to its end or not. */
  ended(what: ListName, time: { begunAt: number; endedAt: number }, complete: boolean): void;
}

export type ListName = ListableKind | 'publications';

/**
 * Refused creates gather between two readings that are made for nothing else. While more of them come each rest is twice as
 * long as the one before, so that ten thousand of them cost a few readings.
 */
const GATHER = { firstMs: 2000, lastMs: 60_000 };

/** After a reading that was not complete: the bound of the first rest and of every one. */
const AGAIN = { firstMs: 2000, lastMs: 300_000 };

/**
 * Reading back has a budget of its own, so that retries leave it what it needs and it leaves them theirs: after each reading
 * of a large catalogue there is a rest that is as long as the reading was. What comes into doubt meanwhile is settled
 * together by the next. A list that cannot be read is tried ever more seldom.
 */
export function createReadBudget(): ReadBudget {
  const restUntil = new Map<ListName, number>();
  const failures = new Map<ListName, number>();
  const gathered = new Map<ListName, { restMs: number; until: number }>();

  function gather(what: ListName, endedAt: number): void {
    const before = gathered.get(what);
    const goesOn = before !== undefined && endedAt - before.until < GATHER.lastMs;
    const restMs = goesOn ? Math.min(before.restMs * 2, GATHER.lastMs) : GATHER.firstMs;
    gathered.set(what, { restMs, until: endedAt + restMs });
  }

  return {
    admit(what, now, gathers = false) {
      const until = Math.max(restUntil.get(what) ?? now, gathers ? (gathered.get(what)?.until ?? now) : now);
      return Math.max(0, until - now);
    },
    ended(what, { begunAt, endedAt }, complete) {
      const count = complete ? 0 : (failures.get(what) ?? 0) + 1;
      failures.set(what, count);
      if (complete) gather(what, endedAt);
      const againMs = complete ? 0 : Math.min(AGAIN.firstMs * 2 ** Math.min(count - 1, 16), AGAIN.lastMs);
      restUntil.set(what, endedAt + Math.max(endedAt - begunAt, againMs));
    },
  };
}
