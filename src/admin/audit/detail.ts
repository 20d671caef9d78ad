import { isJsonObject, type JsonObject } from '../../lib/json.ts';
import type { SecretStore } from '../../lib/logging/secrets.ts';

const TEXT_MAX = 200;
const LIST_MAX = 20;
/** Fields of forms that are secret or do not describe the action. */
const LEFT_OUT = /^(csrf|password|token|secret)$/i;

/** The values of a request for the audit log, shortened and without secrets (I7, I9). */
export function detailOf(request: unknown, secrets: Pick<SecretStore, 'scrubValue'>): JsonObject {
  if (typeof request !== 'object' || request === null) return {};
  return Object.fromEntries(
    Object.entries(request)
      .filter(([name]) => !LEFT_OUT.test(name))
      .map(([name, value]) => [name, shortened(value, secrets)]),
  );
}

function shortened(value: unknown, secrets: Pick<SecretStore, 'scrubValue'>): string | number | boolean | null {
  if (value === null || typeof value === 'number' || typeof value === 'boolean') return value;
  const shown = (one: unknown): string => textOf(one, secrets);
  if (Array.isArray(value)) {
    const [first, rest] = [value.slice(0, LIST_MAX), value.length - LIST_MAX];
    return cut(first.map(shown).join(', ') + (rest > 0 ? ` and ${rest} more` : ''));
  }
  return cut(shown(value));
}

/** Each value is scrubbed by itself, so that a key of an item stays the key that a person can look for. */
function textOf(value: unknown, { scrubValue }: Pick<SecretStore, 'scrubValue'>): string {
  if (!isJsonObject(value) && !Array.isArray(value)) return scrubValue(String(value));
  return JSON.stringify(value, (_, member: unknown) => (typeof member === 'string' ? scrubValue(member) : member));
}

function cut(text: string): string {
  return text.length <= TEXT_MAX ? text : `${text.slice(0, TEXT_MAX)}…`;
}
