import type { Issue } from '../../domain/issue.ts';
import { ITEM_FIELDS, type Item, type ItemKind, parseItem } from '../../domain/item.ts';
import { naturalKeyOf } from '../../domain/natural-key.ts';
import type { Profile } from '../../domain/profile.ts';
import type { JsonObject } from '../../lib/json.ts';
import { err, ok, type Result } from '../../lib/result.ts';
import { suggest } from '../../lib/text/suggest.ts';
import { MappingError } from './mapping-error.ts';
import type { ValueRules } from './value-rules.ts';
import { numberText, requireIdentifying, shown } from './values.ts';

/** The fields that items of each kind may have: the canonical ones and those that the profile allows. */
export type AllowedFields = Readonly<Record<ItemKind, readonly string[]>>;

/** The checks for the items of a mapping, for expressions and for modules. */
export interface ItemChecks {
  rules: ValueRules;
  /** Undefined if the profile is not known. Then any field is allowed. */
  fields: AllowedFields | undefined;
  /** The fields by which the API identifies items. */
  naturalKeys: Profile['naturalKeys'];
}

/** Checks and normalises an item that a mapping has made. */
export function makeItem(draft: Item, { rules, fields, naturalKeys }: ItemChecks): Result<Item, Issue[]> {
  const given = rules.withoutEmpty(withTexts(draft.kind, draft.payload));
  const { payload, issues } = withNaturalKey(draft.kind, given, naturalKeys);
  issues.push(...unknownFields(draft.kind, payload, fields));
  const parsed = parseItem({ ...draft, payload });
  if (!parsed.ok) issues.push(...parsed.error);
  const failed = new Set(issues.map(({ field }) => rootOf(field)));
  issues.push(...rules.check(payload, (field) => failed.has(field)));
  return parsed.ok && issues.length === 0 ? ok(parsed.value) : err(issues);
}

/** The payload whose natural key has the form of a text that identifies. The other fields do not change. */
function withNaturalKey(
  kind: ItemKind,
  payload: JsonObject,
  naturalKeys: Profile['naturalKeys'],
): { payload: JsonObject; issues: Issue[] } {
  const found = naturalKeyOf({ naturalKeys }, kind, payload);
  if (found === null) return { payload, issues: [] };
  const { field, value } = found;
  try {
    const text = requireIdentifying(field, value);
    return { payload: text === value ? payload : { ...payload, [field]: text }, issues: [] };
  } catch (error) {
    if (!(error instanceof MappingError)) throw error;
    const { code, message, cure = '' } = error;
    return { payload, issues: [{ code, field, value, message, cure }] };
  }
}

/** The name of the field that an issue is about, without the members within it. */
export function rootOf(field = ''): string {
  return field.split('.', 1)[0] ?? '';
}

/** Numbers in text fields become text by the rule of `numberText`. */
function withTexts(kind: ItemKind, payload: JsonObject): JsonObject {
  const numbers = Object.entries(payload).filter(([name, value]) => typeof value === 'number' && holdsText(kind, name));
  if (numbers.length === 0) return payload;
  // `numberText` gives no text for a number whose digits are not certain. The field then keeps the number, and the validation
  // refuses it because the field takes only text.
  const texts = numbers.map(([name, value]) => [name, numberText(Number(value)) ?? value]);
  return { ...payload, ...(Object.fromEntries(texts) as JsonObject) };
}

/** True for canonical fields that take a text and refuse a number. */
export function holdsText(kind: ItemKind, name: string): boolean {
  const schemas: Partial<Record<string, { safeParse(value: unknown): { success: boolean } }>> = ITEM_FIELDS[kind];
  if (!Object.hasOwn(schemas, name)) return false;
  const schema = schemas[name];
  return schema !== undefined && schema.safeParse('a').success && !schema.safeParse(1).success;
}

function unknownFields(kind: ItemKind, payload: JsonObject, fields: AllowedFields | undefined): Issue[] {
  const allowed = fields?.[kind];
  if (allowed === undefined) return [];
  return Object.keys(payload)
    .filter((name) => !allowed.includes(name))
    .map((name) => {
      const near = suggest(name, allowed);
      const extra = `To send it nevertheless, list it under extraFields.${kind} of the profile.`;
      return {
        code: 'field.unknown',
        field: shown(name),
        message: `A ${kind} has no field "${shown(name)}".`,
        cure: near === undefined ? extra : `Did you mean "${near}"? ${extra}`,
      };
    });
}
