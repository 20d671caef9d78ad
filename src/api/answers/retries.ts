// When a request is sent again: the wait that an answer asks for, in the forms that servers use, and the retries of reads.
import { askedWaitMs, type Outcome } from '../../domain/delivery/outcome.ts';
import { type Clock, fullJitterMs } from '../../lib/clock.ts';
import type { AnswerHeaders } from '../transport.ts';

/** The longest wait. A longer wait in `Retry-After` is shortened to this one. A longer wait in any other field is ignored. */
export const ASKED_WAIT_MAX_MS = 31 * 86_400_000;

/** Numbers from here on are a Unix time in seconds. Numbers from `MILLISECONDS_FROM` on are a Unix time in milliseconds. */
const UNIX_TIME_FROM = 1_000_000_000;
const MILLISECONDS_FROM = 1_000_000_000_000;
/** The longest text of a field that is read. */
const TEXT_MAX = 1000;

/** Fields that only name the end of the quota's window. The name from the draft comes first. */
const RESET_FIELDS = ['ratelimit-reset', 'x-ratelimit-reset', 'x-rate-limit-reset'];

/**
 * The wait that `Retry-After` asks for, in milliseconds. The field holds seconds or an HTTP date (RFC 9110, section 10.2.3). A date is
 * read relative to the answer's own `Date`, so that a wrong clock on either side does no harm.
 *
 * @returns null if the header is absent, negative, or neither of the two
 */
export function retryAfterMs(headers: AnswerHeaders, nowMs: number): number | null {
  const text = first(headers['retry-after'])?.trim();
  if (text === undefined) return null;
  if (/^\d+(\.\d+)?$/.test(text)) return Math.min(Math.ceil(Number(text) * 1000), ASKED_WAIT_MAX_MS);
  const at = httpDateOf(text);
  return at === null ? null : Math.min(Math.max(at - sentAt(headers, nowMs), 0), ASKED_WAIT_MAX_MS);
}

/**
 * The wait that a 429 asks for, in milliseconds: the one in `Retry-After`, or else the time until the quota is reset. A reset in the
 * past, or too far in the future, is ignored.
 */
export function throttledForMs(headers: AnswerHeaders, nowMs: number): number | null {
  return retryAfterMs(headers, nowMs) ?? quotaResetMs(headers, nowMs);
}

/**
 * `RateLimit: "default";r=0;t=30` (draft-ietf-httpapi-ratelimit-headers), `RateLimit: limit=10, remaining=0, reset=30`
 * (its versions 03 to 07), or a separate field, which may hold seconds, a Unix time in seconds or milliseconds, or a
 * date.
 */
function quotaResetMs(headers: AnswerHeaders, nowMs: number): number | null {
  const at = sentAt(headers, nowMs);
  const combined = combinedResetMs(all(headers['ratelimit']));
  if (combined !== null) return combined;
  for (const name of RESET_FIELDS) {
    const text = first(headers[name])?.trim().slice(0, TEXT_MAX);
    const waitMs = text === undefined ? null : resetMs(text, at);
    if (waitMs !== null) return waitMs;
  }
  return null;
}

/**
 * If there are several quotas, the longest reset of the exhausted ones counts. If none states that it is exhausted, the
 * longest of all counts.
 */
function combinedResetMs(text: string): number | null {
  const quotas = text
    .slice(0, TEXT_MAX)
    .split(/,(?=\s*(?:"|[\w-]+\s*;))/)
    .map(quotaOf);
  const usedUp = quotas.filter(({ remaining }) => remaining === '0');
  const waits = (usedUp.length > 0 ? usedUp : quotas).flatMap(({ reset }) => secondsMs(reset) ?? []);
  return waits.length === 0 ? null : Math.max(...waits);
}

function quotaOf(text: string): { remaining: string | undefined; reset: string | undefined } {
  const named = new Map(text.split(/[;,]/).map((part) => part.trim().split('=', 2) as [string, string | undefined]));
  return { remaining: named.get('r') ?? named.get('remaining'), reset: named.get('t') ?? named.get('reset') };
}

function resetMs(text: string, sentAtMs: number): number | null {
  if (!/^\d{1,15}(\.\d{1,9})?$/.test(text)) {
    const at = httpDateOf(text) ?? isoDateOf(text);
    return at === null ? null : sane(at - sentAtMs);
  }
  const number = Number(text);
  if (number < UNIX_TIME_FROM) return secondsMs(text);
  return sane((number < MILLISECONDS_FROM ? number * 1000 : number) - sentAtMs);
}

function secondsMs(text: string | undefined): number | null {
  return text !== undefined && /^\d{1,9}(\.\d{1,9})?$/.test(text) ? sane(Number(text) * 1000) : null;
}

function sane(waitMs: number): number | null {
  return waitMs > 0 && waitMs <= ASKED_WAIT_MAX_MS ? Math.ceil(waitMs) : null;
}

/** When the answer was sent, by the clock of its sender. */
function sentAt(headers: AnswerHeaders, nowMs: number): number {
  return httpDateOf(first(headers['date'])) ?? nowMs;
}

/** HTTP dates begin with the name of a day; `Date.parse` alone would also take "-5" for one. */
function httpDateOf(text: string | undefined): number | null {
  return text !== undefined && /^[A-Za-z]{3,9},? /.test(text) ? parsed(text) : null;
}

/** RFC 3339. A time without a zone is refused, because its zone is unknown. */
function isoDateOf(text: string): number | null {
  return /^\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:?\d\d)$/i.test(text) ? parsed(text) : null;
}

function parsed(text: string): number | null {
  const ms = Date.parse(text);
  return Number.isNaN(ms) ? null : ms;
}

function first(value: string | string[] | undefined): string | undefined {
  return Array.isArray(value) ? value[0] : value;
}

function all(value: string | string[] | undefined): string {
  return Array.isArray(value) ? value.join(', ') : (value ?? '');
}

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
