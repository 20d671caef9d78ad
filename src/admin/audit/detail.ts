import { isJsonObject, type JsonObject } from '../../lib/json.ts';

const TEXT_MAX = 200;
const LIST_MAX = 20;
/** Fields of forms that are secret or do not describe the action. */
const LEFT_OUT = /^(csrf|password|token|secret)$/i;

/** The values of a request for the audit log, shortened and without secrets (I7, I9). */
export function detailOf(request: unknown, scrub: (text: string) => string): JsonObject {
  if (typeof request !== 'object' || request === null) return {};
  return Object.fromEntries(
    Object.entries(request)
      .filter(([name]) => !LEFT_OUT.test(name))
      .map(([name, value]) => [name, shortened(value, scrub)]),
  );
}

function shortened(value: unknown, scrub: (text: string) => string): string | number | boolean | null {
  if (value === null || typeof value === 'number' || typeof value === 'boolean') return value;
  if (Array.isArray(value)) {
    const [first, rest] = [value.slice(0, LIST_MAX), value.length - LIST_MAX];
    return cut(scrub(first.map(textOf).join(', ')) + (rest > 0 ? ` and ${rest} more` : ''));
  }
  return cut(scrub(textOf(value)));
}

function textOf(value: unknown): string {
  if (typeof value === 'string') return value;
  return isJsonObject(value) || Array.isArray(value) ? JSON.stringify(value) : String(value);
}

function cut(text: string): string {
  return text.length <= TEXT_MAX ? text : `${text.slice(0, TEXT_MAX)}…`;
}
