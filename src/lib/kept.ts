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
    const tookMs = clock.ticks() - startedAt;
    last = { value, until: startedAt + tookMs + Math.max(keptMs, tookMs * SHARE) };
    return value;
  };
}
