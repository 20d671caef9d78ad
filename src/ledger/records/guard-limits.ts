// The limits of the guard, for missing records and for released items in the same way, and the words about what is gone.

import type { MissingGuard } from '../../domain/ports/guarded-intake.ts';
import { equalForm } from '../../domain/record.ts';

/** How much of what a stream had is gone. */
interface Loss {
  lost: number;
  /** How much the stream had before, without what is new. */
  known: number;
}

/** True if more is lost than the guard allows: the share or the number. */
export function exceeds({ lost, known }: Loss, guard: Pick<MissingGuard, 'maxMissing' | 'maxMissingCount'>): boolean {
  if (lost === 0) return false;
  return lost > guard.maxMissingCount || (known === 0 ? 0 : lost / known) > guard.maxMissing;
}

/**
 * Up to how many have to be counted to know whether `lost` of them exceed the share; -1 if all have to be counted.
 */
export function countEnough(lost: number, { maxMissing, maxMissingCount }: MissingGuard): number {
  if (maxMissing === 0 || lost > maxMissingCount) return -1;
  // Whether most are gone has to be known too.
  return Math.max(Math.ceil(lost / maxMissing), 2 * lost) + 1;
}

/**
 * True if most of what a stream had is gone: at least half. What is new is then most likely the same under another key, so
 * nothing new of the stream is created before a person has decided.
 */
export function isMost({ lost, known }: Loss): boolean {
  return lost > 0 && 2 * lost >= known;
}

export function percent(share: number): string {
  return `${Math.round(share * 1000) / 10} %`;
}

/** The share that is lost, and what the guard allows. */
export function limitWords(
  { lost, known }: Loss,
  { maxMissing, maxMissingCount }: Pick<MissingGuard, 'maxMissing' | 'maxMissingCount'>,
): string {
  const isShare = known > 0 && lost / known > maxMissing;
  return `${percent(known === 0 ? 1 : lost / known)}, allowed are ${isShare ? percent(maxMissing) : maxMissingCount}`;
}

/** At most this many of the records or items that are gone are named in a message. */
export const KEYS_NAMED = 5;
const NAME_MAX = 60;

/** A sentence that names the first ones of all that are gone, and the command that lists them all if they are more. */
export function goneSentence(first: readonly string[], all: number): string {
  if (first.length === 0) return '';
  const names = first.map((name) => (name.length <= NAME_MAX ? name : `${name.slice(0, NAME_MAX)}…`)).join(', ');
  if (all <= first.length) return ` Missing: ${names}.`;
  return ` Missing: ${names} and ${all - first.length} more. To list them: \`dpp-sync items --state held\`.`;
}

/** At most this many keys of each side are compared, because it takes time. */
export const KEYS_COMPARED = 2_000;

/** Keys that vanished and keys that are new, as far as they are compared. */
interface KeySample {
  former: readonly string[];
  fresh: readonly string[];
  /** True if these are all keys. */
  isAll: boolean;
}

/** A sentence about the change of form that makes former keys equal to new ones; empty if there is none. */
export function formSentence({ former, fresh, isAll }: KeySample): string {
  const form = equalForm(former, fresh);
  if (form === null) return '';
  const of = isAll ? `${former.length}` : `the first ${former.length}`;
  return ` Without ${form.words}, ${form.equal} of ${of} former keys are equal to new ones: the form of the keys has most likely changed.`;
}
