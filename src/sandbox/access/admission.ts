import { err, ok, type Result } from '../../lib/errors.ts';
import type { Endpoint } from '../api/endpoints.ts';
import { type Answer, nginxPage, refusal } from '../api/operation.ts';
import { RateLimit, type RateLimitSettings } from '../settings/settings.ts';
import type { KeyStore, SessionStore } from './keys.ts';

/** The headers of a request that identify its sender. */
interface Credentials {
  apiKey: string | undefined;
  authorization: string | undefined;
}

/** A caller that was admitted. */
export interface Caller {
  organizationId: number;
  /** Headers that are sent with every answer to the caller. */
  headers: Record<string, string>;
}

/** The challenge that RFC 9110 requires with every 401. */
const KEY_CHALLENGE = { 'www-authenticate': 'X-API-Key realm="api"' };
const TOKEN_CHALLENGE = { 'www-authenticate': 'Bearer realm="api"' };

const WRONG_PLAN = refusal(402, 'API access requires the Enterprise plan.');

interface KnownCaller {
  organizationId: number;
  /** A number that identifies the caller within its organisation. */
  name: string;
}

/** Admits callers. */
export function createAdmission(keys: KeyStore, sessions: SessionStore, initial: RateLimitSettings) {
  const throttle = createThrottle(initial);

  const withKey = (
    given: string | undefined,
    scope: Endpoint['scope'] | null,
    now: number,
  ): Result<KnownCaller, Answer> => {
    if (given === undefined) return err(refusal(401, 'Authentication credentials were not provided.', KEY_CHALLENGE));
    const key = keys.find(given);
    if (!key) return err(refusal(401, 'The API key is invalid.', KEY_CHALLENGE));
    if (key.revokedAt !== null) return err(refusal(401, 'The API key has been revoked.', KEY_CHALLENGE));
    if (key.expiresAt !== null && now >= key.expiresAt) {
      return err(refusal(401, 'The API key has expired.', KEY_CHALLENGE));
    }
    if (key.plan !== 'enterprise') return err(WRONG_PLAN);
    if (scope === 'administrator') return err(refusal(403, 'An API key cannot manage API keys.'));
    if (scope !== null && !key.scopes.includes(scope)) {
      return err(refusal(403, `The API key does not have the scope "${scope}".`));
    }
    return ok(key);
  };

  const withToken = (authorization: string, now: number): Result<KnownCaller, Answer> => {
    const token = /^Bearer +(\S+) *$/i.exec(authorization)?.[1] ?? '';
    if (token.startsWith('dpp_')) {
      return err(refusal(401, 'An API key is not a session token.', TOKEN_CHALLENGE));
    }
    const session = sessions.verify(token, now);
    if (!session.ok) return err(refusal(401, `The session token is ${session.error}.`, TOKEN_CHALLENGE));
    const { organizationId, userId, role, plan } = session.value;
    if (plan !== 'enterprise') return err(WRONG_PLAN);
    if (role === 'member') return err(refusal(403, 'The role "member" may not manage API keys.'));
    return ok({ organizationId, name: `user ${userId}` });
  };

  return {
    /**
     * Checks credentials, plan, scope or role, and rate, in this order, so that a refusal shows a stranger nothing about
     * existing data, and a request that could never succeed does not use up the allowance. With a null scope no scope is
     * needed.
     */
    admit(
      { apiKey, authorization }: Credentials,
      scope: Endpoint['scope'] | null,
      now: number,
    ): Result<Caller, Answer> {
      const known =
        scope === 'administrator' && authorization !== undefined
          ? withToken(authorization, now)
          : withKey(apiKey, scope, now);
      if (!known.ok) return known;
      const { organizationId, name } = known.value;
      const throttled = throttle.admit({ organizationId, name }, now);
      return throttled.ok ? ok({ organizationId, headers: throttled.value }) : throttled;
    },
    /** Replaces the limit; every caller begins again with a full allowance. */
    setRateLimit: (limit: RateLimit): void => throttle.setLimit(limit),
  };
}

export type Admission = ReturnType<typeof createAdmission>;

/** The answer of nginx's limits, unless their status was changed. */
const UNAVAILABLE = nginxPage(503, 'Service Temporarily Unavailable');

const NO_HEADERS: Record<string, string> = {};

