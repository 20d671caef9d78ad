import type { ItemsInOtherForm } from '../../domain/ports/ledger/ledger-views.ts';
import { type Paint, printable } from './style.ts';
import { countKind } from './words.ts';

const FIELDS_SHOWN = 8;

/**
 * Lines about items that were sent in another form than the profile has now. Empty if there are none. This is not an
 * error: the platform may have understood both forms.
 */
export function formLines(forms: readonly ItemsInOtherForm[], paint: Paint): string[] {
  if (forms.length === 0) return [];
  const lines = forms.map(({ kind, items, fields }) => {
    const were = items === 1 ? 'was' : 'were';
    return paint(
      'yellow',
      `${countKind(items, kind)} ${were} sent in another form than the profile has now: ${fieldList(fields)}.`,
    );
  });
  return [
    ...lines,
    '  How many can be sent again: dpp-sync replay --form --dry-run',
    '  To send them again: dpp-sync replay --form',
  ];
}

/** Names fields, and says how many are left out. */
export function fieldList(fields: readonly string[]): string {
  const more = fields.length > FIELDS_SHOWN ? `, and ${fields.length - FIELDS_SHOWN} more` : '';
  return `${fields.slice(0, FIELDS_SHOWN).map(printable).join(', ')}${more}`;
}
