import type { AnswerHeaders } from './transport.ts';

/** However long the API asks to wait, it is asked again after an hour. */
export const RETRY_AFTER_MAX_MS = 3_600_000;

/**
 * The wait that `Retry-After` asks for, in milliseconds: seconds or an HTTP date (RFC 9110, section 10.2.3). A date is
 * taken relative to the answer's own `Date`, so that a wrong clock on either side does no harm.
 *
 * @returns null when the header is absent, negative or neither of the two
 */
export function retryAfterMs(headers: AnswerHeaders, nowMs: number): number | null {
  const text = first(headers['retry-after'])?.trim();
  if (text === undefined) return null;
  if (/^\d+(\.\d+)?$/.test(text)) return Math.min(Math.ceil(Number(text) * 1000), RETRY_AFTER_MAX_MS);
  const at = dateOf(text);
  if (at === null) return null;
  const since = dateOf(first(headers['date'])) ?? nowMs;
  return Math.min(Math.max(at - since, 0), RETRY_AFTER_MAX_MS);
}

/** HTTP dates begin with the name of a day; `Date.parse` alone would also take "-5" for one. */
function dateOf(text: string | undefined): number | null {
  if (text === undefined || !/^[A-Za-z]{3,9},? /.test(text)) return null;
  const ms = Date.parse(text);
  return Number.isNaN(ms) ? null : ms;
}

function first(value: string | string[] | undefined): string | undefined {
  return Array.isArray(value) ? value[0] : value;
}
