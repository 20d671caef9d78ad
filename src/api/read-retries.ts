import { askedWaitMs, type Outcome } from '../domain/delivery/outcome.ts';
import { fullJitterMs } from '../lib/backoff.ts';
import type { Clock } from '../lib/clock.ts';

/** How many times a read is tried. It changes nothing at the API, so it may be repeated. */
const TRIES_MAX = 5;
const BACKOFF = { baseMs: 1_000, capMs: 30_000 };
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
  for (let number = 1; ; number += 1) {
    const result = await attempt();
    if (result.ok || result.final) return result;
    const { outcome } = result;
    const waitMs = askedWaitMs(outcome) ?? fullJitterMs(number, BACKOFF, random());
    const passing = outcome.kind === 'throttled' || outcome.kind === 'unavailable' || outcome.kind === 'ambiguous';
    if (!passing || number === TRIES_MAX || waitMs > WAIT_MAX_MS || signal?.aborted) return result;
    await clock.sleep(waitMs, signal);
    if (signal?.aborted) return result;
  }
}
