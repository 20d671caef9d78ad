import { err, ok, type Result } from '../../lib/result.ts';
import { type Answer, refusal } from '../api/answer.ts';
import { nginxPage } from '../api/nginx-page.ts';
import { RateLimit, type RateLimitSettings } from '../settings/settings.ts';
import { type ActiveLimit, type Admission, createRateLimiter, quotaOf, type RateLimiter } from './rate-limit.ts';

/** Limits the rate of known callers, and adds the headers that describe the limit. */
export interface Throttle {
  /** Returns the headers for an answer to the caller, or the refusal. */
  admit(caller: { organizationId: number; name: string }, now: number): Result<Record<string, string>, Answer>;
  /** Replaces the limit; every caller begins again with a full allowance. */
  setLimit(limit: RateLimit): void;
}

/** The answer of nginx's limits, unless their status was changed. */
const UNAVAILABLE = nginxPage(503, 'Service Temporarily Unavailable');

const NO_HEADERS: Record<string, string> = {};

export function createThrottle(initial: RateLimitSettings): Throttle {
  let limit = initial;
  // Only keys and users that exist get an entry, so the map is no larger than their tables.
  const limiters = new Map<string, RateLimiter>();
  return {
    admit({ organizationId, name }, now) {
      if (limit.kind === 'none') return ok(NO_HEADERS);
      const counted = limit.per === 'organization' ? `organization ${organizationId}` : name;
      const limiter = limiters.get(counted) ?? createRateLimiter(limit);
      limiters.set(counted, limiter);
      const admission = limiter.admit(now);
      const headers = quotaHeaders(limit, admission, now);
      if (admission.allowed) return ok(headers);
      const seconds = Math.max(1, Math.ceil(admission.retryAfterMs / 1000));
      const expected = ` Expected available in ${seconds} second${seconds === 1 ? '' : 's'}.`;
      const detail = `Request was throttled.${limit.retryAfter === 'none' ? '' : expected}`;
      const refused = refusal(limit.status, detail, { ...headers, ...retryAfter(limit, seconds, now) });
      return err(limit.status === 503 ? { ...refused, document: UNAVAILABLE } : refused);
    },
    setLimit(next) {
      limit = RateLimit.parse(next);
      limiters.clear();
    },
  };
}

function retryAfter({ retryAfter: form }: ActiveLimit, seconds: number, now: number): Record<string, string> {
  switch (form) {
    case 'seconds':
      return { 'retry-after': String(seconds) };
    case 'date':
      // A date only has whole seconds, so it is rounded up: a client that obeys it is never too early.
      return { 'retry-after': new Date(Math.ceil(now / 1000) * 1000 + seconds * 1000).toUTCString() };
    case 'wrong':
      return { 'retry-after': '0' };
    case 'none':
      return NO_HEADERS;
  }
}

/** The fields of draft-ietf-httpapi-ratelimit-headers, or the ones that were in use before it. */
function quotaHeaders(limit: ActiveLimit, { remaining, resetMs }: Admission, now: number): Record<string, string> {
  if (limit.headers === 'none') return NO_HEADERS;
  const { quota, windowMs } = quotaOf(limit);
  if (limit.headers === 'draft') {
    return {
      'ratelimit-policy': `"default";q=${quota};w=${Math.ceil(windowMs / 1000)}`,
      ratelimit: `"default";r=${remaining};t=${Math.ceil(resetMs / 1000)}`,
    };
  }
  return {
    'x-ratelimit-limit': String(quota),
    'x-ratelimit-remaining': String(remaining),
    'x-ratelimit-reset': String(Math.ceil((now + resetMs) / 1000)),
  };
}
