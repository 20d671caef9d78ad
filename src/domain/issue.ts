import { isJsonObject, type JsonValue } from '../lib/json.ts';
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
