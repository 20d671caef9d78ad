// Compares what the mappings make from the row of a case with what the case expects, and makes the expectation of a new case.

import { isDeepStrictEqual } from 'node:util';
import type { Issue } from '../../domain/issue.ts';
import { ITEM_FIELDS, type Item, type ItemKind } from '../../domain/item.ts';
import type { MappedRole, MapResult } from '../../domain/mapping.ts';
import type { Expectation, ExpectedIssue, ExpectedItem } from '../../domain/mapping-case.ts';
import { isJsonObject, type JsonObject, type JsonValue, memberOf } from '../../lib/json.ts';
import { holdsText } from '../mapping/make-item.ts';
import { numberText } from '../mapping/values.ts';

/** The items of a result that a run would use, and its issues. A row that no mapping takes has neither. */
function outcomeOf(result: MapResult): { items: readonly Item[]; issues: readonly Issue[] } {
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

function expectedItem(item: Item): ExpectedItem & Required<Pick<ExpectedItem, 'fields'>> {
  const { kind, key, payload } = item;
  return { kind, key, fields: payload, ...(item.refs.length === 0 ? {} : { refs: refsOf(item) }) };
}

/** The keys of an item's refs by their roles, as a mapping names them. */
function refsOf({ refs }: Item): Partial<Record<MappedRole, string>> {
  return Object.fromEntries(refs.map(({ role, key, either }) => [either === true ? 'part' : role, key]));
}

function expectedIssue({ code, field, value }: Issue): ExpectedIssue {
  return { code, ...(field === undefined ? {} : { field }), ...(value === undefined ? {} : { value }) };
}

interface FieldSchema {
  safeParse(value: unknown): { success: boolean; data?: unknown };
}

/**
 * Expected fields in the form that the mapping gives them: numbers in fields of text become text, and decimals get their
 * normal form. So a case may have `quantity: 2.50`. Other values do not change.
 */
function normalFields(kind: ItemKind, fields: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, normalValue(kind, name, value)]));
}

function normalValue(kind: ItemKind, name: string, value: JsonValue): JsonValue {
  const given = typeof value === 'number' && holdsText(kind, name) ? (numberText(value) ?? value) : value;
  const schemas: Partial<Record<string, FieldSchema>> = ITEM_FIELDS[kind];
  const parsed = Object.hasOwn(schemas, name) ? schemas[name]?.safeParse(given) : undefined;
  return parsed?.success === true ? (parsed.data as JsonValue) : given;
}

/** A place at which a row has become something else than its case expects. */
export interface Difference {
  /**
   * The place in `expect` of the case, such as `['items', 0, 'fields', 'sku']`. For something that the case does not have,
   * the place where it would be.
   */
  path: readonly (string | number)[];
  /** The item that the place belongs to; null if it belongs to none. */
  item: { kind: ItemKind; key: string } | null;
  /** Absent if the case has nothing at the place. */
  expected?: JsonValue;
  /** Absent if the row gives nothing at the place. */
  got?: JsonValue;
}

/** Compares what a row has become with what its case expects. Equal if there is no difference. */
export function compareCase(expected: Expectation, result: MapResult): Difference[] {
  const { items, issues } = outcomeOf(result);
  const isExcluded = items.length === 0 && issues.length === 0;
  if (isExcluded) return expected.excluded ? [] : [{ path: ['excluded'], item: null, got: true }];
  const ofIssues = compareIssues(expected.issue ?? [], issues);
  // The issues explain why there is no item.
  const ofItems = ofIssues.length > 0 && items.length === 0 ? [] : compareItems(expected.items ?? [], items);
  return [...(expected.excluded ? [{ path: ['excluded'], item: null, expected: true }] : []), ...ofIssues, ...ofItems];
}

function compareIssues(expected: readonly ExpectedIssue[], got: readonly Issue[]): Difference[] {
  const left = [...got];
  const unmatched = expected.flatMap((issue, at) => {
    const found = left.findIndex((one) => isExpected(issue, one));
    if (found < 0) return [{ issue, at }];
    left.splice(found, 1);
    return [];
  });
  // Issues of one row are in the order of its fields, so the first ones that are left belong together.
  const differences = unmatched.map(({ issue, at }): Difference => {
    const other = left.shift();
    return { path: ['issue', at], item: null, expected: { ...issue }, ...(other === undefined ? {} : gotIssue(other)) };
  });
  return [
    ...differences,
    ...left.map((issue, at) => ({ path: ['issue', expected.length + at], item: null, ...gotIssue(issue) })),
  ];
}

function isExpected({ code, field, value }: ExpectedIssue, issue: Issue): boolean {
  return (
    code === issue.code &&
    (field === undefined || field === issue.field) &&
    (value === undefined || isDeepStrictEqual(value, issue.value))
  );
}

function gotIssue(issue: Issue): { got: JsonObject } {
  return { got: { ...expectedIssue(issue), message: issue.message } };
}

function compareItems(expected: readonly ExpectedItem[], got: readonly Item[]): Difference[] {
  const left = [...got];
  const take = (fits: (item: Item) => boolean): Item | undefined => {
    const at = left.findIndex(fits);
    return at < 0 ? undefined : left.splice(at, 1)[0];
  };
  const sameKey = expected.map(({ kind, key }) => take((item) => item.kind === kind && item.key === key));
  // An item whose key has changed is compared with an item of its kind that the case does not have.
  const pairs = expected.map((item, at) => ({ item, made: sameKey[at] ?? take(({ kind }) => kind === item.kind) }));
  return [
    ...pairs.flatMap(({ item, made }, at) => compareItem(item, made, ['items', at])),
    ...left.map((made, at) => ({
      path: ['items', expected.length + at],
      item: { kind: made.kind, key: made.key },
      got: { ...expectedItem(made) } as JsonObject,
    })),
  ];
}

function compareItem(expected: ExpectedItem, made: Item | undefined, path: Difference['path']): Difference[] {
  const { kind, key, fields, refs } = expected;
  const item = { kind, key };
  if (made === undefined) return [{ path, item, expected: { ...expected } as unknown as JsonObject }];
  return [
    ...(key === made.key ? [] : [{ path: [...path, 'key'], item, expected: key, got: made.key }]),
    ...(fields === undefined
      ? []
      : compareMembers(normalFields(kind, fields), made.payload, { path: [...path, 'fields'], item })),
    ...(refs === undefined ? [] : compareMembers(refs, refsOf(made), { path: [...path, 'refs'], item })),
  ];
}

function compareMembers(expected: JsonObject, got: JsonObject, { path, item }: Difference): Difference[] {
  return [...new Set([...Object.keys(expected), ...Object.keys(got)])].flatMap((name): Difference[] => {
    const at = { path: [...path, name], item };
    const wanted = memberOf(expected, name);
    const made = memberOf(got, name);
    if (isDeepStrictEqual(wanted, made)) return [];
    if (isJsonObject(wanted) && isJsonObject(made)) return compareMembers(wanted, made, at);
    return [
      { ...at, ...(wanted === undefined ? {} : { expected: wanted }), ...(made === undefined ? {} : { got: made }) },
    ];
  });
}
