import type { ListableKind } from '../domain/ports/target.ts';

/** How often what is at the API may be read as a whole, to settle doubts. Pure: monotonic time comes in, a wait goes out. */
export interface ReadBudget {
  /** Milliseconds to wait before asking again; 0 admits the reading. */
  admit(what: Readable, now: number): number;
  /** A reading is over. */
  spent(what: Readable, time: { begunAt: number; endedAt: number }): void;
}

type Readable = ListableKind | 'publications';

/**
 * Reading back has a budget of its own, so that retries leave it what it needs and it leaves them theirs: after each reading
 * of a large catalogue there is a rest that is as long as the reading was. What comes into doubt meanwhile is settled
 * together by the next.
 */
export function createReadBudget(): ReadBudget {
  const restUntil = new Map<Readable, number>();
  return {
    admit: (what, now) => Math.max(0, (restUntil.get(what) ?? now) - now),
    spent(what, { begunAt, endedAt }) {
      restUntil.set(what, endedAt + (endedAt - begunAt));
    },
  };
}
