// The words for people about states, reasons, values and issues.

import { columnsAtFault, foundText, type Issue } from '../../domain/issue.ts';
import type { SubjectKind } from '../../domain/item.ts';
import type { PassportState } from '../../domain/passport.ts';
import type { ItemState } from '../../domain/ports/ledger/ledger-standing.ts';
import { kindWord } from '../../domain/words/states.ts';
import type { JsonObject, JsonValue } from '../../lib/json.ts';
import { counted } from '../../lib/text/amounts.ts';
import { type Colour, printable, shorten } from './style.ts';

/** A count with the name of its kind: `1 product`, `1,887 BOM items`. */
export function countKind(count: number, kind: SubjectKind): string {
  return counted(count, kindWord(kind));
}

export const PASSPORT_COLOURS: Record<PassportState, Colour> = {
  published: 'green',
  initialized: 'cyan',
  unpublished: 'cyan',
  incomplete: 'yellow',
  blocked: 'red',
  none: 'dim',
};

export const STATE_COLOURS: Record<ItemState, Colour> = {
  delivered: 'green',
  superseded: 'dim',
  due: 'cyan',
  sending: 'cyan',
  waiting: 'yellow',
  in_doubt: 'yellow',
  blocked: 'red',
  rejected: 'red',
  parked: 'red',
};

/** A value of a record or a payload on one line. */
export function formatValue(value: JsonValue | undefined, max = 80): string {
  if (value === undefined || value === null) return '–';
  return shorten(printable(typeof value === 'string' ? value : JSON.stringify(value)), max);
}

/**
 * An issue on one line: the columns at fault and the field, the message, and the value if the message does not contain it.
 *
 * @param options.fields the row, if its columns are to be named
 * @param options.lengthMax the length to which the value of each column is cut
 */
export function formatIssue(
  issue: Issue,
  { fields = {}, lengthMax = 60 }: { fields?: JsonObject; lengthMax?: number } = {},
): string {
  const { message } = issue;
  const where = whereOf(issue, columnsAtFault(fields, issue));
  const shown = foundText(issue, (text) => shorten(printable(text), lengthMax));
  const found = shown === '' || message.includes(shown) ? '' : ` Found: ${shown}`;
  return printable(`${where}${message}${found}`);
}

/** The place of an issue in its row: `column HERKL (country_of_origin): `. */
function whereOf({ message, field }: Issue, columns: readonly string[]): string {
  const ofItem = field === undefined || message.includes(field) ? '' : field;
  // The field of some issues is a column, or several.
  if (columns.length === 0 || columns.join(', ') === field) return ofItem === '' ? '' : `${ofItem}: `;
  const named = `${columns.length === 1 ? 'column' : 'columns'} ${columns.join(', ')}`;
  return ofItem === '' ? `${named}: ` : `${named} (${ofItem}): `;
}
