import type { Stranger } from '../../access.ts';

/** The answer after too many wrong attempts. */
export function tooMany({ retryAfterMs }: Stranger) {
  const seconds = Math.ceil(retryAfterMs / 1000);
  const problem = `Too many wrong attempts. Try again in ${seconds} seconds.`;
  return { problem, status: 429, headers: { 'retry-after': String(seconds) } };
}
