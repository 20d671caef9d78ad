import type { Clock } from '../lib/clock.ts';

/** Counts wrong guesses by address. */
export interface AttemptLimit {
  /**
   * Counts a wrong guess.
   *
   * @returns milliseconds until a wrong guess is free again; 0 where this one was
   */
  failed(address: string): number;
  /** Milliseconds until a wrong guess is free again; 0 where one is free now. Notes nothing. */
  waitMs(address: string): number;
}

/** Wrong guesses that an address has free; one comes back every `REGAIN_MS`. */
const FREE = 10;
const REGAIN_MS = 30_000;
/** Addresses that are remembered (I9). Limits for each address do not stop somebody who has more than this. */
const ADDRESSES_MAX = 10_000;

export function createAttemptLimit(clock: Clock): AttemptLimit {
  /** When each address has all its free wrong guesses again. */
  const clearAt = new Map<string, number>();

  function state(address: string): { from: number; waitMs: number } {
    const now = clock.ticks();
    const from = Math.max(now, clearAt.get(address) ?? 0);
    return { from, waitMs: Math.max(0, from - now - (FREE - 1) * REGAIN_MS) };
  }

  return {
    waitMs: (address) => state(address).waitMs,
    failed(address) {
      const { from, waitMs } = state(address);
      if (waitMs > 0) return waitMs;
      // Added anew, so that the oldest address is the first one in the map.
      clearAt.delete(address);
      clearAt.set(address, from + REGAIN_MS);
      const oldest = clearAt.keys().next().value;
      if (clearAt.size > ADDRESSES_MAX && oldest !== undefined) clearAt.delete(oldest);
      return 0;
    },
  };
}
