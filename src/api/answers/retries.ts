// The rate that answers state, and the retries of reads.
import { askedWaitMs, type Outcome } from '../../domain/delivery/outcome.ts';
import { type Clock, fullJitterMs } from '../../lib/clock.ts';
import type { AnswerHeaders } from '../../lib/retry-after.ts';

/** The longest text of a field that is read. */
const TEXT_MAX = 1000;

/** Fields that state a quota with its window, in the forms of the draft and of earlier conventions. */
const FIELDS = ['ratelimit-policy', 'ratelimit-limit', 'x-ratelimit-policy', 'x-ratelimit-limit'];
/** A stated rate outside these bounds, per second, cannot be meant as a limit. */
const SANE = { least: 1 / 3600, most: 100_000 };
const WINDOW_SECONDS_MAX = 86_400;

/**
 * The rate that an answer states as the limit: `"name";q=100;w=60` (draft-ietf-httpapi-ratelimit-headers) or `100;w=60`
 * (its versions up to 06). If there are several policies, the strictest one counts. The remaining quota is ignored, because it may be
 * shared with other clients. The time of the reset counts only for a refusal (`retryAfterMs`).
 *
 * @returns requests per second; null if no plausible rate is stated with a window
 */
export function advisedRate(headers: AnswerHeaders): number | null {
  let least: number | null = null;
  for (const name of FIELDS) {
    const value = headers[name];
    if (value === undefined) continue;
    const text = (Array.isArray(value) ? value.join(',') : value).slice(0, TEXT_MAX);
    for (const policy of text.split(',')) {
      const rate = rateOf(policy);
      if (rate !== null && (least === null || rate < least)) least = rate;
    }
  }
  return least;
}

function rateOf(policy: string): number | null {
  const [head = '', ...parameters] = policy.split(';').map((part) => part.trim());
  const named = new Map(parameters.map((one) => one.split('=', 2) as [string, string | undefined]));
  const quota = numberIn(named.get('q') ?? head);
  const seconds = numberIn(named.get('w'));
  if (quota === null || seconds === null || seconds <= 0 || seconds > WINDOW_SECONDS_MAX) return null;
  const rate = quota / seconds;
  return rate >= SANE.least && rate <= SANE.most ? rate : null;
}

function numberIn(text: string | undefined): number | null {
  return text !== undefined && /^\d{1,9}(?:\.\d{1,6})?$/.test(text) ? Number(text) : null;
}

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
