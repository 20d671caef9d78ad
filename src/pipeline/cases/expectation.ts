import type { Issue } from '../../domain/issue.ts';
import { ITEM_FIELDS, type Item, type ItemKind } from '../../domain/item.ts';
import type { MappedRole, MapResult } from '../../domain/mapping.ts';
import type { Expectation, ExpectedIssue, ExpectedItem } from '../../domain/mapping-case.ts';
import type { JsonObject, JsonValue } from '../../lib/json.ts';
import { holdsText } from '../mapping/make-item.ts';
import { numberText } from '../mapping/values.ts';

/** The items of a result that a run would use, and its issues. A row that no mapping takes has neither. */
export function outcomeOf(result: MapResult): { items: readonly Item[]; issues: readonly Issue[] } {
  if (result.status === 'excluded') return { items: [], issues: [] };
  return { items: result.items ?? [], issues: result.status === 'quarantined' ? result.issues : [] };
}

/** A result in the form in which a case expects it. */
export function expectationOf(result: MapResult): Expectation {
  const { items, issues } = outcomeOf(result);
  if (items.length === 0 && issues.length === 0) return { excluded: true };
  return {
    ...(items.length === 0 ? {} : { items: items.map(expectedItem) }),
    ...(issues.length === 0 ? {} : { issue: issues.map(expectedIssue) }),
  };
}

export function expectedItem(item: Item): ExpectedItem & Required<Pick<ExpectedItem, 'fields'>> {
  const { kind, key, payload } = item;
  return { kind, key, fields: payload, ...(item.refs.length === 0 ? {} : { refs: refsOf(item) }) };
}

/** The keys of an item's refs by their roles, as a mapping names them. */
export function refsOf({ refs }: Item): Partial<Record<MappedRole, string>> {
  return Object.fromEntries(refs.map(({ role, key, either }) => [either === true ? 'part' : role, key]));
}

export function expectedIssue({ code, field, value }: Issue): ExpectedIssue {
  return { code, ...(field === undefined ? {} : { field }), ...(value === undefined ? {} : { value }) };
}

interface FieldSchema {
  safeParse(value: unknown): { success: boolean; data?: unknown };
}

/**
 * Expected fields in the form that the mapping gives them: numbers in fields of text become text, and decimals get their
 * normal form. So a case may have `quantity: 2.50`. Other values do not change.
 */
export function normalFields(kind: ItemKind, fields: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, normalValue(kind, name, value)]));
}

function normalValue(kind: ItemKind, name: string, value: JsonValue): JsonValue {
  const given = typeof value === 'number' && holdsText(kind, name) ? (numberText(value) ?? value) : value;
  const schemas: Partial<Record<string, FieldSchema>> = ITEM_FIELDS[kind];
  const parsed = Object.hasOwn(schemas, name) ? schemas[name]?.safeParse(given) : undefined;
  return parsed?.success === true ? (parsed.data as JsonValue) : given;
}
