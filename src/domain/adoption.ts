// Items that were at the platform before this ledger knew of them. Adopting an item sends nothing. The platform's list
// shows fields of the item; those that the mapping also writes become the baseline. A change waits until a person
// accepts it.

import { canonicalJson, isJsonObject, type JsonObject, type JsonValue, memberOf } from '../lib/json.ts';
import { shellValue, shellWord } from '../lib/text/safe-text.ts';
import type { Reason } from './delivery/stored-reason.ts';
import { ITEM_FIELDS } from './item.ts';
import type { ListableKind } from './ports/target.ts';

/**
 * The known content of an item at the platform: the fields that its mapping writes and the list shows. A field that was
 * never sent is not among them, so that it is never cleared.
 */
export function adoptedBaseline(kind: ListableKind, desired: JsonObject, shown: JsonObject): JsonObject {
  const known: [string, JsonValue][] = [];
  for (const [field, wanted] of Object.entries(desired)) {
    const value = withoutNulls(shown[field] ?? null);
    if (value === null || value === '') continue;
    known.push([field, isSame(kind, field, wanted, value) ? wanted : value]);
  }
  return Object.fromEntries(known);
}

/** The platform may write a value in another form: a decimal with more digits, a number for a text. */
function isSame(kind: ListableKind, field: string, wanted: JsonValue, shown: JsonValue): boolean {
  const schemas: Record<string, { safeParse(value: unknown): { success: boolean; data?: unknown } } | undefined> =
    ITEM_FIELDS[kind];
  const parsed = Object.hasOwn(schemas, field) ? schemas[field]?.safeParse(shown) : undefined;
  const value = parsed?.success ? (parsed.data as JsonValue) : shown;
  if (typeof wanted === 'object' || typeof value === 'object') return canonicalJson(wanted) === canonicalJson(value);
  return String(wanted).normalize('NFC') === String(value).normalize('NFC');
}

function withoutNulls(value: JsonValue): JsonValue {
  if (Array.isArray(value)) return value.map(withoutNulls);
  if (!isJsonObject(value)) return value;
  const members = Object.entries(value as JsonObject).flatMap(([name, member]): [string, JsonValue][] =>
    member === null ? [] : [[name, withoutNulls(member)]],
  );
  return Object.fromEntries(members);
}

const FIELDS_MAX = 20;
const VALUE_LENGTH_MAX = 60;

/** The reason why an adopted item is not sent: the fields that would change, with their old and new values. */
export function adoptedReason(source: string, desired: JsonObject, baseline: JsonObject): Reason {
  const names = [...new Set([...Object.keys(desired), ...Object.keys(baseline)])];
  const changes = names.flatMap((name): [string, string][] => {
    const [before, after] = [memberOf(baseline, name), memberOf(desired, name)];
    if (before !== undefined && after !== undefined && canonicalJson(before) === canonicalJson(after)) return [];
    return [[name, `${valueText(before)} → ${valueText(after)}`]];
  });
  const shown = changes.slice(0, FIELDS_MAX).map(([name, change]) => `${name} ${change}`);
  const more = changes.length > FIELDS_MAX ? `, and ${changes.length - FIELDS_MAX} more` : '';
  return {
    code: 'adopted',
    message: `The item was at the platform before, and these fields would change: ${shown.join(', ')}${more}. Accept the changes with \`dpp-sync sync --accept ${source}\`, or correct them at the source.`,
    fields: Object.fromEntries(changes.slice(0, FIELDS_MAX)),
  };
}

function valueText(value: JsonValue | undefined): string {
  if (value === undefined || value === null) return '(not known)';
  const text = typeof value === 'string' ? JSON.stringify(value) : canonicalJson(value);
  return text.length > VALUE_LENGTH_MAX ? `${text.slice(0, VALUE_LENGTH_MAX)}…` : text;
}

/** The reason of a create whose item at the platform has a field that cannot be compared. */
export function incomparableReason(kind: ListableKind, key: string, { remoteId }: { remoteId: string }): Reason {
  return {
    code: 'ambiguous_key',
    message: `The platform has a ${kind} with this key, ${remoteId}, but one of its fields cannot be compared, such as a text with half a character. If the entry is this ${kind}, confirm that with \`dpp-sync settle --delivered --id ${shellWord(String(JSON.parse(remoteId)))} ${shellWord(key)}\`, or correct the field at the platform and run \`dpp-sync replay --key ${shellValue(key)}\`.`,
  };
}

/** The reason of a create if several items of the platform may be the same item. */
export function ambiguousReason(
  kind: ListableKind,
  key: string,
  { several, entries }: { several: boolean; entries: readonly { remoteId: string; field: string; value: string }[] },
): Reason {
  const ids = entries.map(({ remoteId, field, value }) => `${remoteId} (${field} ${valueText(value)})`).join(', ');
  const found = several
    ? `The platform has several ${kind}s with this key: ${ids}.`
    : `The platform has a ${kind} whose key is written in another form. This may be the same ${kind}: ${ids}.`;
  return {
    code: 'ambiguous_key',
    message: `${found} Name the right ${kind} with \`dpp-sync settle --delivered --id ID ${shellWord(key)}\`, or change the key at the platform or in the source and run \`dpp-sync replay --key ${shellValue(key)}\`.`,
  };
}
