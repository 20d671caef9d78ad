import type { Issue } from '../../domain/issue.ts';
import { ITEM_FIELDS, type Item, type ItemKind, parseItem } from '../../domain/item.ts';
import type { Blocked, ValueRule } from '../../domain/mapping.ts';
import { naturalKeyOf } from '../../domain/natural-key.ts';
import type { Profile } from '../../domain/profile.ts';
import type { IssueCode } from '../../domain/words/issues.ts';
import { compareDecimals, normalizeDecimal } from '../../lib/decimal.ts';
import { err, ok, type Result } from '../../lib/errors.ts';
import { isJsonObject, type JsonObject, type JsonValue, memberOf } from '../../lib/json.ts';
import { suggest } from '../../lib/text/suggest.ts';
import { compileLinearPattern, type LinearPattern } from './functions/text.ts';
import { MappingError, type MappingProblem } from './mapping-error.ts';
import type { Meter } from './meter.ts';
import { kindOf, numberText, requireIdentifying, shown } from './values.ts';

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

/** The rules of a mapping, ready to be applied. */
interface ValueRules {
  /** Removes the values that the config treats as empty. */
  withoutEmpty(payload: JsonObject): JsonObject;
  /** The issues of an item's payload. Fields that have an issue already are left out. */
  check(payload: JsonObject, hasIssue: (field: string) => boolean): Issue[];
}

interface FieldRule extends ValueRule {
  /** The name of the field, and then the names of members within it. */
  path: readonly string[];
  name: string;
  matches: LinearPattern | null;
}

/** Compiles the rules of a mapping. Patterns that cannot be used are added to the problems. */
export function compileRules(
  rules: Readonly<Record<string, ValueRule>>,
  { path, problems, meter }: { path: string; problems: MappingProblem[]; meter: Meter },
): ValueRules {
  const compiled = Object.entries(rules).map(([name, rule]): FieldRule => {
    const pattern = rule.pattern === undefined ? null : compileLinearPattern(rule.pattern);
    if (pattern !== null && !pattern.ok)
      problems.push({ path: `${path}.rules.${name}.pattern`, message: pattern.error });
    return { ...rule, name, path: name.split('.'), matches: pattern?.ok === true ? pattern.value : null };
  });
  const emptyRules = compiled.filter(({ empty = [] }) => empty.length > 0);
  const matches = (rule: FieldRule, text: string) =>
    rule.matches === null || meter.run(() => rule.matches?.(text, meter.spend)) === true;

  return {
    withoutEmpty: (payload) =>
      emptyRules.reduce((given, { path: at, empty = [] }) => without(given, at, new Set(empty)), payload),
    check(payload, hasIssue) {
      return compiled.flatMap((rule) => {
        if (hasIssue(rule.path[0] ?? '')) return [];
        const values = valuesAt(payload, rule.path);
        if (values.length === 0) return rule.required === true ? [requiredIssue(rule)] : [];
        return values.flatMap((value) => checkValue(rule, value, matches));
      });
    },
  };
}

/** The values at a path. If a list is on the path, the path continues in all its entries. */
function valuesAt(value: JsonValue | undefined, path: readonly string[]): JsonValue[] {
  if (value === null || value === undefined || value === '') return [];
  if (Array.isArray(value)) return value.flatMap((entry) => valuesAt(entry, path));
  const [name, ...rest] = path;
  if (name === undefined) return [value];
  return isJsonObject(value) && Object.hasOwn(value, name) ? valuesAt(value[name], rest) : [];
}

/** A copy of a payload without the values at a path that are one of these texts. */
function without(payload: JsonObject, [name = '', ...rest]: readonly string[], empty: ReadonlySet<string>): JsonObject {
  const value = memberOf(payload, name);
  if (value === undefined) return payload;
  const { [name]: _, ...others } = payload;
  if (rest.length > 0) return isJsonObject(value) ? { ...others, [name]: without(value, rest, empty) } : payload;
  const text = typeof value === 'number' ? numberText(value) : value;
  return typeof text === 'string' && empty.has(text.trim()) ? others : payload;
}

function requiredIssue({ name }: FieldRule): Issue {
  return {
    code: 'rule.required',
    field: name,
    message: `${name} is required by the rules of the mapping, and the row gave no value for it.`,
    cure: 'Fill this field in the source, or exclude such rows with "when".',
  };
}

function checkValue(rule: FieldRule, value: JsonValue, matches: (rule: FieldRule, text: string) => boolean): Issue[] {
  const { name, min, max, pattern } = rule;
  const issue = (code: IssueCode, message: string): Issue[] => [{ code, field: name, value, message, cure: CURE }];
  const text = typeof value === 'number' ? numberText(value) : value;
  if (min !== undefined || max !== undefined) {
    const number = typeof text === 'string' ? normalizeDecimal(text) : null;
    if (number === null) return issue('rule.number', `${name} has to be a number, but it is ${valueText(value)}.`);
    if (min !== undefined && compareDecimals(number, min) < 0)
      return issue('rule.min', `${name} is ${number}, and the rules of the mapping allow no less than ${min}.`);
    if (max !== undefined && compareDecimals(number, max) > 0)
      return issue('rule.max', `${name} is ${number}, and the rules of the mapping allow no more than ${max}.`);
  }
  if (pattern === undefined || (typeof text === 'string' && matches(rule, text))) return [];
  return issue('rule.pattern', `${name} is ${valueText(value)}, which does not match ${shown(pattern)}.`);
}

const CURE = 'Correct the value in the source, or the rule in the mapping.';

function valueText(value: JsonValue): string {
  return typeof value === 'string' ? `"${shown(value)}"` : typeof value === 'number' ? String(value) : kindOf(value);
}

/** The result of one mapping for a row. */
export interface Made {
  /** The items that are sound. */
  items: Item[];
  /** Why other items could not be made. */
  issues: Issue[];
  /** What waits for the items that could not be made. */
  blocked: Blocked;
}

export function madeItems(items: Item[]): Made {
  return { items, issues: [], blocked: NOTHING };
}

export function madeNothing(issues: Issue[], blocked: Blocked): Made {
  return { items: [], issues, blocked };
}

/** The result for a BOM item whose product is unknown: the BOM item may belong to any product. */
export const ANY_PRODUCT: Blocked = { products: [null], materials: [] };

export const NOTHING: Blocked = { products: [], materials: [] };

export function allBlocked(all: readonly Blocked[]): Blocked {
  return {
    products: [...new Set(all.flatMap(({ products }) => products))],
    materials: [...new Set(all.flatMap(({ materials }) => materials))],
  };
}
