import type { Issue } from '../../../domain/issue.ts';
import { type Item, type ItemRef, partRef, REF_KINDS } from '../../../domain/item.ts';
import type { Blocked } from '../../../domain/mapping.ts';
import { err, ok, type Result } from '../../../lib/errors.ts';
import type { JsonObject, JsonValue } from '../../../lib/json.ts';
import {
  allBlocked,
  type ItemChecks,
  type Made,
  madeItems,
  madeNothing,
  makeItem,
  NOTHING,
  rootOf,
} from '../make-item.ts';
import { MappingError } from '../mapping-error.ts';
import { kindOf, requireNumberText, toPayload } from '../values.ts';
import type { ExpressionMapping } from './compile-expressions.ts';
import { describeFailure, withSource } from './describe-failure.ts';
import { type Expression, entryScope, keyTextOf, readKey, rowScope, type Scope } from './expression.ts';

/** Replaces a key that could not be computed, so that the other fields of the item are validated nevertheless. */
const UNKNOWN_KEY = '?';

/** How many entries `each` may have, and how many issues of them are kept. */
const ENTRIES_MAX = 10_000;
const ENTRY_ISSUES_MAX = 100;

/**
 * Makes the items of one mapping from a row: one item, or with `each` one item for each entry. Makes none if `when` is
 * false.
 */
export function applyExpressions(mapping: ExpressionMapping, row: JsonObject, checks: ItemChecks): Made {
  const scope = rowScope(row);
  if (mapping.each !== null) return applyToEntries(mapping, mapping.each, scope, checks);
  const made = applyOnce(mapping, scope, checks);
  if (!made.ok) return madeNothing(made.error, blockedBy(mapping, scope));
  return madeItems(made.value === null ? [] : [made.value]);
}

function applyToEntries(mapping: ExpressionMapping, each: Expression, row: Scope, checks: ItemChecks): Made {
  const entries = entriesOf(each, row);
  if (!entries.ok) {
    if (excludesRow(mapping, row)) return madeItems([]);
    // Without the entries, only the items that the row itself names are known.
    return madeNothing([entries.error], blockedBy(mapping, entryScope(row, null, 0)));
  }
  const items: Item[] = [];
  const issues: Issue[] = [];
  const blocked: Blocked[] = [];
  const firstWith = new Map<string, number>();
  for (const [index, entry] of entries.value.entries()) {
    const scope = entryScope(row, entry, index);
    const made = applyOnce(mapping, scope, checks);
    const found = made.ok ? sameKey(made.value, firstWith, mapping.key, scope) : made.error;
    if (found.length > 0) {
      for (const issue of found) issues.push({ ...issue, message: `Entry ${index}: ${issue.message}` });
      blocked.push(blockedBy(mapping, scope));
      // The row has used up its steps. Every further entry would fail too, and would take some time.
      if (found.some(({ code }) => code === 'expression.costly')) break;
    } else if (made.ok && made.value !== null) {
      items.push(made.value);
      firstWith.set(made.value.key, index);
    }
  }
  return { items, issues: bounded(issues), blocked: allBlocked(blocked) };
}

/**
 * True if `when` is false for each entry that the row could have. A `when` that needs the entry fails here, unless its
 * part about the row is false already.
 */
function excludesRow({ when }: ExpressionMapping, row: Scope): boolean {
  const wanted = evaluateWhen(when, row);
  return wanted.ok && !wanted.value;
}

/** The entries of the list that `each` gives. Null stands for an empty list. */
function entriesOf(each: Expression, scope: Scope): Result<readonly unknown[], Issue> {
  try {
    const value = each.evaluate(scope);
    const entries = value instanceof Set ? [...value] : (value ?? []);
    if (!Array.isArray(entries)) {
      throw new MappingError(
        'each.type',
        `"each" has to be a list, but here it is ${kindOf(value)}.`,
        'as_list(…) makes a list with one entry of a single value.',
      );
    }
    if (entries.length <= ENTRIES_MAX) return ok(entries);
    throw new MappingError('each.long', `"each" has ${entries.length} entries; at most ${ENTRIES_MAX} are allowed.`);
  } catch (error) {
    return err(describeFailure(error, 'each', each, scope));
  }
}

/** The issue of an entry whose key an earlier entry of the row has. */
function sameKey(item: Item | null, firstWith: ReadonlyMap<string, number>, key: Expression, scope: Scope): Issue[] {
  const before = item === null ? undefined : firstWith.get(item.key);
  if (item === null || before === undefined) return [];
  const issue: Issue = {
    code: 'each.key',
    field: 'key',
    value: item.key,
    message: `The key ${JSON.stringify(item.key)} is also the key of entry ${before}.`,
    cure: 'Use more members of the entry for the key, so that each entry of a row has a key of its own.',
  };
  return [withSource(issue, key, scope)];
}

function bounded(issues: Issue[]): Issue[] {
  if (issues.length <= ENTRY_ISSUES_MAX) return issues;
  const more = issues.length - ENTRY_ISSUES_MAX;
  return [...issues.slice(0, ENTRY_ISSUES_MAX), { code: 'each.more', message: `There are ${more} more issues.` }];
}

