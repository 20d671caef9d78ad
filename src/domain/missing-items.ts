import { ITEM_KINDS, type ItemKind } from './item.ts';

/**
 * What becomes of items that their source no longer has. Items that the platform never got have none of these outcomes. `kept`: nobody has decided, and the platform keeps them.
 * `unpublishing`: the passport is public, and is to be withdrawn. `unpublished`: the passport was withdrawn. `not_public`:
 * the passport was to be withdrawn, and it was never public. `accepted`: a person has accepted that they are missing.
 * `with_product`: BOM items whose product is missing too, and is `accepted`, `unpublished` or `not_public`.
 * `ignored`: the source has `onMissing: ignore`, so they are kept and do not count as missing.
 */
export type MissingOutcome =
  | 'kept'
  | 'unpublishing'
  | 'unpublished'
  | 'not_public'
  | 'with_product'
  | 'accepted'
  | 'ignored';

export interface MissingGroup {
  kind: ItemKind;
  outcome: MissingOutcome;
  count: number;
}

export type MissingCounts = Partial<Record<ItemKind, number>>;

/** Whether an item counts as missing: neither a person nor the config has decided about it, or its passport is public. */
const IS_UNDECIDED: Readonly<Record<MissingOutcome, boolean>> = {
  kept: true,
  unpublishing: true,
  unpublished: false,
  not_public: false,
  with_product: false,
  accepted: false,
  ignored: false,
};

/** What was done about missing items, after their count. */
export const MISSING_WORDS: Readonly<Record<MissingOutcome, string>> = {
  kept: 'kept at the platform until a person decides',
  unpublishing: 'to be unpublished',
  unpublished: 'unpublished',
  not_public: 'without a public passport, so there is nothing to unpublish',
  with_product: 'decided with their missing products',
  accepted: 'accepted as missing by a person',
  ignored: 'kept at the platform as they are (onMissing: ignore)',
};

/** How many items of each kind count as missing. */
export function undecidedCounts(groups: readonly MissingGroup[]): MissingCounts {
  return countsOf(groups.filter(({ outcome }) => IS_UNDECIDED[outcome]));
}

/** How many items of each kind are in these groups. Kinds without items are left out. */
export function countsOf(groups: readonly MissingGroup[]): MissingCounts {
  const counts: MissingCounts = {};
  for (const kind of ITEM_KINDS) {
    const count = groups.reduce((sum, group) => sum + (group.kind === kind ? group.count : 0), 0);
    if (count > 0) counts[kind] = count;
  }
  return counts;
}
