import type { Clock } from './clock.ts';

/** A value is kept for at least this many times as long as it took to compute. */
const SHARE = 20;

/**
 * Keeps the answer of a function that may be slow, so that asking for it often never takes more than a twentieth of the
 * time, however large the ledger has grown (I9).
 *
 * @param keptMs how long an answer is kept at least
 */
export function kept<T>(compute: () => T, keptMs: number, clock: Clock): () => T {
  let last: { value: T; until: number } | null = null;
  return () => {
    const startedAt = clock.ticks();
    if (last !== null && startedAt < last.until) return last.value;
    const value = compute();
    last = { value, until: untilOf(startedAt, keptMs, clock) };
    return value;
  };
}

/** Like `kept`, for a function that answers later. Who asks meanwhile gets the same answer, and a failure is not kept. */
export function keptAnswer<T>(compute: () => Promise<T>, keptMs: number, clock: Clock): () => Promise<T> {
  let last: { value: T; until: number } | null = null;
  let asking: Promise<T> | null = null;

  async function ask(): Promise<T> {
    const startedAt = clock.ticks();
    try {
      const value = await compute();
      last = { value, until: untilOf(startedAt, keptMs, clock) };
      return value;
    } finally {
      asking = null;
    }
  }

  return () => {
    if (last !== null && clock.ticks() < last.until) return Promise.resolve(last.value);
    asking ??= ask();
    return asking;
  };
}

function untilOf(startedAt: number, keptMs: number, clock: Clock): number {
  const endedAt = clock.ticks();
  return endedAt + Math.max(keptMs, (endedAt - startedAt) * SHARE);
}
