import type { TypeError as CelTypeError, EvaluationError, ParseError } from '@marcbachmann/cel-js';
import type { Issue } from '../../../domain/issue.ts';
import { wordsOfIssue } from '../../../domain/words/issues.ts';
import { messageOf } from '../../../lib/errors.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../../../lib/json.ts';
import { suggest } from '../../../lib/text/suggest.ts';
import type { FoundValue } from '../lookups.ts';
import { MappingError } from '../mapping-error.ts';
import { kindOf, shown } from '../values.ts';
import { describeTypes, isCelError, wordOf } from './describe-compile-error.ts';
import type { Expression, Scope } from './expression.ts';
import { accessText, memberAccess, memberPath, memberPresence } from './name-access.ts';

const COLUMNS_SHOWN_MAX = 12;
const VALUE_LENGTH_MAX = 1000;

/** The issue of an expression that could not compute a field (or `key`, `when`, `refs.product`). */
export function describeFailure(error: unknown, field: string, expression: Expression, scope: Scope): Issue {
  const { code, message, cure = wordsOfIssue(code)?.cure } = describe(error, scope);
  return withSource({ code, message, field, ...(cure === undefined ? {} : { cure }) }, expression, scope);
}

/** Adds the expression to an issue, and the values of its columns if the issue has no value yet. */
export function withSource(issue: Issue, expression: Expression, scope: Scope): Issue {
  const found = lookedUpAtFault(issue, expression, scope);
  if (found !== null) {
    const message = `${found.place.charAt(0).toUpperCase()}${found.place.slice(1)}: ${issue.message}`;
    return { ...issue, message, value: bounded(found.value), lookup: found.place, expression: expression.text };
  }
  const value = issue.value ?? valueOf(expression, scope);
  return { ...issue, ...(value === undefined ? {} : { value: bounded(value) }), expression: expression.text };
}

/**
 * The value of a lookup table that an issue is about; null if the issue is about a value of the row, about a lookup itself, or if
 * it is not known.
 */
function lookedUpAtFault({ code, message }: Issue, expression: Expression, scope: Scope): FoundValue | null {
  if (!expression.looksUp || code.startsWith('lookup.')) return null;
  const found = expression.lookedUp(scope);
  const { columns, members } = expression.beyondKeys;
  const [first] = found;
  const isOne = found.every(({ place, value }) => place === first?.place && value === first.value);
  if (first !== undefined && isOne && columns.size + members.size === 0) return first;
  const isQuoted = (value: unknown) => typeof value === 'string' && message.includes(`"${value.trim()}"`);
  if ([...columns].some((column) => isQuoted(scope.row[column]))) return null;
  return found.find(({ value }) => isQuoted(value)) ?? null;
}

interface Described {
  code: Issue['code'];
  message: string;
  cure?: string | undefined;
}

const TIMES = 'A time is written as in 2026-05-11T08:00:00Z; for days of other forms use date().';

function describe(error: unknown, scope: Scope): Described {
  if (error instanceof MappingError) return { code: error.code, message: error.message, cure: error.cure };
  if (!isCelError(error))
    return { code: 'expression.failed', message: `The expression failed: ${shown(messageOf(error))}.` };
  switch (error.code) {
    case 'no_such_key':
      return describeMissing(error, scope);
    case 'index_out_of_bounds':
      return describeIndex(error, scope);
    case 'no_such_overload':
    case 'no_matching_overload':
    case 'invalid_logical_operand':
    case 'invalid_condition_type':
      return { code: 'expression.types', ...describeTypes(error.summary) };
    case 'invalid_comprehension_range':
      return describeLoop(error.summary);
    case 'index_out_of_range':
      return {
        code: 'expression.failed',
        message: 'The text is shorter than the part that the expression reads.',
        cure: 'Check the length first: size(row.X) >= 4 ? row.X.substring(0, 4) : row.X.',
      };
    case 'double_conversion_error':
    case 'int_conversion_error':
      return {
        code: 'expression.number',
        message: 'The text is not a number.',
        cure: 'Use double(decimal(row.X)), which reports the text that it found, or double(decimal(row.X, ",")) for a decimal comma.',
      };
    case 'division_by_zero':
    case 'modulo_by_zero':
      return {
        code: 'expression.failed',
        message: 'A number is divided by zero.',
        cure: 'Check for zero before the division: row.N == 0 ? null : row.M / row.N.',
      };
    case 'invalid_timestamp':
      return { code: 'expression.failed', message: 'The text is not a time.', cure: TIMES };
    default:
      return { code: 'expression.failed', message: `The expression failed: ${shown(error.summary)}.` };
  }
}

/** Describes a loop over a value that is not a list. */
function describeLoop(summary: string): Described {
  const type = /^Expression of type '(.+?)'/.exec(summary)?.[1] ?? 'dyn';
  const found = type === 'null' ? 'null' : wordOf(type);
  return {
    code: 'expression.types',
    message: `A loop needs a list or an object, but this is ${found}.`,
    cure: 'as_list(row.X) is a list in any case: empty for null, and with one entry for a single value.',
  };
}

type CelError = EvaluationError | ParseError | CelTypeError;

