import { isJsonObject, type JsonObject, type JsonValue } from '../lib/json.ts';
import type { IssueCode } from './words/issues.ts';

/** A code of a connector or a mapping module of somebody else. No literal has this type, so our own code needs an entry for each code. */
export type ForeignCode = string & { readonly foreign: true };

/** An issue as a connector reports it, with a code of its own or one of ours. */
export type ReportedIssue = Omit<Issue, 'code'> & { code: string };

/** Why a record or an item cannot be used, so that the person who owns the data can correct it. */
export interface Issue {
  /** The rule that was broken, such as `country.unknown` or `row.columns`. Codes are stable, for filters and tests. */
  code: IssueCode | ForeignCode;
  /** A full sentence that names what was found and what was expected. */
  message: string;
  /** The field of the item (`country_of_origin`) or the column of the source (`HERKL`). */
  field?: string;
  /** The value of the field or column. */
  value?: JsonValue;
  /** The mapping expression that failed. */
  expression?: string;
  /** The place in a lookup table of the value, if it is no value of the row. The message names this place too. */
  lookup?: string;
  /** What to do about the issue. */
  cure?: string;
  /**
   * True if only `field` is at fault and the connector has read the other fields correctly. The row is used if no mapping
   * uses the field.
   */
  onlyField?: true;
  /** Another place that belongs to the issue, such as the first of two rows that make the same item. */
  other?: Place;
}

/**
 * The issues of a row because of which it cannot be used. An issue of only one field is none of them if nothing uses this
 * field.
 *
 * @param used the columns that are used; null if any column may be used
 */
export function holdingIssues<One extends Pick<Issue, 'field' | 'onlyField'>>(
  issues: readonly One[],
  used: ReadonlySet<string> | null,
): readonly One[] {
  if (issues.length === 0 || used === null) return issues;
  return issues.filter(({ onlyField, field }) => onlyField !== true || field === undefined || used.has(field));
}

/**
 * The value of an issue as text; empty if it has none. An expression may use several columns: then the text has the columns
 * whose values the message quotes, or all of them if it quotes none.
 *
 * @param shorten cuts the value of one column
 */
export function foundText(
  { message, value }: Pick<Issue, 'message' | 'value'>,
  shorten: (text: string) => string = (text) => text,
): string {
  if (value === undefined || value === null) return '';
  if (!isJsonObject(value)) return shorten(valueText(value));
  const columns = Object.entries(value);
  const isQuoted = (text: string) => text !== '' && message.includes(`"${text}"`);
  const quoted = columns.filter(([, one]) => typeof one === 'string' && isQuoted(one.trim()));
  const shown = quoted.length > 0 ? quoted : columns;
  return shown.map(([column, one]) => `${column}: ${shorten(valueText(one))}`).join(', ');
}

function valueText(value: JsonValue): string {
  return typeof value === 'string' && value !== '' ? value : JSON.stringify(value);
}

/** The text of a cell for a stored value: JSON for lists and objects, and an empty text for no value. */
export function cellText(value: JsonValue | undefined): string {
  if (value === undefined || value === null) return '';
  return typeof value === 'string' ? value : JSON.stringify(value);
}

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
  const withValue = columns.filter((name) => isSameCell(fields[name], value));
  if (withValue.length > 0) return withValue;
  const quoted = columns.filter((name) => message.includes(`"${cellText(fields[name]).trim()}"`));
  if (quoted.length > 0) return quoted;
  if (columns.length > 0) return columns;
  if (value === undefined || cellText(value).trim() === '') return [];
  return Object.keys(fields).filter((name) => isSameCell(fields[name], value));
}

function isSameCell(stored: JsonValue | undefined, value: JsonValue | undefined): boolean {
  return value !== undefined && cellText(stored).trim() === cellText(value).trim();
}

/** The place of a row in its source. */
export interface Place {
  /** File name, table or URL path. */
  file?: string;
  /** Line in the file, from 1; the line where the row begins. */
  line?: number;
  /** A path into a document, such as `$.parts[3]`. */
  path?: string;
}

/** The text of a place in messages, such as `stuecklisten-01.csv:17`. */
export function formatPlace(place: Place): string {
  const parts = [place.file ?? '', place.line === undefined ? '' : String(place.line), place.path ?? ''];
  return parts.filter((part) => part !== '').join(':') || 'unknown place';
}
