import type { Clock } from '../lib/clock.ts';
import { sha256Hex } from '../lib/hash.ts';

/** Counts wrong guesses by address. */
export interface AttemptLimit {
  /**
   * Counts a wrong guess.
   *
   * @returns milliseconds until a wrong guess is free again; 0 if this guess was free
   */
  failed(address: string): number;
  /** Milliseconds until a wrong guess is free again; 0 if one is free now. Counts nothing. */
  waitMs(address: string): number;
}

/** How many wrong guesses an address has free. One guess becomes free again every `REGAIN_MS`. */
const FREE = 10;
const REGAIN_MS = 30_000;
/** How many addresses are remembered (I9). The limits do not stop somebody who has more addresses than this. */
const ADDRESSES_MAX = 10_000;

export function createAttemptLimit(clock: Clock): AttemptLimit {
  /**
   * When all wrong guesses of an address are free again, by the hash of the address. A caller may send a name of many
   * kilobytes in its place.
   */
  const clearAt = new Map<string, number>();

  function state(hash: string): { from: number; waitMs: number } {
    const now = clock.ticks();
    const from = Math.max(now, clearAt.get(hash) ?? 0);
    return { from, waitMs: Math.max(0, from - now - (FREE - 1) * REGAIN_MS) };
  }

  return {
    waitMs: (address) => state(sha256Hex(address)).waitMs,
    failed(address) {
      const hash = sha256Hex(address);
      const { from, waitMs } = state(hash);
      if (waitMs > 0) return waitMs;
      // The entry is deleted and added again, so that the oldest address is the first one in the map.
      clearAt.delete(hash);
      clearAt.set(hash, from + REGAIN_MS);
      const oldest = clearAt.keys().next().value;
      if (clearAt.size > ADDRESSES_MAX && oldest !== undefined) clearAt.delete(oldest);
      return 0;
    },
  };
}
