// The titles of causes: short, and the same for all members.

import type { Reason, ReasonCode } from '../../domain/delivery/reason.ts';
import type { Issue } from '../../domain/issue.ts';
import { sentence } from '../../lib/text/sentence.ts';

/**
 * The beginning of a title, by the code of the issue. The name of the field is added to it, except to a whole sentence: such a
 * title is about the whole row.
 */
const ISSUES: Readonly<Record<string, string>> = {
  'country.unknown': 'Unknown country',
  'country.ambiguous': 'Ambiguous country',
  'unit.unknown': 'Unknown unit',
  'unit.ambiguous': 'Ambiguous unit',
  'decimal.format': 'Text that is not a number',
  'decimal.ambiguous': 'Ambiguous decimal mark',
  'date.format': 'Unreadable date',
  'gtin.format': 'Text that is not a GTIN',
  'gtin.check': 'GTIN with a wrong check digit',
  'gtin.rounded': 'GTIN that a spreadsheet has rounded',
  'lookup.unknown': 'Value without an entry in the lookup table',
  'lookup.ambiguous': 'Value with several entries in the lookup table',
  'lookup.unread': 'Lookup table that was not read yet',
  'field.required': 'Missing value',
  'rule.required': 'Missing value',
  'field.invalid': 'Invalid value',
  'field.unknown': 'Unknown field',
  'column.missing': 'Missing column',
  'member.missing': 'Missing value',
  'key.empty': 'Empty key',
  'key.long': 'Key that is too long',
  'record.key': 'Row without a key',
  'row.columns': 'Row with more or fewer values than the header',
  'row.cut': 'Last row that is cut off',
  'row.decimal': 'Text that is not a number',
  'row.depth': 'Row that is nested too deeply',
  'row.item': 'Command without a trade item',
  'row.json': 'Line that is not valid JSON',
  'row.length': 'Row that is too long',
  'row.list': 'List where another value is expected',
  'row.members': 'Row with too many elements',
  'row.object': 'Value where an object is expected',
  'row.parent': 'Record around the row that is missing or too long',
  'row.quote': 'Value with a quote in the wrong place',
  'row.value': 'Value that no export can have',
  'row.encoding': 'Row in another encoding',
  'row.duplicate': 'Name that is in the row twice',
  'rule.max': 'Value above the limit of the mapping',
  'rule.min': 'Value below the limit of the mapping',
  'rule.number': 'Text that is not a number',
  'rule.pattern': 'Value that does not match the pattern of the mapping',
  'each.key': 'Entries of a list with the same key',
  'expression.failed': 'Expression that failed',
  'expression.number': 'Text that is not a number',
  'expression.types': 'Expression with a value of another type',
  'list.short': 'List with too few entries',
  'mapping.failed': 'Row that could not be mapped',
  'module.result': 'Result of a mapping module that cannot be used',
  'module.threw': 'Mapping module that failed',
  'claim.twice': 'One row makes the same item twice.',
  'claim.conflict': 'Two rows make the same item with different values.',
  'natural_key.taken': 'Natural key that another item has',
  'refs.cycle': 'Product that contains itself',
  'refs.part': 'Unknown part',
  'refs.product': 'BOM item without a product',
  'refs.ambiguous': 'Part that is both a product and a material',
  'cell.error': 'Cell with an error',
  'cell.formula': 'Formula without a value',
  'cell.date': 'Unreadable date',
  'cell.number': 'Cell that is marked as a number and has none',
  'cell.shortened': 'Number that has lost its last digits',
  'cell.text': 'Cell whose text the workbook does not have',
  'refs.unexpected': 'Ref that this kind of item does not have',
};

const REASONS: Partial<Record<ReasonCode, string>> = {
  forbidden: 'The platform forbids this write.',
  refused: 'The platform refused the content.',
  exists: 'The item exists at the platform already.',
  unsupported: 'The API has no request for this write.',
  renamed: 'The natural key has changed.',
  not_upserted: 'The platform does not accept changes through the import.',
  import_unproven: 'The import has not proven that it updates products.',
  adopted: 'A person has to accept a change of an adopted item.',
  adopted_bom: 'A person has to say whether the BOM items exist at the platform.',
  ambiguous_key: 'Several items at the platform have this natural key.',
  shared_id: 'Two items have the same id.',
  made_twice: 'The platform has made the item several times.',
  exhausted: 'The API did not accept the write, and the retry limit is reached.',
  internal: 'An error in dpp-sync stopped the write.',
  crash: 'The process ended while the request was in flight.',
  timeout: 'The platform did not answer in time.',
  reset: 'The connection broke before the answer.',
  restored: 'The write may have been sent since the backup.',
};

const TITLE_MAX = 160;
/** Matches quoted values and numbers, which differ between the members of a cause. */
const OF_ONE_MEMBER = /"[^"]*"|`[^`]*`|\b\d+\b/g;

function firstSentence(message: string): string {
  const [first = ''] = message.replace(OF_ONE_MEMBER, '…').split(/(?<=[.!?])\s/, 1);
  return sentence(first.length > TITLE_MAX ? `${first.slice(0, TITLE_MAX - 1)}…` : first);
}

/** True if the code has its own title. */
export function hasTitle(code: string): boolean {
  return Object.hasOwn(ISSUES, code);
}

export function titleOfIssue({ code, field, message }: Issue): string {
  const known = ISSUES[code];
  if (known === undefined) return firstSentence(message);
  if (known.endsWith('.')) return known;
  return field === undefined ? `${known}.` : `${known} in ${field}.`;
}

/** The platform's messages about single fields are more exact than a title for the code. */
export function titleOfReason({ code, message, fields }: Reason): string {
  const [field] = Object.entries(fields ?? {});
  if (code === 'gate') return firstSentence(message);
  if (field !== undefined) return firstSentence(`The platform refused ${field[0]}: ${field[1]}`);
  return REASONS[code] ?? firstSentence(message);
}

const CURES: Partial<Record<ReasonCode, string>> = {
  refused: 'Correct the value in the source, or the mapping, and replay.',
  adopted: 'Look at the difference, and accept the changes of the source.',
  adopted_bom: 'Look at the platform, and say whether the BOM items are there.',
  unsupported: 'Make the change at the platform, and settle the item.',
  exhausted: 'Check whether the API works again, and replay.',
};

/** What to do about a reason, if the message of the reason does not say it. */
export function cureOfReason({ code }: Reason): string | null {
  return CURES[code] ?? null;
}
