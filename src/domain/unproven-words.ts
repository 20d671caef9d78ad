import type { UnprovenCause } from './delivery/evidence.ts';
import type { SubjectKind } from './item.ts';
import { kindWord } from './words/names.ts';

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
