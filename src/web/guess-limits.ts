import type { Clock } from '../lib/clock.ts';
import { sha256Hex } from '../lib/hash.ts';
import type { Logger } from '../lib/logging/logging.ts';

/** How many wrong guesses an address has free. One guess becomes free again every `REGAIN_MS`. */
const FREE = 10;
const REGAIN_MS = 30_000;
/** How many addresses are remembered (I9). The limits do not stop somebody who has more addresses than this. */
const ADDRESSES_MAX = 10_000;

export type AttemptLimit = ReturnType<typeof createAttemptLimit>;

/** Counts guesses by address or name. Right guesses are given back, so only wrong ones use up attempts. */
export function createAttemptLimit(clock: Clock) {
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
    /** Milliseconds until a guess is free again; 0 if one is free now. Counts nothing. */
    waitMs: (address: string) => state(sha256Hex(address)).waitMs,
    /**
     * Counts a guess. Call it before the guess is compared: guesses that come at the same time are then limited too.
     *
     * @returns milliseconds until a guess is free again; 0 if this guess was free, and is counted
     */
    take(address: string): number {
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
    /** Undoes `take` for a guess that was right. */
    giveBack(address: string) {
      const hash = sha256Hex(address);
      const at = clearAt.get(hash);
      if (at !== undefined) clearAt.set(hash, at - REGAIN_MS);
    },
  };
}

/** How long a refusal is delayed after its address has sent too many wrong tokens. */
const HELD_MS = 500;
/**
 * The most refusals that are delayed at the same time (I9). Further refusals are sent without a delay, so that they
 * hold no connections.
 */
const HELD_MAX = 32;
const WARNED_EVERY_MS = 60_000;

export type WrongTokens = ReturnType<typeof createWrongTokens>;

/**
 * Delays refusals to addresses that send many wrong tokens, and logs a warning about them. The limits apply to all
 * these addresses together. The right token never waits here.
 */
export function createWrongTokens({ clock, log }: { clock: Clock; log: Logger }) {
  let held = 0;
  let warnedAt = Number.NEGATIVE_INFINITY;

  function warn(address: string): void {
    const now = clock.ticks();
    if (now - warnedAt < WARNED_EVERY_MS) return;
    warnedAt = now;
    log.warn(
      { address },
      `Many wrong tokens for the dashboard come from ${address}: somebody tries tokens, or a script has an old token.`,
    );
  }

  return {
    /** Resolves when the refusal may be sent. */
    async note(address: string, { retryAfterMs }: { retryAfterMs: number }) {
      if (retryAfterMs === 0) return;
      warn(address);
      if (held >= HELD_MAX) return;
      held += 1;
      try {
        await clock.sleep(HELD_MS);
      } finally {
        held -= 1;
      }
    },
  };
}
