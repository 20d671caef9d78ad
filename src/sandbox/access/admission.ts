import { err, ok, type Result } from '../../lib/result.ts';
import type { Endpoint } from '../api/endpoints.ts';
import { type Answer, refusal } from '../api/operation.ts';
import type { RateLimit, RateLimitSettings } from '../settings/settings.ts';
import type { KeyStore, SessionStore } from './keys.ts';
import { createThrottle } from './rate-limit.ts';

/** The headers of a request that identify its sender. */
export interface Credentials {
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
