import type { RateLimitSettings } from '../settings/settings.ts';

/** The limiter's decision about one request. */
export interface Admission {
  allowed: boolean;
  /** How long until another request would be accepted; 0 if this request was accepted. */
  retryAfterMs: number;
  /** How many more requests would be accepted now. */
  remaining: number;
  /** The time until the full allowance is available again, if no request comes. */
  resetMs: number;
}

/** Counts one caller's requests. It never reads a clock: `now` is in milliseconds and never decreases. */
export interface RateLimiter {
  /** Decides about one request. An accepted request uses up one of the allowance, a refused request none. */
  admit(now: number): Admission;
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
export function quotaOf(limit: ActiveLimit): { quota: number; windowMs: number } {
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
