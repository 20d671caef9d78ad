import type { Decision, Limiter } from './limiters.ts';

/** How a server tells of its limit. */
export const TOLD = ['none', 'seconds', 'date', 'ratelimit', 'wrong'] as const;
export type Told = (typeof TOLD)[number];

const NOTHING: Record<string, string> = {};
/** The simulation begins at this time of the wall clock. */
const EPOCH_MS = Date.UTC(2027, 0, 15);

/** What the answers carry. Wrong ones are of several kinds, by the random number that is drawn for the server. */
export function headersOf(
  told: Told,
  draw: number,
): (decision: Decision, limiter: Limiter, now: number) => Record<string, string> {
  switch (told) {
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
  (_decision, limiter) => policyOf(limiter, 10),
  (_decision, limiter) => policyOf(limiter, 0.1),
  () => ({ 'ratelimit-policy': '"default";q=0;w=0', ratelimit: '"default";r=-1;t=1e99' }),
];

const secondsOf = (waitMs: number): string => String(Math.max(1, Math.ceil(waitMs / 1000)));

/** Whole seconds: the date of the answer is rounded down, and the one to wait for is rounded up. */
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
