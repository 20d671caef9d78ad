// The titles of causes: short, and the same for all members.

import type { Issue } from '../../domain/issue.ts';
import type { Reason, ReasonCode } from '../../domain/reason.ts';
import { sentence } from '../../lib/sentence.ts';

/** What an issue is about, by its code. The name of the field follows. */
const ISSUES: Readonly<Record<string, string>> = {
  'country.unknown': 'Unknown country',
  'country.ambiguous': 'Ambiguous country',
  'unit.unknown': 'Unknown unit',
  'unit.ambiguous': 'Ambiguous unit',
  'decimal.format': 'Text that is no number',
  'decimal.ambiguous': 'Ambiguous decimal mark',
  'date.format': 'Unreadable date',
  'gtin.format': 'Text that is no GTIN',
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
  'row.length': 'Row with another number of columns',
  'row.encoding': 'Row in another encoding',
  'row.duplicate': 'Row that is there twice',
  'claim.twice': 'Item that two rows make',
  'claim.conflict': 'Item that two rows make with other content',
  'natural_key.taken': 'Natural key that another item has',
  'refs.cycle': 'Product that contains itself',
  'refs.part': 'Unknown part',
  'refs.product': 'BOM item without a product',
  'refs.ambiguous': 'Part that is both a product and a material',
  'cell.error': 'Cell with an error',
  'cell.formula': 'Formula without a value',
  'cell.date': 'Unreadable date',
};

const REASONS: Partial<Record<ReasonCode, string>> = {
  gate: 'The platform refuses it for now.',
  forbidden: 'The platform forbids it.',
  refused: 'The platform refused the content.',
  exists: 'The item exists at the platform already.',
  unsupported: 'The API has no such write.',
  renamed: 'The natural key has changed.',
  not_upserted: 'The platform does not take changes by the import.',
  adopted: 'A person has to accept a change of an adopted item.',
  adopted_bom: 'A person has to say whether the BOM items exist at the platform.',
  ambiguous_key: 'Several items at the platform have this natural key.',
  shared_id: 'Two items have the same id.',
  exhausted: 'The API did not take it, and the retry limit is spent.',
  internal: 'dpp-sync failed at it.',
  crash: 'The process ended while it was sent.',
  timeout: 'The platform did not answer in time.',
  reset: 'The connection broke before the answer.',
  restored: 'It may have been written since the backup.',
};

const TITLE_MAX = 160;
const QUOTED = /"[^"]*"|`[^`]*`/g;

/** A quoted value belongs to one member alone. */
function firstSentence(message: string): string {
  const [first = ''] = message.replace(QUOTED, '…').split(/(?<=[.!?])\s/, 1);
  return sentence(first.length > TITLE_MAX ? `${first.slice(0, TITLE_MAX - 1)}…` : first);
}

export function titleOfIssue({ code, field, message }: Issue): string {
  const known = ISSUES[code];
  if (known === undefined) return firstSentence(message);
  return field === undefined ? `${known}.` : `${known} in ${field}.`;
}

/** The platform's words by field say more than the code. */
export function titleOfReason({ code, message, fields }: Reason): string {
  const [field] = Object.entries(fields ?? {});
  if (field !== undefined) return firstSentence(`The platform refused ${field[0]}: ${field[1]}`);
  return REASONS[code] ?? firstSentence(message);
}

const CURES: Partial<Record<ReasonCode, string>> = {
  refused: 'Correct the value in the source, or the mapping, and replay.',
  adopted: 'Look at the difference, and accept the changes of the source.',
  adopted_bom: 'Look at the platform, and say whether the BOM items are there.',
  unsupported: 'Make the change at the platform, and settle the item.',
  exhausted: 'See whether the API works again, and replay.',
};

/** What to do about a reason, where the words of the reason do not say it. */
export function cureOfReason({ code }: Reason): string | null {
  return CURES[code] ?? null;
}
