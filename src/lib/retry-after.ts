// The wait that an answer asks for before the next request, in the forms that servers use.

/** The headers of an answer by their names in lower case. */
export type AnswerHeaders = Readonly<Record<string, string | string[] | undefined>>;

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
