/** The server's decision whether it accepts one request. */
export interface Admission {
  allowed: boolean;
  /** Milliseconds until another request would be accepted; 0 for an accepted request. */
  waitMs: number;
}

/** A rate limit of a simulated server. `now` is in milliseconds and does not go backwards. */
export interface Limiter {
  admit(now: number): Admission;
  /** Multiplies the limit from now on. The requests so far still count. */
  scale(factor: number): void;
  /** The limit in the form of the RateLimit header fields. */
  quota(): { requests: number; windowMs: number };
}

const ALLOWED: Admission = { allowed: true, waitMs: 0 };

/** Starts a new count at every whole multiple of the window, at an offset that no client knows. */
export function fixedWindow(ratePerSecond: number, windowMs: number, offsetMs: number): Limiter {
  let limit = countOf(ratePerSecond, windowMs);
  let window = Number.NEGATIVE_INFINITY;
  let used = 0;
  return {
    admit(now) {
      const present = Math.floor((now + offsetMs) / windowMs);
      if (present !== window) {
        window = present;
        used = 0;
      }
      if (used < limit) {
        used += 1;
        return ALLOWED;
      }
      return { allowed: false, waitMs: (window + 1) * windowMs - offsetMs - now };
    },
    scale(factor) {
      limit = Math.max(1, Math.round(limit * factor));
    },
    quota: () => ({ requests: limit, windowMs }),
  };
}

/** Allows no more than the limit in any window, with a log of requests, like the throttles of Django REST Framework. */
export function slidingWindow(ratePerSecond: number, windowMs: number, { countsRefused = false } = {}): Limiter {
  let limit = countOf(ratePerSecond, windowMs);
  let log: number[] = [];
  let oldest = 0;
  return {
    admit(now) {
      while (oldest < log.length && (log[oldest] ?? 0) <= now - windowMs) oldest += 1;
      if (oldest > 1024 && oldest * 2 > log.length) {
        log = log.slice(oldest);
        oldest = 0;
      }
      const count = log.length - oldest;
      const allowed = count < limit;
      if (allowed || countsRefused) log.push(now);
      if (allowed) return ALLOWED;
      return { allowed: false, waitMs: (log[log.length - limit] ?? now) + windowMs - now };
    },
    scale(factor) {
      limit = Math.max(1, Math.round(limit * factor));
    },
    quota: () => ({ requests: limit, windowMs }),
  };
}

/**
 * The generic cell rate algorithm (ITU-T I.371), which is a token bucket. The size of the burst is given in seconds of
 * the rate. It is at least two requests.
 */
export function gcra(ratePerSecond: number, burstSeconds: number): Limiter {
  let rate = ratePerSecond;
  let fullAt = Number.NEGATIVE_INFINITY;
  const burst = (): number => Math.max(2, rate * burstSeconds);
  return {
    admit(now) {
      const intervalMs = 1000 / rate;
      const allowedAt = fullAt - (burst() - 1) * intervalMs;
      if (now < allowedAt) return { allowed: false, waitMs: allowedAt - now };
      fullAt = Math.max(fullAt, now) + intervalMs;
      return ALLOWED;
    },
    scale(factor) {
      // The bucket keeps its fill level in per cent.
      rate *= factor;
    },
    quota: () => ({ requests: Math.floor(burst()), windowMs: (burst() * 1000) / rate }),
  };
}

/** A request has to pass all limiters. The first one that refuses it gives the answer. */
export function stacked(limiters: readonly Limiter[]): Limiter {
  return {
    admit(now) {
      for (const limiter of limiters) {
        const admission = limiter.admit(now);
        if (!admission.allowed) return admission;
      }
      return ALLOWED;
    },
    scale(factor) {
      for (const limiter of limiters) limiter.scale(factor);
    },
    quota() {
      const quotas = limiters.map((limiter) => limiter.quota());
      return quotas.reduce((least, one) =>
        one.requests / one.windowMs < least.requests / least.windowMs ? one : least,
      );
    },
  };
}

function countOf(ratePerSecond: number, windowMs: number): number {
  return Math.max(1, Math.round((ratePerSecond * windowMs) / 1000));
}
