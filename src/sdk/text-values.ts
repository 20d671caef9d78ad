import type { Issue } from '../domain/issue.ts';
import type { JsonObject, JsonValue } from '../lib/json.ts';

/** A value of a decimal column that looks like a number but is not one in the declared notation. */
export interface NotANumber {
  found: string;
}

const LOOKS_NUMERIC = /^(?=.*\d)[\d\s.,'’+-]+$/;

/**
 * Rewrites numbers of one notation into plain decimals, as text: with the mark `,` `1.234,56` becomes `1234.56` and
 * SAP's `302,35-` becomes `-302.35`. Zeros are kept, because the mapping decides whether a value is a number.
 *
 * Thousands may be separated by the other mark, a space or an apostrophe, in groups of three. Text without digits or
 * with letters (`n/a`, `12 kg`) is not a number and is returned unchanged. A text that looks like a number and does not
 * fit the notation (`1.23` with a comma as the mark) is never guessed.
 */
export function createDecimalReader(mark: ',' | '.'): (text: string) => string | NotANumber {
  const decimal = mark === ',' ? ',' : '\\.';
  const other = mark === ',' ? '\\.' : ',';
  const number = new RegExp(
    `^([+-]?)(\\d+|\\d{1,3}(?:(${other}|[ '’\\u00a0\\u202f])\\d{3})(?:\\3\\d{3})*)?(?:${decimal}(\\d*))?([+-]?)$`,
  );
  return (text) => {
    const trimmed = text.trim();
    if (!LOOKS_NUMERIC.test(trimmed)) return text;
    const match = number.exec(trimmed);
    const [, leading = '', whole = '', , fraction, trailing = ''] = match ?? [];
    if (match === null || (leading !== '' && trailing !== '')) return { found: text };
    const digits = whole.replace(/\D/g, '') || '0';
    const sign = leading === '-' || trailing === '-' ? '-' : '';
    return fraction === undefined || fraction === '' ? sign + digits : `${sign}${digits}.${fraction}`;
  };
}

const EQUALS = 0x3d;
const QUOTE = 0x22;

/**
 * The text in a value such as `="000124"`. Exports write numbers in this form so that Excel keeps their zeros: it is a
 * formula whose result is the text in quotes. Any other value is returned as it is.
 */
export function withoutTextFormula(value: string): string {
  if (value.charCodeAt(0) !== EQUALS || value.charCodeAt(1) !== QUOTE) return value;
  const end = value.length - 1;
  if (end < 2 || value.charCodeAt(end) !== QUOTE) return value;
  const text = value.slice(2, end);
  // In a formula a quote within the text is doubled. Any other quote ends the text, as in `="a"&"b"`.
  return text.replaceAll('""', '').includes('"') ? value : text.replaceAll('""', '"');
}

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

/**
 * Numbers rows by their values: the first row with certain values is 1, the next row with the same values is 2. Make
 * the number a field and a part of the key if the other columns do not identify a row, for example because an article
 * names the same part twice.
 *
 * Create a separate numbering for the rows of each article, so that its numbers do not depend on the articles before
 * it. The numbers only stay the same while rows with the same values keep their order, so prefer a position that the
 * source gives.
 */
export function createRowNumbering(): (...values: readonly string[]) => number {
  const counts = new Map<string, number>();
  return (...values) => {
    const identity = JSON.stringify(values);
    const number = (counts.get(identity) ?? 0) + 1;
    counts.set(identity, number);
    return number;
  };
}
