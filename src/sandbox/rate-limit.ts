import type { RateLimit } from './settings.ts';

/** The limiter's word on one request: let in, or how many milliseconds until another one would be. */
export type Admission = { allowed: true } | { allowed: false; retryAfterMs: number };

/** Counts one caller's requests. It never reads a clock: `now` is in milliseconds and does not go backwards. */
export interface RateLimiter {
  /** Uses up one request when it is allowed; a refused one costs nothing. */
  admit(now: number): Admission;
}

/** A limiter in its initial state, which is a full allowance. */
export function createRateLimiter(limit: RateLimit): RateLimiter {
  switch (limit.kind) {
    case 'none':
      return { admit: () => ({ allowed: true }) };
    case 'token-bucket':
      return tokenBucket(limit.ratePerSecond, limit.burst);
    case 'fixed-window':
      return fixedWindow(limit.limit, limit.windowMs);
  }
}

/**
 * A token bucket in the form of the generic cell rate algorithm (ITU-T I.371): instead of counting tokens it keeps the
 * time at which the bucket would be full again, so that no fraction of a token is lost to rounding.
 */
function tokenBucket(ratePerSecond: number, burst: number): RateLimiter {
  const intervalMs = 1000 / ratePerSecond;
  let fullAt = Number.NEGATIVE_INFINITY;
  return {
    admit(now) {
      const allowedAt = fullAt - (burst - 1) * intervalMs;
      if (now < allowedAt) return { allowed: false, retryAfterMs: Math.ceil(allowedAt - now) };
      fullAt = Math.max(fullAt, now) + intervalMs;
      return { allowed: true };
    },
  };
}

/** Windows start at whole multiples of their length since the Unix epoch, so that two keys' windows turn together. */
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
      if (used >= limit) return { allowed: false, retryAfterMs: start + windowMs - now };
      used += 1;
      return { allowed: true };
    },
  };
}
