import { cellText } from '../../../daemon/uploads/merge-row.ts';
import type { Issue } from '../../../domain/issue.ts';
import type { JsonObject, JsonValue } from '../../../lib/json.ts';

const NAMED = /\brow\.([\p{L}_][\p{L}\p{N}_]*)|\brow\[\s*(?:"([^"]*)"|'([^']*)')\s*\]/gu;

/**
 * The columns of a row that its issues are about. An issue names a column or a field of the item. For a field, these
 * are the columns that its expression reads; if there are none, the columns that have the value at fault.
 */
export function wrongColumns(fields: JsonObject, issues: readonly Issue[]): Set<string> {
  return new Set(issues.flatMap((issue) => columnsOf(fields, issue)));
}

function columnsOf(fields: JsonObject, { field, value, expression }: Issue): string[] {
  const named = (field ?? '').split(', ').filter((name) => Object.hasOwn(fields, name));
  if (named.length > 0) return named;
  const read = [...(expression ?? '').matchAll(NAMED)].map(
    ([, plain, double, single]) => plain ?? double ?? single ?? '',
  );
  const columns = read.filter((name) => Object.hasOwn(fields, name));
  const withValue = columns.filter((name) => isSame(fields[name], value));
  if (withValue.length > 0) return withValue;
  if (columns.length > 0) return columns;
  if (value === undefined || cellText(value).trim() === '') return [];
  return Object.keys(fields).filter((name) => isSame(fields[name], value));
}

function isSame(stored: JsonValue | undefined, value: JsonValue | undefined): boolean {
  return value !== undefined && cellText(stored).trim() === cellText(value).trim();
}
