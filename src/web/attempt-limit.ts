import type { Clock } from '../lib/clock.ts';

/** Slows down whoever guesses. */
export interface AttemptLimit {
  /** Milliseconds until this address may try again; 0 when it may try now. */
  waitMs(address: string): number;
  /** Notes a wrong guess. */
  failed(address: string): void;
}

/** Wrong guesses that an address has free; one comes back every `REGAIN_MS`. */
const FREE = 10;
const REGAIN_MS = 30_000;
/** Addresses that are remembered (I9). Whoever has that many is not held up by limits per address anyway. */
const ADDRESSES_MAX = 10_000;

export function createAttemptLimit(clock: Clock): AttemptLimit {
  /** When each address will have regained everything. */
  const clearAt = new Map<string, number>();

  return {
    waitMs(address) {
      const debtMs = (clearAt.get(address) ?? 0) - clock.ticks();
      return Math.max(0, debtMs - (FREE - 1) * REGAIN_MS);
    },
    failed(address) {
      const now = clock.ticks();
      const from = Math.max(now, clearAt.get(address) ?? 0);
      // Added anew, so that the oldest address is the first one in the map.
      clearAt.delete(address);
      clearAt.set(address, from + REGAIN_MS);
      const oldest = clearAt.keys().next().value;
      if (clearAt.size > ADDRESSES_MAX && oldest !== undefined) clearAt.delete(oldest);
    },
  };
}
