import type { Admission, Limiter } from './limiters.ts';

/** How a server states its limit in headers. */
export const HEADER_STYLES = ['none', 'seconds', 'date', 'ratelimit', 'wrong'] as const;
export type HeaderStyle = (typeof HEADER_STYLES)[number];

const NOTHING: Record<string, string> = {};
/** The wall-clock time at which the simulation begins. */
const EPOCH_MS = Date.UTC(2027, 0, 15);

/**
 * Makes the headers of the answers.
 *
 * @param draw a random number in [0, 1) that selects one of several kinds of wrong headers
 */
export function headersOf(
  style: HeaderStyle,
  draw: number,
): (admission: Admission, limiter: Limiter, now: number) => Record<string, string> {
  switch (style) {
    case 'none':
      return () => NOTHING;
    case 'seconds':
      return ({ allowed, waitMs }) => (allowed ? NOTHING : { 'retry-after': secondsOf(waitMs) });
    case 'date':
      return ({ allowed, waitMs }, _limiter, now) => (allowed ? NOTHING : dates(waitMs, now));
    case 'ratelimit':
      return ({ allowed, waitMs }, limiter) => ({
        ...policyOf(limiter, 1),
        ...(allowed ? NOTHING : { 'retry-after': secondsOf(waitMs) }),
      });
    case 'wrong':
      return WRONG[Math.floor(draw * WRONG.length)] ?? (() => NOTHING);
  }
}

type Headers = ReturnType<typeof headersOf>;

const WRONG: Headers[] = [
  ({ allowed }) => (allowed ? NOTHING : { 'retry-after': '0' }),
  ({ allowed }) => (allowed ? NOTHING : { 'retry-after': 'soon' }),
  ({ allowed }, _limiter, now) =>
    allowed ? NOTHING : { ...dates(0, now), 'retry-after': new Date(EPOCH_MS).toUTCString() },
  (_admission, limiter) => policyOf(limiter, 10),
  (_admission, limiter) => policyOf(limiter, 0.1),
  () => ({ 'ratelimit-policy': '"default";q=0;w=0', ratelimit: '"default";r=-1;t=1e99' }),
];

const secondsOf = (waitMs: number): string => String(Math.max(1, Math.ceil(waitMs / 1000)));

/** Dates have whole seconds: the date of the answer is rounded down, and the date to wait for is rounded up. */
function dates(waitMs: number, now: number): Record<string, string> {
  return {
    date: new Date(EPOCH_MS + Math.floor(now / 1000) * 1000).toUTCString(),
    'retry-after': new Date(EPOCH_MS + Math.ceil((now + waitMs) / 1000) * 1000).toUTCString(),
  };
}

function policyOf(limiter: Limiter, factor: number): Record<string, string> {
  const { requests, windowMs } = limiter.quota();
  const w = windowMs / 1000;
  return {
    'ratelimit-policy': `"default";q=${Math.max(1, Math.round(requests * factor))};w=${Math.max(1, Math.ceil(w))}`,
  };
}
