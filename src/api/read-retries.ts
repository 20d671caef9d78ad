import { askedWaitMs, type Outcome } from '../domain/delivery/outcome.ts';
import { fullJitterMs } from '../lib/backoff.ts';
import type { Clock } from '../lib/clock.ts';

/** How many times a read is tried. It changes nothing at the API, so it may be repeated. */
const TRIES_MAX = 5;
const BACKOFF = { baseMs: 1_000, capMs: 30_000 };
/**
 * While the API only refuses the rate, each try waits for its turn, so it needs no other wait. Such tries end after this
 * time, or after this many refusals in a row.
 */
const THROTTLED = { msMax: 90_000, triesMax: 50 };
/** If the API asks for a longer wait, the caller gets the outcome and can show the wait. */
const WAIT_MAX_MS = 60_000;

/** The parts that are needed to wait between two tries. */
export interface RetryPolicy {
  clock: Clock;
  /** Numbers in [0, 1). */
  random: () => number;
  signal?: AbortSignal | undefined;
}

/** The result of one try. With `final` another try cannot help, whatever the outcome is. */
export type Attempt<T> = { ok: true; value: T } | { ok: false; outcome: Outcome; final?: boolean };

/** Reads until an answer comes. A failure that may pass is tried again after the wait that the API asks for. */
export async function withRetries<T>(
  { clock, random, signal }: RetryPolicy,
  attempt: () => Promise<Attempt<T>>,
): Promise<Attempt<T>> {
  const begunAt = clock.ticks();
  let failed = 0;
  let throttled = 0;
  for (;;) {
    const result = await attempt();
    if (result.ok || result.final) return result;
    const { outcome } = result;
    if (outcome.kind === 'throttled') throttled += 1;
    else if (outcome.kind === 'unavailable' || outcome.kind === 'ambiguous') failed += 1;
    else return result;
    const isSpent = throttled === THROTTLED.triesMax || clock.ticks() - begunAt > THROTTLED.msMax;
    const isOver = outcome.kind === 'throttled' ? isSpent : failed === TRIES_MAX;
    const ownMs = outcome.kind === 'throttled' ? 0 : fullJitterMs(failed + throttled, BACKOFF, random());
    const waitMs = askedWaitMs(outcome) ?? ownMs;
    if (isOver || waitMs > WAIT_MAX_MS || signal?.aborted) return result;
    if (waitMs > 0) await clock.sleep(waitMs, signal);
    if (signal?.aborted) return result;
  }
}