/** Limits the rate of known callers, and adds the headers that describe the limit. */
function createThrottle(initial: RateLimitSettings) {
  let limit = initial;
  // Only keys and users that exist get an entry, so the map is no larger than their tables.
  const limiters = new Map<string, RateLimiter>();
  return {
    /** Returns the headers for an answer to the caller, or the refusal. */
    admit(
      { organizationId, name }: { organizationId: number; name: string },
      now: number,
    ): Result<Record<string, string>, Answer> {
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
    /** Replaces the limit; every caller begins again with a full allowance. */
    setLimit(next: RateLimit): void {
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
function quotaHeaders(limit: ActiveLimit, { remaining, resetMs }: Grant, now: number): Record<string, string> {
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

/** The limiter's decision about one request. */
interface Grant {
  allowed: boolean;
  /** How long until another request would be accepted; 0 if this request was accepted. */
  retryAfterMs: number;
  /** How many more requests would be accepted now. */
  remaining: number;
  /** The time until the full allowance is available again, if no request comes. */
  resetMs: number;
}

/** Counts one caller's requests. It never reads a clock: `now` is in milliseconds and never decreases. */
interface RateLimiter {
  /** Decides about one request. An accepted request uses up one of the allowance, a refused request none. */
  admit(now: number): Grant;
}

/** The settings of a limit, without `none`. */
export type ActiveLimit = Exclude<RateLimitSettings, { kind: 'none' }>;

/** A limiter in its initial state, which is a full allowance. */
export function createRateLimiter(limit: ActiveLimit): RateLimiter {
  switch (limit.kind) {
    case 'token-bucket':
    case 'gcra':
      return cellRate(limit.ratePerSecond, limit.burst);
    case 'fixed-window':
      return fixedWindow(limit.limit, limit.windowMs);
    case 'sliding-window':
      return slidingWindow(limit.limit, limit.windowMs);
  }
}

/** The allowance as a quota over a window, which is how headers state it. */
function quotaOf(limit: ActiveLimit): { quota: number; windowMs: number } {
  if (limit.kind === 'fixed-window' || limit.kind === 'sliding-window') {
    return { quota: limit.limit, windowMs: limit.windowMs };
  }
  return { quota: limit.burst, windowMs: (limit.burst * 1000) / limit.ratePerSecond };
}

/**
 * The generic cell rate algorithm (ITU-T I.371), which is a token bucket: instead of counting tokens it stores the time
 * at which the bucket would be full again, so that no fraction of a token is lost to rounding.
 */
function cellRate(ratePerSecond: number, burst: number): RateLimiter {
  const intervalMs = 1000 / ratePerSecond;
  let fullAt = Number.NEGATIVE_INFINITY;
  return {
    admit(now) {
      const allowedAt = fullAt - (burst - 1) * intervalMs;
      const allowed = now >= allowedAt;
      if (allowed) fullAt = Math.max(fullAt, now) + intervalMs;
      const resetMs = fullAt - now;
      return {
        allowed,
        retryAfterMs: allowed ? 0 : Math.ceil(allowedAt - now),
        remaining: Math.max(0, Math.floor(burst - resetMs / intervalMs)),
        resetMs,
      };
    },
  };
}

/**
 * Windows start at whole multiples of their length since the Unix epoch, so that the windows of two keys begin at the
 * same time.
 */
function fixedWindow(limit: number, windowMs: number): RateLimiter {
  let windowStart = Number.NEGATIVE_INFINITY;
  let used = 0;
  return {
    admit(now) {
      const start = Math.floor(now / windowMs) * windowMs;
      if (start !== windowStart) {
        windowStart = start;
        used = 0;
      }
      const allowed = used < limit;
      if (allowed) used += 1;
      const resetMs = start + windowMs - now;
      return { allowed, retryAfterMs: allowed ? 0 : resetMs, remaining: limit - used, resetMs };
    },
  };
}

/**
 * Keeps a log of the last accepted requests, so that no window of this length has more requests than the limit,
 * wherever it begins.
 */
function slidingWindow(limit: number, windowMs: number): RateLimiter {
  const admittedAt: number[] = [];
  let oldest = 0;
  return {
    admit(now) {
      while (oldest < admittedAt.length && (admittedAt[oldest] ?? 0) <= now - windowMs) oldest += 1;
      // Requests before the window are removed only when they are half of the log, so that the removal costs little on
      // average.
      if (oldest * 2 > admittedAt.length) {
        admittedAt.splice(0, oldest);
        oldest = 0;
      }
      const allowed = admittedAt.length - oldest < limit;
      if (allowed) admittedAt.push(now);
      const first = admittedAt[oldest] ?? now;
      return {
        allowed,
        retryAfterMs: allowed ? 0 : first + windowMs - now,
        remaining: limit - (admittedAt.length - oldest),
        resetMs: (admittedAt.at(-1) ?? now) + windowMs - now,
      };
    },
  };
}
