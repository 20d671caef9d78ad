// The words for people about states, reasons, values and issues.

import { columnsAtFault } from '../../daemon/views/columns-at-fault.ts';
import type { ReasonCode } from '../../domain/delivery/reason.ts';
import { foundText, type Issue } from '../../domain/issue.ts';
import type { SubjectKind } from '../../domain/item.ts';
import type { ItemState, PassportState } from '../../domain/ports/ledger/ledger-views.ts';
import { kindWord } from '../../domain/words.ts';
import type { JsonObject, JsonValue } from '../../lib/json.ts';
import { type Colour, plural, printable, shorten } from './style.ts';

/** A count with the name of its kind: `1 product`, `1,887 BOM items`. */
export function countKind(count: number, kind: SubjectKind): string {
  return plural(count, kindWord(kind));
}

/** The states in the order in which people want to read them. */
export const STATES_IN_ORDER: readonly ItemState[] = [
  'delivered',
  'superseded',
  'due',
  'sending',
  'waiting',
  'in_doubt',
  'blocked',
  'rejected',
  'parked',
];

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

/** What a person can do about an item in this state. KEY is last in a command, because `--` may be needed before it. */
export const NEXT_STEPS: Record<ItemState, string> = {
  delivered: 'Nothing: the platform has the item as the source has it.',
  superseded:
    'Nothing: a person has ended this write. dpp-sync sends the item again when its row changes. To send it now: `dpp-sync replay --key KEY`.',
  due: 'Nothing: the daemon or the next sync sends the item, unless the API refuses the key. `dpp-sync check` shows whether the API accepts the key.',
  sending: 'Nothing: dpp-sync is sending the item.',
  waiting:
    'dpp-sync sends the item once the items that it refers to are delivered. To leave this item out, run `dpp-sync settle --ignore KEY`.',
  in_doubt:
    'If the API has a list of such items, dpp-sync looks the write up. Otherwise look at the platform, then run `dpp-sync settle --delivered KEY` or `dpp-sync settle --rejected KEY`. `dpp-sync replay --force --key KEY` sends the write again.',
  blocked:
    'Correct the cause in the source or the mapping, then run `dpp-sync sync`. If the cause is at the platform, correct it there, then run `dpp-sync replay --key KEY`. If a person has written the item at the platform by hand, run `dpp-sync settle --delivered KEY`. To leave the platform as it is, run `dpp-sync settle --ignore KEY`.',
  rejected:
    'Correct the row in the source, or the mapping: the next sync sends the item again. Or run `dpp-sync replay --key KEY`. To leave the platform as it is, run `dpp-sync settle --ignore KEY`.',
  parked:
    'Look at the reason, then run `dpp-sync replay --key KEY`. If a person has written the item at the platform by hand, run `dpp-sync settle --delivered KEY`.',
};

const KEY_STEP = 'Correct the key or its rights: `dpp-sync check` shows them. Then dpp-sync sends all due deliveries.';

/** The next step of a person, for the reasons of blocked items, and of due items that need a person. */
export const REASON_STEPS: Readonly<Partial<Record<ReasonCode, string>>> = {
  adopted:
    'Compare the values of the source and of the platform, then accept the changes with `dpp-sync sync --accept SOURCE`, or correct the source.',
  adopted_bom:
    'Look at the platform, then run `dpp-sync settle --bom present SKU` or `dpp-sync settle --bom absent SKU`.',
  unsupported:
    'Make the change at the platform by hand, then run `dpp-sync settle --delivered KEY`. To leave the platform as it is, run `dpp-sync settle --ignore KEY`.',
  ambiguous_key: 'Name the right item with `dpp-sync settle --delivered --id ID KEY`.',
  denied_key: KEY_STEP,
  denied_plan: KEY_STEP,
  denied_scope: KEY_STEP,
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
