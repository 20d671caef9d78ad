import type { ListableKind } from '../../domain/ports/target.ts';

/** Limits how often whole lists of the API are read back. Pure: the caller passes a monotonic time and gets a wait. */
export interface ReadBudget {
  /**
   * Milliseconds to wait before asking again; 0 admits the read.
   *
   * @param mayCollect true if all deliveries are refused creates: the read may wait for more of them
   */
  admit(list: ListName, now: number, mayCollect?: boolean): number;
  /** A read has ended, completely or not. */
  ended(list: ListName, time: { begunAt: number; endedAt: number }, complete: boolean): void;
}

export type ListName = ListableKind | 'publications';

/**
 * Refused creates are collected between two reads that serve only them. While more of them come, each pause is twice as long as the
 * one before, so that ten thousand of them cost a few reads.
 */
const COLLECT = { firstMs: 2000, lastMs: 60_000 };

/** The first and the longest pause after a read that was not complete. */
const AGAIN = { firstMs: 2000, lastMs: 300_000 };

/**
 * Read-backs have a budget of their own, so that they and the retries do not slow each other. After each read of a list there is a
 * pause as long as the read took. The next read serves all deliveries that became unconfirmed during the pause. A list that cannot
 * be read is tried less and less often.
 */
export function createReadBudget(): ReadBudget {
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
    admit(list, now, mayCollect = false) {
      const until = Math.max(pausedUntil.get(list) ?? now, mayCollect ? (collected.get(list)?.until ?? now) : now);
      return Math.max(0, until - now);
    },
    ended(list, { begunAt, endedAt }, complete) {
      const count = complete ? 0 : (failures.get(list) ?? 0) + 1;
      failures.set(list, count);
      if (complete) collect(list, endedAt);
      const againMs = complete ? 0 : Math.min(AGAIN.firstMs * 2 ** Math.min(count - 1, 16), AGAIN.lastMs);
      pausedUntil.set(list, endedAt + Math.max(endedAt - begunAt, againMs));
    },
  };
}
