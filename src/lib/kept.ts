import type { Clock } from './clock.ts';

/** A value is kept for at least this many times as long as it took to compute. */
const SHARE = 20;
/**
 * An answer is kept for no longer than this. The time that it took includes waits, such as for the start of a
 * thread on a busy machine, which are no cost of the computation.
 */
const KEPT_MAX_MS = 30_000;

/** An answer that may have been computed some time ago. */
interface Kept<T> {
  value: T;
  /** In how many milliseconds a new answer can be computed; 0 if this answer was computed for this call. */
  renewableInMs: number;
}

/**
 * Keeps the answer of a function that may be slow, so that frequent calls never take more than a twentieth of the time,
 * even with a large ledger (I9), and keeps it for at most half a minute. Calls during a computation get its answer, which
 * may lack a change that happened after it began. A failure is not kept.
 *
 * @param keptMs the least time for which an answer is kept
 */
export function keptAnswer<T>(compute: () => Promise<T>, keptMs: number, clock: Clock): () => Promise<Kept<T>> {
  let last: { value: T; until: number } | null = null;
  let asking: Promise<{ value: T; until: number }> | null = null;

  async function ask(): Promise<{ value: T; until: number }> {
    const startedAt = clock.ticks();
    try {
      const value = await compute();
      const forMs = Math.min(KEPT_MAX_MS, Math.max(keptMs, shareMs(startedAt, clock)));
      last = { value, until: clock.ticks() + forMs };
      return last;
    } finally {
      asking = null;
    }
  }

  return async () => {
    const now = clock.ticks();
    if (last !== null && now < last.until) return { value: last.value, renewableInMs: last.until - now };
    if (asking === null) {
      asking = ask();
      return { value: (await asking).value, renewableInMs: 0 };
    }
    const { value, until } = await asking;
    return { value, renewableInMs: Math.max(1, until - clock.ticks()) };
  };
}

function shareMs(startedAt: number, clock: Clock): number {
  return (clock.ticks() - startedAt) * SHARE;
}
