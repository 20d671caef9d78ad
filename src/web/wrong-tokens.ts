import type { Clock } from '../lib/clock.ts';
import type { Logger } from '../lib/logging/logging.ts';
import type { Stranger } from './access.ts';

/** Slows down guessers of tokens, and logs them. */
export interface WrongTokens {
  /** Resolves when the refusal may be sent. */
  note(address: string, stranger: Stranger): Promise<void>;
}

/** How long a refusal is delayed after its address has sent too many wrong tokens. */
const HELD_MS = 500;
/**
 * The most refusals that are delayed at the same time (I9). Further refusals are sent without a delay, so that they
 * hold no connections.
 */
const HELD_MAX = 32;
const WARNED_EVERY_MS = 60_000;

/**
 * Delays refusals to addresses that send many wrong tokens, and logs a warning about them. The limits apply to all
 * these addresses together. The right token never waits here.
 */
export function createWrongTokens({ clock, log }: { clock: Clock; log: Logger }): WrongTokens {
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
    async note(address, { retryAfterMs }) {
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
