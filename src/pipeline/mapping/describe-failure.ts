import type { TypeError as CelTypeError, EvaluationError, ParseError } from '@marcbachmann/cel-js';
import type { Issue } from '../../domain/issue.ts';
import { messageOf } from '../../lib/errors.ts';
import type { JsonObject, JsonValue } from '../../lib/json.ts';
import { suggest } from '../../lib/suggest.ts';
import { isCelError } from './describe-compile-error.ts';
import { describeTypes } from './describe-types.ts';
import type { Expression } from './expression.ts';
import { MappingError } from './mapping-error.ts';
import { shown } from './values.ts';

const COLUMNS_SHOWN_MAX = 12;
const VALUE_LENGTH_MAX = 1000;

/** The issue of an expression that could not compute a field (or `key`, `when`, `refs.product`). */
export function describeFailure(error: unknown, field: string, expression: Expression, row: JsonObject): Issue {
  const { cure, ...rest } = describe(error, row);
  return withSource({ ...rest, field, ...(cure === undefined ? {} : { cure }) }, expression, row);
}

/** Adds the expression to an issue, and the values of its columns if the issue has no value yet. */
export function withSource(issue: Issue, expression: Expression, row: JsonObject): Issue {
  const value = issue.value ?? valueOf(expression, row);
  return { ...issue, ...(value === undefined ? {} : { value: bounded(value) }), expression: expression.text };
}

function describe(error: unknown, row: JsonObject): { code: string; message: string; cure?: string | undefined } {
  if (error instanceof MappingError) return { code: error.code, message: error.message, cure: error.cure };
  if (!isCelError(error))
    return { code: 'expression.failed', message: `The expression failed: ${shown(messageOf(error))}.` };
  switch (error.code) {
    case 'no_such_key':
      return describeMissing(error, row);
    case 'no_such_overload':
    case 'no_matching_overload':
    case 'invalid_logical_operand':
    case 'invalid_condition_type':
      return { code: 'expression.types', ...describeTypes(error.summary) };
    case 'double_conversion_error':
    case 'int_conversion_error':
      return {
        code: 'expression.number',
        message: 'The text is not a number.',
        cure: 'Use double(decimal(row.X)), which says what it found, or double(decimal(row.X, ",")) for a decimal comma.',
      };
    default:
      return { code: 'expression.failed', message: `The expression failed: ${shown(error.summary)}.` };
  }
}

function describeMissing(error: EvaluationError | ParseError | CelTypeError, row: JsonObject) {
  const name = error.summary.replace(/^No such key: /, '');
  const node = error.node;
  const owner: unknown = node && 'args' in node && Array.isArray(node.args) ? node.args[0] : undefined;
  if (!isRow(owner)) {
    return {
      code: 'member.missing',
      message: `There is no member "${shown(name)}".`,
      cure: `Where it may be absent, ask first: has(row.X.${shown(name)}) ? row.X.${shown(name)} : null.`,
    };
  }
  const columns = Object.keys(row);
  const listed = columns.slice(0, COLUMNS_SHOWN_MAX).map(shown).join(', ');
  const more = columns.length > COLUMNS_SHOWN_MAX ? ` and ${columns.length - COLUMNS_SHOWN_MAX} more` : '';
  const near = suggest(name, columns);
  const absent = `where it may be absent, ask first: has(row.${shown(name)}) ? row.${shown(name)} : null`;
  return {
    code: 'column.missing',
    message: `The column "${shown(name)}" does not exist; the row has ${columns.length === 0 ? 'none' : `${listed}${more}`}.`,
    cure: near === undefined ? `Correct the name, or ${absent}.` : `Did you mean "${near}"? Or ${absent}.`,
  };
}

function isRow(node: unknown): boolean {
  return (
    typeof node === 'object' &&
    node !== null &&
    'op' in node &&
    node.op === 'id' &&
    'args' in node &&
    node.args === 'row'
  );
}

/** The value of the column that an expression names; an object of values if it names several. */
function valueOf(expression: Expression, row: JsonObject): JsonValue | undefined {
  const present = expression.columns.filter((column) => Object.hasOwn(row, column));
  if (present.length === 0) return undefined;
  const [only] = present;
  if (expression.columns.length === 1 && only !== undefined) return row[only];
  return Object.fromEntries(present.map((column) => [column, row[column] ?? null]));
}

/** Cuts a long value, because issues are stored in the ledger and shown in lists. */
function bounded(value: JsonValue): JsonValue {
  if (typeof value === 'string') return shown(value);
  if (typeof value !== 'object' || value === null) return value;
  const text = JSON.stringify(value);
  return text.length > VALUE_LENGTH_MAX ? shown(text) : value;
}
