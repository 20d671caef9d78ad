import type { Issue } from '../../domain/issue.ts';
import type { JsonObject, JsonValue } from '../../lib/json.ts';
import { cellText } from '../uploads/plan-corrections.ts';

const NAMED = /\brow\.([\p{L}_][\p{L}\p{N}_]*)|\brow\[\s*(?:"([^"]*)"|'([^']*)')\s*\]/gu;

/**
 * The columns of a row that an issue is about. An issue names a column or a field of the item. For a field, these are
 * the columns that its expression reads. If the expression reads several, only the columns with a value that the issue
 * has, or that its message quotes. Without an expression, the columns that have the value at fault. No column, if the value at fault
 * comes from a lookup table.
 */
export function columnsAtFault(fields: JsonObject, { field, value, expression, message, lookup }: Issue): string[] {
  if (lookup !== undefined) return [];
  const named = (field ?? '').split(', ').filter((name) => Object.hasOwn(fields, name));
  if (named.length > 0) return named;
  const read = [...(expression ?? '').matchAll(NAMED)].map(
    ([, plain, double, single]) => plain ?? double ?? single ?? '',
  );
  const columns = [...new Set(read)].filter((name) => Object.hasOwn(fields, name));
  const withValue = columns.filter((name) => isSame(fields[name], value));
  if (withValue.length > 0) return withValue;
  const quoted = columns.filter((name) => message.includes(`"${cellText(fields[name]).trim()}"`));
  if (quoted.length > 0) return quoted;
  if (columns.length > 0) return columns;
  if (value === undefined || cellText(value).trim() === '') return [];
  return Object.keys(fields).filter((name) => isSame(fields[name], value));
}

function isSame(stored: JsonValue | undefined, value: JsonValue | undefined): boolean {
  return value !== undefined && cellText(stored).trim() === cellText(value).trim();
}
