import type { Issue } from '../domain/issue.ts';
import type { JsonObject, JsonValue } from '../lib/json.ts';

const SHOWN_MAX = 200;

/** The place of a row in a text file, and the encoding of the file. */
export interface TextRow {
  line: number;
  /** The encoding in use. */
  encoding: string;
}

/**
 * The names of the fields that have a character which was not valid in its encoding, also in their entries or members.
 * Decoders replace such a character by U+FFFD.
 */
export function damagedFields(fields: JsonObject): string[] {
  return Object.keys(fields).filter((name) => isDamaged(fields[name] ?? null) || isDamaged(name));
}

function isDamaged(value: JsonValue): boolean {
  if (typeof value === 'string') return value.includes('\uFFFD');
  return typeof value === 'object' && value !== null && JSON.stringify(value).includes('\uFFFD');
}

/** The issue of a field for which `damagedFields` has found such a character. */
export function damageIssue(issue: Required<Pick<Issue, 'field' | 'message' | 'cure'>>, value?: JsonValue): Issue {
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  const shown = value === undefined ? {} : { value: text.slice(0, SHOWN_MAX) };
  return { code: 'row.encoding', ...issue, ...shown, onlyField: true };
}

/** An issue for each field with a character that was not valid in the encoding of the file. The decoder has replaced it by U+FFFD. */
export function encodingIssues(fields: JsonObject, { line, encoding }: TextRow): Issue[] {
  return damagedFields(fields).map((field) => {
    const message = `Column ${field} of the row at line ${line} holds text that is not valid ${encoding}, or was damaged before it was exported.`;
    const cure = 'Set `encoding` to what the source system writes, or let the source system write the file again.';
    return damageIssue({ field, message, cure }, fields[field]);
  });
}

/** The issue for a value that `createDecimalReader` does not accept. */
export function decimalIssue(name: string, found: string, { mark, cure }: { mark: string; cure: string }): Issue {
  const value = found.slice(0, SHOWN_MAX);
  return {
    code: 'row.decimal',
    message: `Column ${name} holds ${JSON.stringify(value)}, which is not a number with the decimal mark ${JSON.stringify(mark)}.`,
    field: name,
    value,
    cure,
    onlyField: true,
  };
}
