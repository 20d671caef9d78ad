// Secrets that a person or a connector has written into the requests of a stream, in place of `auth`.

import { isJsonObject, type JsonObject, type JsonValue } from '../../lib/json.ts';
import { isSecretName, isSecretParameter } from '../../lib/text/secret-names.ts';
import { placeholdersIn, textOf } from './placeholders.ts';
import type { RestStream } from './rest-options.ts';

interface Parts {
  query?: JsonObject | undefined;
  body?: JsonObject | undefined;
  headers?: JsonObject | undefined;
}

/** Shorter values are no secrets, and would be removed from the middle of words. */
export const SECRET_LENGTH_MIN = 6;

/** The values of parameters, members and headers whose names are those of secrets. They must be in no message (I7). */
export function writtenSecrets({ page, changes, each, ...stream }: RestStream): string[] {
  const own = changes !== undefined && 'by' in changes ? changes.page : undefined;
  const status = 'status' in page ? page.status : undefined;
  const secrets = [stream, page, changes, own, status, each].flatMap((parts) => {
    const { query, body, headers } = (parts ?? {}) as Parts;
    return [
      ...secretsIn(query, isSecretParameter),
      ...secretsIn(body, isSecretName),
      ...secretsIn(headers, isSecretName),
    ];
  });
  return [...new Set(secrets)].filter(({ length }) => length >= SECRET_LENGTH_MIN);
}

function secretsIn(value: JsonValue | undefined, isNamed: (name: string) => boolean, isSecret = false): string[] {
  if (value === undefined) return [];
  if (Array.isArray(value)) return value.flatMap((one) => secretsIn(one, isNamed, isSecret));
  if (isJsonObject(value)) {
    return Object.entries(value).flatMap(([name, one]) => secretsIn(one, isNamed, isSecret || isNamed(name)));
  }
  return isSecret && placeholdersIn(value).length === 0 ? [textOf(value)] : [];
}
