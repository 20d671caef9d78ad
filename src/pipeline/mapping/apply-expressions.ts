import type { Issue } from '../../domain/issue.ts';
import { type Item, type ItemRef, parseItem } from '../../domain/item.ts';
import type { JsonObject, JsonValue } from '../../lib/json.ts';
import { err, ok, type Result } from '../../lib/result.ts';
import { productsBlockedBy, type Refusal } from './blocked-products.ts';
import type { ExpressionMapping } from './compile-expressions.ts';
import { describeFailure, withSource } from './describe-failure.ts';
import { type Expression, keyTextOf } from './expression.ts';
import { MappingError } from './mapping-error.ts';
import { kindOf, requireNumberText, toPayload } from './values.ts';

/** Replaces a key that could not be computed, so that the other fields of the item are validated nevertheless. */
const UNKNOWN_KEY = '?';

/** Makes the items of one mapping from a row: one item, none if `when` is false, or all issues of the row. */
export function applyExpressions(mapping: ExpressionMapping, row: JsonObject): Result<Item[], Refusal> {
  const refuse = (issues: Issue[]) => err({ issues, blockedProducts: productsBlockedBy(mapping, row) });
  const wanted = evaluateWhen(mapping.when, row);
  if (!wanted.ok) return refuse([wanted.error]);
  if (!wanted.value) return ok([]);

  const issues: Issue[] = [];
  const attempt = <T>(field: string, expression: Expression, make: (value: unknown) => T, otherwise: T): T => {
    try {
      return make(expression.evaluate(row));
    } catch (error) {
      issues.push(describeFailure(error, field, expression, row));
      return otherwise;
    }
  };
  const key = attempt('key', mapping.key, keyTextOf(mapping.key), UNKNOWN_KEY);
  const refs: ItemRef[] = [];
  for (const { role, kind, expression } of mapping.refs) {
    const target = attempt(`refs.${role}`, expression, keyTextOf(expression), UNKNOWN_KEY);
    if (target !== '') refs.push({ role, kind, key: target });
  }
  const payload: JsonObject = {};
  for (const { name, expression, text } of mapping.fields) {
    const make = (given: unknown) => fieldValue(given, expression.calculates, text);
    const value = attempt(name, expression, make, null);
    if (value !== null) payload[name] = value;
  }
  const parsed = parseItem({ kind: mapping.kind, key, payload, refs });
  if (parsed.ok && issues.length === 0) return ok([parsed.value]);
  if (!parsed.ok) issues.push(...unseen(parsed.error, issues, mapping, row));
  return refuse(issues);
}

/** True if a mapping wants a row. A result other than true or false is an issue. */
export function evaluateWhen(when: Expression | null, row: JsonObject): Result<boolean, Issue> {
  if (when === null) return ok(true);
  try {
    const value = when.evaluate(row);
    if (typeof value === 'boolean') return ok(value);
    throw new MappingError(
      'when.type',
      `"when" has to be true or false, and here it is ${kindOf(value)}.`,
      'Compare with something, for example row.ACTIVE == "1".',
    );
  } catch (error) {
    return err(describeFailure(error, 'when', when, row));
  }
}

function fieldValue(given: unknown, calculated: boolean, text: boolean): JsonValue {
  const value = toPayload(given, calculated);
  return text && typeof value === 'number' ? requireNumberText(value) : value;
}

/** The issues of validation, without those that only repeat the failure of an expression. */
function unseen(
  found: readonly Issue[],
  failed: readonly Issue[],
  mapping: ExpressionMapping,
  row: JsonObject,
): Issue[] {
  const roots = new Set(failed.map((issue) => rootOf(issue.field)));
  return found
    .filter((issue) => !roots.has(rootOf(issue.field)))
    .map((issue) => {
      const expression = expressionOf(issue.field ?? '', mapping);
      return expression === undefined ? issue : withCure(withSource(issue, expression, row), expression);
    });
}

function withCure(issue: Issue, expression: Expression): Issue {
  if (issue.code !== 'field.required' || issue.cure !== undefined || expression.columns.length === 0) return issue;
  return { ...issue, cure: `Fill ${expression.columns.join(', ')} in the source, or exclude such rows with "when".` };
}

function expressionOf(field: string, mapping: ExpressionMapping): Expression | undefined {
  if (field === 'key') return mapping.key;
  const ref = mapping.refs.find(({ role }) => field === `refs.${role}`);
  return ref?.expression ?? mapping.fields.find(({ name }) => name === rootOf(field))?.expression;
}

function rootOf(field = ''): string {
  return field.split('.', 1)[0] ?? '';
}
