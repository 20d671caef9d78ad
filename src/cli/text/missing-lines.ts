// Lines about items that their sources no longer have, for `sync`, `status` and `items`.

import { ITEM_KINDS } from '../../domain/item.ts';
import { countsOf, MISSING_WORDS, type MissingGroup, type MissingOutcome } from '../../domain/missing-items.ts';
import type { Paint } from './style.ts';
import { countKind } from './words.ts';

const WITHOUT_A_PERSON = ['unpublishing', 'unpublished', 'not_public', 'with_product', 'accepted'] as const;

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