/** The node that names a member, and the value that should have this member. */
function ownerOf(error: CelError, scope: Scope) {
  const node = error.node;
  const owner: unknown = node && 'args' in node && Array.isArray(node.args) ? node.args[0] : undefined;
  return { path: accessText(owner), value: valueAt(owner, scope) };
}

function describeIndex(error: CelError, scope: Scope): Described {
  const { path, value } = ownerOf(error, scope);
  const what = path ?? 'The list';
  const index = /, index (\S+) /.exec(error.summary)?.[1] ?? '';
  const size = Array.isArray(value) ? value.length : Number(/size (\d+)$/.exec(error.summary)?.[1] ?? 0);
  const has = size === 0 ? 'is empty' : `has ${size === 1 ? 'one entry' : `${size} entries`}`;
  const list = path ?? 'row.X';
  return {
    code: 'list.short',
    message: `${what} ${has}, so there is no entry ${index}; the first one has the number 0.`,
    cure:
      index === '0'
        ? `first(${list}) is null if the list is empty.`
        : `Check the length first: size(${list}) > ${index} ? ${list}[${index}] : null.`,
  };
}

function describeMissing(error: CelError, scope: Scope): Described {
  const name = error.summary.replace(/^No such key: /, '');
  const { path, value } = ownerOf(error, scope);
  if (path === 'row') return describeMissingColumn(name, scope.row);
  const what = path ?? 'The value';
  if (value !== undefined && !isJsonObject(value)) {
    return {
      code: 'member.missing',
      message: `${what} is ${kindOf(value)}, so it has no member ${JSON.stringify(shown(name))}.`,
      cure:
        typeof value === 'string' && /^\d+$/.test(name) ? characterCure(path, Number(name)) : absentCure(path, name),
    };
  }
  const names = isJsonObject(value) ? [...(value instanceof Map ? value.keys() : Object.keys(value))].map(String) : [];
  const near = suggest(name, names);
  const has = names.length === 0 ? '' : `; it has ${listOf(names)}`;
  const cure = absentCure(path, name);
  return {
    code: 'member.missing',
    message: `${what} has no member ${JSON.stringify(shown(name))}${has}.`,
    cure: near === undefined ? cure : `Did you mean ${JSON.stringify(near)}? ${cure}`,
  };
}

/** For text that is read as if it were a list. */
function characterCure(path: string | null, index: number): string {
  const text = path ?? 'row.X';
  return `Write ${text}.substring(${index}, ${index + 1}) for one character, or split the text first: split(${text}, ";")[${index}].`;
}

function absentCure(path: string | null, name: string): string {
  const member = shown(name);
  if (path === null) return `If the member may be absent, check first with has(…) or ${JSON.stringify(member)} in ….`;
  const presence = memberPresence(path, member);
  return `If the member may be absent, check first: ${presence} ? ${memberAccess(path, member)} : null.`;
}

function describeMissingColumn(name: string, row: JsonObject): Described {
  const columns = Object.keys(row);
  const near = suggest(name, columns);
  const absent = `if the column may be absent, check first: ${memberPresence('row', shown(name))} ? ${memberAccess('row', shown(name))} : null`;
  return {
    code: 'column.missing',
    message: `The column "${shown(name)}" does not exist; the row has ${columns.length === 0 ? 'none' : listOf(columns)}.`,
    cure: near === undefined ? `Correct the name, or ${absent}.` : `Did you mean "${near}"? Or ${absent}.`,
  };
}

function listOf(names: readonly string[]): string {
  const listed = names.slice(0, COLUMNS_SHOWN_MAX).map(shown).join(', ');
  return names.length > COLUMNS_SHOWN_MAX ? `${listed} and ${names.length - COLUMNS_SHOWN_MAX} more` : listed;
}

/** The value that a node names by a path of members; undefined for any other node. */
function valueAt(node: unknown, { variables }: Scope): unknown {
  const names = memberPath(node);
  if (names === null) return undefined;
  let value: unknown = variables;
  for (const name of names) {
    if (!isJsonObject(value) && !Array.isArray(value)) return undefined;
    if (value instanceof Map) value = value.get(name);
    else value = Object.hasOwn(value, name) ? (value as Record<PropertyKey, unknown>)[name] : undefined;
  }
  return value;
}

/** The value of the column that an expression names; an object of values if it names several. */
function valueOf(expression: Expression, { row, entry }: Scope): JsonValue | undefined {
  const item = entry?.item;
  const named: [string, JsonValue][] = expression.columns
    .filter((column) => Object.hasOwn(row, column))
    .map((column) => [column, row[column] ?? null]);
  if (isJsonObject(item)) {
    for (const member of expression.members) {
      if (Object.hasOwn(item, member)) named.push([`item.${member}`, (item[member] ?? null) as JsonValue]);
    }
  }
  const [only] = named;
  if (only === undefined) return undefined;
  return expression.columns.length + expression.members.length === 1 ? only[1] : Object.fromEntries(named);
}

/** Cuts a long value, because issues are stored in the ledger and shown in lists. */
function bounded(value: JsonValue): JsonValue {
  if (typeof value === 'string') return shown(value);
  if (typeof value !== 'object' || value === null) return value;
  const text = JSON.stringify(value);
  return text.length > VALUE_LENGTH_MAX ? shown(text) : value;
}