/** Makes one item; null if `when` is false. */
function applyOnce(mapping: ExpressionMapping, scope: Scope, checks: ItemChecks): Result<Item | null, Issue[]> {
  const wanted = evaluateWhen(mapping.when, scope);
  if (!wanted.ok) return err([wanted.error]);
  if (!wanted.value) return ok(null);

  const issues: Issue[] = [];
  const attempt = <T>(field: string, expression: Expression, make: (value: unknown) => T, otherwise: T): T => {
    try {
      return make(expression.evaluate(scope));
    } catch (error) {
      issues.push(describeFailure(error, field, expression, scope));
      return otherwise;
    }
  };
  const key = attempt('key', mapping.key, keyTextOf(mapping.key), UNKNOWN_KEY);
  const refs: ItemRef[] = [];
  for (const { role, expression } of mapping.refs) {
    const target = attempt(`refs.${role}`, expression, keyTextOf(expression), UNKNOWN_KEY);
    if (target !== '') refs.push(role === 'part' ? partRef(target) : { role, kind: REF_KINDS[role], key: target });
  }
  const payload: JsonObject = {};
  for (const { name, expression, text } of mapping.fields) {
    const make = (given: unknown) => fieldValue(given, expression.calculates, text);
    const value = attempt(name, expression, make, null);
    if (value !== null) payload[name] = value;
  }
  const made = makeItem({ kind: mapping.kind, key, payload, refs }, checks);
  if (made.ok && issues.length === 0) return made;
  return err(made.ok ? issues : [...issues, ...unseen(made.error, issues, mapping, scope)]);
}

/** True if a mapping applies to a row or an entry. A result other than true or false is an issue. */
export function evaluateWhen(when: Expression | null, scope: Scope): Result<boolean, Issue> {
  if (when === null) return ok(true);
  try {
    const value = when.evaluate(scope);
    if (typeof value === 'boolean') return ok(value);
    throw new MappingError(
      'when.type',
      `"when" has to be true or false, but here it is ${kindOf(value)}.`,
      'Write a comparison, for example row.ACTIVE == "1".',
    );
  } catch (error) {
    return err(describeFailure(error, 'when', when, scope));
  }
}

function fieldValue(given: unknown, calculated: boolean, text: boolean): JsonValue {
  const value = toPayload(given, calculated);
  return text && typeof value === 'number' ? requireNumberText(value) : value;
}

/** The issues of validation, without those that only repeat the failure of an expression. */
function unseen(found: readonly Issue[], failed: readonly Issue[], mapping: ExpressionMapping, scope: Scope): Issue[] {
  const roots = new Set(failed.map((issue) => rootOf(issue.field)));
  return found
    .filter((issue) => !roots.has(rootOf(issue.field)))
    .map((issue) => {
      const expression = expressionOf(issue.field ?? '', mapping);
      if (expression === undefined) return issue;
      return withCure(withSource(withoutKey(issue, expression), expression, scope), expression);
    });
}

/**
 * If the expression of a key names no column, the key is empty for every record. `init` writes such a key, and a person
 * has to replace it.
 */
function withoutKey(issue: Issue, { columns, members }: Expression): Issue {
  if (issue.code !== 'key.empty' || columns.length > 0 || members.length > 0) return issue;
  return {
    ...issue,
    message: 'The mapping has no key yet: its `key` gives empty text for every record.',
    cure: 'Set `key` of the mapping to the column that identifies an item, for example `key: row.SKU`.',
  };
}

function withCure(issue: Issue, expression: Expression): Issue {
  if (issue.code !== 'field.required' || issue.cure !== undefined || expression.columns.length === 0) return issue;
  if (issue.lookup !== undefined) {
    return { ...issue, cure: 'Fill the value in the lookup table, or exclude such rows with "when".' };
  }
  return { ...issue, cure: `Fill ${expression.columns.join(', ')} in the source, or exclude such rows with "when".` };
}

function expressionOf(field: string, mapping: ExpressionMapping): Expression | undefined {
  if (field === 'key') return mapping.key;
  const ref = mapping.refs.find(({ role }) => field === `refs.${role}`);
  return ref?.expression ?? mapping.fields.find(({ name }) => name === rootOf(field))?.expression;
}

/**
 * What waits for a row, or an entry of a row, that could not be mapped: the passports of the products that it belongs to, as far as its
 * columns can still be read.
 */
function blockedBy(mapping: ExpressionMapping, scope: Scope): Blocked {
  if (mapping.kind === 'bom_item') {
    const product = mapping.refs.find(({ role }) => role === 'product');
    return { ...NOTHING, products: [product === undefined ? null : readKey(product.expression, scope)] };
  }
  // A row without a key makes no item, so no passport waits for it.
  const key = readKey(mapping.key, scope);
  if (key === null) return NOTHING;
  return mapping.kind === 'material' ? { ...NOTHING, materials: [key] } : { ...NOTHING, products: [key] };
}
