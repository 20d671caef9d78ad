import { err, ok, type Result } from '../lib/result.ts';
import { type Answer, refusal } from './answer.ts';
import type { Scope } from './endpoints.ts';
import type { KeyStore, StoredKey } from './keys.ts';
import { createRateLimiter, type RateLimiter } from './rate-limit.ts';
import { RateLimit } from './settings.ts';

/** Decides who is let in. */
export interface Admission {
  /**
   * Checks key, plan, scope and rate, in this order, so that a refusal tells a stranger nothing about what exists and a
   * request that could never succeed uses up no allowance. A null scope asks for none.
   */
  admit(key: string | undefined, scope: Scope | null, now: number): Result<StoredKey, Answer>;
  /** Replaces the limit; every key starts anew with a full allowance. */
  setRateLimit(limit: RateLimit): void;
}

/** RFC 9110 wants a challenge with every 401. */
const CHALLENGE = { 'www-authenticate': 'X-API-Key realm="api"' };

export function createAdmission(keys: KeyStore, initial: RateLimit): Admission {
  let limit = initial;
  // Only keys that were issued get an entry, so the map is no larger than the table of keys.
  const limiters = new Map<number, RateLimiter>();

  const throttle = (key: StoredKey, now: number): Answer | undefined => {
    if (limit.kind === 'none') return undefined;
    let limiter = limiters.get(key.rowId);
    if (!limiter) {
      limiter = createRateLimiter(limit);
      limiters.set(key.rowId, limiter);
    }
    const admission = limiter.admit(now);
    if (admission.allowed) return undefined;
    if (limit.retryAfter === 'none') return refusal(429, 'Request was throttled.');
    const seconds = Math.max(1, Math.ceil(admission.retryAfterMs / 1000));
    const detail = `Request was throttled. Expected available in ${seconds} second${seconds === 1 ? '' : 's'}.`;
    return refusal(429, detail, { 'retry-after': String(seconds) });
  };

  return {
    admit(given, scope, now) {
      if (given === undefined) return err(refusal(401, 'Authentication credentials were not provided.', CHALLENGE));
      const key = keys.find(given);
      if (!key) return err(refusal(401, 'The API key is invalid.', CHALLENGE));
      if (key.revokedAt !== null) return err(refusal(401, 'The API key has been revoked.', CHALLENGE));
      if (key.expiresAt !== null && now >= key.expiresAt) {
        return err(refusal(401, 'The API key has expired.', CHALLENGE));
      }
      if (key.plan !== 'enterprise') return err(refusal(402, 'API access requires the Enterprise plan.'));
      if (scope !== null && !key.scopes.includes(scope)) {
        return err(refusal(403, `The API key does not have the scope "${scope}".`));
      }
      const throttled = throttle(key, now);
      return throttled ? err(throttled) : ok(key);
    },
    setRateLimit(next) {
      limit = RateLimit.parse(next);
      limiters.clear();
    },
  };
}
