import type { Clock } from '../lib/clock.ts';
import { sha256Hex } from '../lib/hash.ts';

/** Counts guesses by address or name. Right guesses are given back, so only wrong ones use up attempts. */
export interface AttemptLimit {
  /**
   * Counts a guess. Call it before the guess is compared: guesses that come at the same time are then limited too.
   *
   * @returns milliseconds until a guess is free again; 0 if this guess was free, and is counted
   */
  take(address: string): number;
  /** Undoes `take` for a guess that was right. */
  giveBack(address: string): void;
  /** Milliseconds until a guess is free again; 0 if one is free now. Counts nothing. */
  waitMs(address: string): number;
}

/** How many wrong guesses an address has free. One guess becomes free again every `REGAIN_MS`. */
const FREE = 10;
const REGAIN_MS = 30_000;
/** How many addresses are remembered (I9). The limits do not stop somebody who has more addresses than this. */
const ADDRESSES_MAX = 10_000;

export function createAttemptLimit(clock: Clock): AttemptLimit {
  /**
   * When all guesses of an address are free again, by the hash of the address. A caller may send a name of many
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
    take(address) {
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
    giveBack(address) {
      const hash = sha256Hex(address);
      const at = clearAt.get(hash);
      if (at !== undefined) clearAt.set(hash, at - REGAIN_MS);
    },
  };
}
