import type { KeyStore } from '../access/keys.ts';
import { NOT_FOUND, NoBody, type Operation } from '../api/operation.ts';
import type { IdScheme } from '../items/ids.ts';
import { validate } from '../items/validation.ts';

/** POST /api/api-keys/{key_id}/revoke/. Revoking a revoked key changes nothing and is not an error. */
export function createKeyRevocation(keys: KeyStore, ids: IdScheme): Operation {
  return {
    accepts: NoBody,
    naturalKey: ({ params }) => params['key_id'],
    execute({ organizationId, params, body, now }) {
      const parsed = validate(NoBody, body);
      if (!parsed.ok) return parsed.error;
      const id = ids.fromPath(params['key_id'] ?? '');
      const key = id === null ? undefined : keys.revokeWithin(organizationId, id, now);
      if (!key) return NOT_FOUND;
      return {
        status: 200,
        body: {
          id: key.id,
          name: key.name,
          prefix: key.prefix,
          scopes: key.scopes,
          status: 'revoked',
          expires_at: isoOf(key.expiresAt),
          revoked_at: isoOf(key.revokedAt),
        },
      };
    },
  };
}

function isoOf(ms: number | null): string | null {
  return ms === null ? null : new Date(ms).toISOString();
}
