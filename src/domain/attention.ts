// What the states of deliveries do not say and people want to know: items that are missing from their source, writes that were taken
// without proof, keys with padding, and warnings of reads.

import type { UnprovenCause } from './delivery/outcome.ts';
import { ITEM_KINDS, type ItemKind, type SubjectKind } from './item.ts';
import { kindWord } from './words/states.ts';

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

/** Items or passports whose last acknowledged write was taken without proof. */
export interface UnprovenWrites {
  kind: SubjectKind;
  because: UnprovenCause;
  count: number;
}

/**
 * Describes writes that were taken without proof, in full sentences.
 *
 * @param formatted the count as people read it
 */
export function describeUnproven({ kind, because, count }: UnprovenWrites, formatted: string): string {
  const noun = kindWord(kind);
  if (because === 'accepted') {
    const what = count === 1 ? `1 ${noun} was` : `${formatted} ${noun}s were`;
    return `${what} accepted without proof: the answer was a success that does not show the effect, and no list can show it (\`answers.withoutProof: accept\`).`;
  }
  const what = count === 1 ? `The id of 1 ${noun} was` : `The ids of ${formatted} ${noun}s were`;
  const why =
    because === 'assumed_empty'
      ? 'the config has `target.firstContact: assume-empty`'
      : `the list of ${noun}s cannot be read`;
  return `${what} taken without proof: the answers did not repeat what was sent, and ${why}.`;
}

/** Items of a kind whose key at the platform has white space or byte order marks around it, with the key of one of them. */
export interface PaddedKeys {
  kind: ItemKind;
  count: number;
  example: string;
}

/**
 * Describes items that the platform has under a key with padding, and what that means.
 *
 * @param formatted the count as people read it
 */
export function describePaddedKeys({ kind, count }: PaddedKeys, formatted: string): string {
  const noun = kindWord(kind);
  const [what, its] = count === 1 ? [`1 ${noun} has`, 'its'] : [`${formatted} ${noun}s have`, 'their'];
  const same = count === 1 ? `the same ${noun}` : `the same ${noun}s`;
  return `${what} ${its} former key at the platform, with white space or a byte order mark around it. Nothing has to be done: changes go to ${same}, and no second one is made.`;
}

/** The warnings of reads, each with its stream, for `sync`, `status` and the dashboard. */
export function runWarnings(
  accounts: readonly { source: string; stream: string; warnings: readonly string[] }[],
): string[] {
  return accounts.flatMap(({ source, stream, warnings }) => warnings.map((text) => `${source}/${stream}: ${text}`));
}

/** Says of sources that the config no longer has that nothing keeps their items up to date. */
export function formerSourceWarnings({ formerSources }: { formerSources: readonly string[] }): string[] {
  return formerSources.map(
    (source) =>
      `The source ${source} is no longer in the config. Its items stay at the platform as they are, and its passports stay public. Put it back if it was removed by mistake. docs/operations.md says how to end a source.`,
  );
}

/** Says of runs that a person has refused that their sources were not read. Runs that wait for a person are shown by themselves. */
export function refusedRunWarnings(
  runs: readonly { id: number; source: string; result: string | null; error: string | null }[],
  { held }: { held: readonly { runId: number }[] },
): string[] {
  return runs.flatMap(({ id, source, result, error }) =>
    result === 'held' && held.every(({ runId }) => runId !== id)
      ? [`The run of ${source} is held: ${error ?? ''}`]
      : [],
  );
}
