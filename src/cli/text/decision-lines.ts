// Lines about items that need a decision of a person: items that are missing from their sources, items that the platform
// had before, and items that were sent in another form.
import { describeUnproven } from '../../domain/attention-words.ts';
import { ITEM_KINDS } from '../../domain/item.ts';
import { countsOf, MISSING_WORDS, type MissingGroup, type MissingOutcome } from '../../domain/missing-items.ts';
import type { Suspended } from '../../domain/ports/ledger/contact-ledger.ts';
import type { ContactAttention, ItemsInOtherForm } from '../../domain/ports/ledger/ledger-views.ts';
import type { JsonObject } from '../../lib/json.ts';
import { formatCount, type Paint, plural, printable, shortenMiddle } from './style.ts';
import { countKind, formatValue } from './words.ts';

const WITHOUT_A_PERSON = ['unpublishing', 'unpublished', 'not_public', 'accepted', 'with_product'] as const;

/** Lines about missing items that a person has to decide about; empty if there are none. */
export function undecidedLines(groups: readonly MissingGroup[], paint: Paint): string[] {
  const counts = countText(groups, 'kept');
  if (counts === '') return [];
  const hasProducts = groups.some(({ kind, outcome }) => kind === 'product' && outcome === 'kept');
  return [
    paint('yellow', `Missing from their sources, and kept at the platform: ${counts}.`),
    '  Which ones: dpp-sync items --state missing',
    '  Why one is missing, and what to do about it: dpp-sync show KIND KEY',
    '  To keep one as it is: dpp-sync settle KEY --ignore',
    ...(hasProducts ? ['  Or, for a product, to withdraw its passport: dpp-sync unpublish SKU'] : []),
  ];
}

/** Lines about missing items for which a person has nothing to do, with what was done; empty if there are none. */
export function decidedLines(groups: readonly MissingGroup[]): string[] {
  const lines = WITHOUT_A_PERSON.flatMap((outcome) => outcomeText(groups, outcome) ?? []);
  if (lines.length === 0) return [];
  const isDecided = groups.some(({ outcome }) => outcome !== 'kept' && outcome !== 'unpublishing');
  return [
    `Missing from their sources, with nothing to decide: ${lines.join('; ')}.`,
    ...(isDecided ? ['  Which ones: dpp-sync items --state missing_decided'] : []),
  ];
}

/** The items with one outcome, such as `2 products unpublished`. Null if there are none. */
export function outcomeText(groups: readonly MissingGroup[], outcome: MissingOutcome): string | null {
  const counts = countText(groups, outcome);
  return counts === '' ? null : `${counts} ${MISSING_WORDS[outcome]}`;
}

function countText(groups: readonly MissingGroup[], outcome: MissingOutcome): string {
  const counts = countsOf(groups.filter((group) => group.outcome === outcome));
  return ITEM_KINDS.flatMap((kind) => (counts[kind] === undefined ? [] : [countKind(counts[kind], kind)])).join(', ');
}

const FIELDS_SHOWN = 8;

/** Lines for people about first contact; empty if there is nothing to decide. */
export function contactLines(
  suspended: readonly Suspended[],
  { adopted, parts, unproven }: ContactAttention,
  paint: Paint,
): string[] {
  const lines: string[] = [];
  for (const { kind, creates, listed, reason } of suspended) {
    lines.push(paint('yellow', `${countKind(creates, kind)} ${creates === 1 ? 'is' : 'are'} not created yet.`));
    const reading = `  The platform's list of ${kind}s is read first, so that no ${kind} is created twice: ${plural(listed, 'entry', 'entries')} so far.`;
    lines.push(reason === null ? reading : `  ${printable(reason.message)}`);
  }
  for (const { source, kind, items, fields } of adopted) {
    const names = Object.entries(fields).map(([name, count]) => `${printable(name)} (${formatCount(count)})`);
    const more = names.length > FIELDS_SHOWN ? `, and ${names.length - FIELDS_SHOWN} more` : '';
    const verb = items === 1 ? 'was' : 'were';
    lines.push(
      paint('yellow', `${countKind(items, kind)} of ${source} ${verb} at the platform before and would be changed:`),
      `  ${names.slice(0, FIELDS_SHOWN).join(', ')}${more}`,
    );
  }
  for (const source of new Set(adopted.map((one) => one.source))) {
    lines.push(`  dpp-sync writes none of these changes before you accept them: dpp-sync sync --accept ${source}`);
  }
  if (parts.bomItems > 0) {
    lines.push(
      paint(
        'yellow',
        `${countKind(parts.bomItems, 'bom_item')} of ${plural(parts.products, 'product', 'products')} may be at the platform already, and the API cannot be asked.`,
      ),
      '  Look at the platform, then run dpp-sync settle --bom present --all, or --bom absent. To answer for single products, give their SKUs instead of --all.',
    );
  }
  lines.push(...unproven.map((writes) => describeUnproven(writes, formatCount(writes.count))));
  return lines;
}

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

// Lines about the rows of a source.

/** A longer name is cut, so that the values stay below each other and have room. */
const NAME_MAX = 24;

/**
 * The columns of a record that have a value, with all values below each other.
 *
 * @param valueMax the most characters of a value
 */
export function fieldLines(fields: JsonObject, valueMax: number): string[] {
  const filled = Object.entries(fields).filter(([, value]) => value !== '' && value !== null);
  const names = filled.map(([name]) => shortenMiddle(printable(name), NAME_MAX));
  const width = Math.max(0, ...names.map((name) => name.length));
  return filled.map(([, value], at) => `${(names[at] ?? '').padEnd(width)}  ${formatValue(value, valueMax)}`);
}

/**
 * The words of `preview`, `sync` and `status` for rows that make the same items as other rows, with the same values. Null
 * if there are no such rows.
 */
export function repeatedRows({ count, whole }: { count: number; whole: number }): {
  whole: string | null;
  shared: string | null;
} {
  const shared = count - whole;
  return {
    whole: whole === 0 ? null : plural(whole, 'row repeats another row', 'rows repeat another row'),
    shared:
      shared === 0
        ? null
        : `${plural(shared, 'row shares', 'rows share')} an item with another row, with the same values`,
  };
}

/** Warnings about streams whose changes have missed records that the complete read of the same run has found. */
export function missedLines(
  accounts: readonly { source: string; stream: string; missedByChanges: number | null }[],
  paint: Paint,
): string[] {
  return accounts.flatMap(({ source, stream, missedByChanges }) => {
    if (missedByChanges === null || missedByChanges === 0) return [];
    const records = plural(missedByChanges, 'record that is', 'records that are');
    return [
      `${paint('yellow', 'warning:')} The changes of ${printable(source)}/${printable(stream)} had missed ${records} new or different in the complete read. The complete read has stored them.`,
      '  Check what the source counts as a change (its timestamp, its export of changes), or set a shorter snapshotEvery.',
    ];
  });
}
