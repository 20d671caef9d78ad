// The entries of a list of causes: the same fault in many sources is one entry.

import type { Cause, CauseValue } from '../../../domain/ports/ledger/dashboard-views.ts';

/** The first of its causes, with the figures of all of them. */
export interface CauseEntry extends Cause {
  /** The causes of the entry: one, or the same fault of several sources or streams. A product may wait for several of them. */
  causes: readonly Cause[];
}

/**
 * Makes the entries of a list, those that hold the most passports first. A cause with a note is an entry of its own, because somebody
 * takes care of it, and so is a cause that is about no source, because nothing would tell it from the others.
 */
export function entriesOf(causes: readonly Cause[]): CauseEntry[] {
  const sameFault = ({ id, type, source, code, field, title, note }: Cause) =>
    JSON.stringify(note === null && source !== null ? [type, code, field, title] : [id]);
  return [...Map.groupBy(causes, sameFault).values()]
    .map((same) =>
      entryOf(same.toSorted((a, b) => byEffect(a, b) || nameOf(a).localeCompare(nameOf(b), 'en', { numeric: true }))),
    )
    .sort(byEffect);
}

/** The cause that holds the most passports is the first. A number that is not known may be all of them. */
function byEffect(a: Cause, b: Cause): number {
  const heldBy = ({ passportsHeld: held }: Cause): number => held ?? Number.MAX_SAFE_INTEGER;
  return heldBy(b) - heldBy(a) || b.count - a.count;
}

function nameOf({ source, stream }: Cause): string {
  return `${source ?? ''}/${stream ?? ''}`;
}

function entryOf(causes: readonly Cause[]): CauseEntry {
  const [first] = causes;
  if (first === undefined) throw new Error('An entry has a cause.');
  if (causes.length === 1) return { ...first, causes };
  const held = causes.map(({ passportsHeld }) => passportsHeld);
  const seen = causes.flatMap(({ firstSeenAt }) => firstSeenAt ?? []);
  return {
    ...first,
    count: causes.reduce((sum, { count }) => sum + count, 0),
    passportsHeld: held.reduce((sum, one) => (sum === null || one === null ? null : sum + one)),
    firstSeenAt: seen.length < causes.length ? null : Math.min(...seen),
    ...valuesOf(causes),
    causes,
  };
}

/** The values of all causes, unless some of them are only counted: two causes may have counted the same value. */
function valuesOf(causes: readonly Cause[]): { values: CauseValue[]; otherValues: number } {
  if (causes.some(({ values, otherValues }) => values.length === 0 || otherValues > 0))
    return { values: [], otherValues: 0 };
  const counts = new Map<string, number>();
  for (const { value, count } of causes.flatMap(({ values }) => values))
    counts.set(value, (counts.get(value) ?? 0) + count);
  const values = Array.from(counts, ([value, count]) => ({ value, count })).sort((a, b) => b.count - a.count);
  return { values, otherValues: 0 };
}
