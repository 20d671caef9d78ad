import type { UnprovenCause } from './delivery/evidence.ts';
import type { ItemKind, SubjectKind } from './item.ts';
import { kindWord } from './words/states.ts';

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
