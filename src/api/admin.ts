import type { PlatformAdmin } from '../domain/ports/platform.ts';
import { NOTHING_EXPECTED } from './answers/classify.ts';
import { isHeaderText } from './credentials.ts';
import { ENDPOINTS, pathOf } from './endpoints.ts';
import { sendWith } from './send-once.ts';
import { keyless, type Session } from './session.ts';

/** Requests with an administrator's token ("Authentication: Key revocation"). */
export function createAdmin(session: Session): PlatformAdmin {
  const { classifier, secrets, userAgent } = session;
  return {
    async revokeKey({ keyId, token, idempotencyKey }, signal) {
      const bearer = token.trim();
      // I7: the token is registered as a secret before it is used.
      secrets.add(bearer);
      if (!isHeaderText(bearer)) {
        const message = "The administrator's token is empty or holds characters that a header cannot carry.";
        return { outcome: classifier.outcomeOf(keyless(message), NOTHING_EXPECTED), latencyMs: 0 };
      }
      const endpoint = ENDPOINTS['api_key.revoke'];
      return sendWith(session, {
        method: endpoint.method,
        path: pathOf(endpoint, keyId),
        // The token is never sent together with an API key: "a key does not manage itself or other keys".
        headers: [
          'Authorization',
          `Bearer ${bearer}`,
          'Accept',
          session.profile.requests.accept,
          'User-Agent',
          userAgent,
          'Idempotency-Key',
          idempotencyKey,
        ],
        body: null,
        expectation: NOTHING_EXPECTED,
        // The request has a token of its own, and a key that leaked must not wait for the rate of the API key.
        exchange: session.exchange,
        signal,
      });
    },
  };
}
