import type { ListableKind } from '../domain/ports/target.ts';

/** How often what is at the API may be read as a whole, to settle doubts. Pure: monotonic time comes in, a wait goes out. */
export interface ReadBudget {
  /** Milliseconds to wait before asking again; 0 admits the reading. */
  admit(what: Readable, now: number): number;
  /** A reading is over, to its end or not. */
  spent(what: Readable, time: { begunAt: number; endedAt: number }, complete: boolean): void;
}

export type Readable = ListableKind | 'publications';

/** After a reading that was not complete: the bound of the first rest and of every one. */
const AGAIN = { firstMs: 2000, lastMs: 300_000 };

/**
 * Reading back has a budget of its own, so that retries leave it what it needs and it leaves them theirs: after each reading
 * of a large catalogue there is a rest that is as long as the reading was. What comes into doubt meanwhile is settled
 * together by the next. A list that cannot be read is tried ever more seldom.
 */
export function createReadBudget(): ReadBudget {
  const restUntil = new Map<Readable, number>();
  const failures = new Map<Readable, number>();
  return {
    admit: (what, now) => Math.max(0, (restUntil.get(what) ?? now) - now),
    spent(what, { begunAt, endedAt }, complete) {
      const count = complete ? 0 : (failures.get(what) ?? 0) + 1;
      failures.set(what, count);
      const againMs = complete ? 0 : Math.min(AGAIN.firstMs * 2 ** Math.min(count - 1, 16), AGAIN.lastMs);
      restUntil.set(what, endedAt + Math.max(endedAt - begunAt, againMs));
    },
  };
}
