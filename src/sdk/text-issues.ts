import type { Issue } from '../domain/issue.ts';
import type { JsonObject } from '../lib/json.ts';

const SHOWN_MAX = 200;

/** The place of a row in a text file, and the encoding of the file. */
export interface TextRow {
  line: number;
  /** The encoding in use. */
  encoding: string;
}

/** An issue for each field with a character that was not valid in the encoding of the file. The decoder has replaced it by U+FFFD. */
export function encodingIssues(fields: JsonObject, { line, encoding }: TextRow): Issue[] {
  const texts = Object.entries(fields).flatMap(([name, value]) => (typeof value === 'string' ? [{ name, value }] : []));
  const damaged = texts.filter(({ value }) => value.includes('\uFFFD'));
  return damaged.map(({ name, value }) => ({
    code: 'row.encoding',
    message: `Column ${name} of the row at line ${line} holds text that is not valid ${encoding}, or was damaged before it was exported.`,
    field: name,
    value: value.slice(0, SHOWN_MAX),
    cure: 'Set `encoding` to what the source system writes, or let the source system write the file again.',
  }));
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
  };
}
