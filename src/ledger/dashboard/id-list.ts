// Makes the pages of a list from ids. The ids come from several phases, one after the other, each in the order of an
// index. A condition is checked for each id. One page looks at a bounded number of ids. So it may have fewer rows than
// asked for if few rows fulfil the condition; the next page continues after its last id.

import type { Listed, ListPage } from '../../domain/ports/ledger/dashboard-views.ts';
import { limitOf, type Place, placeOf, placeText } from './list-page.ts';

export interface Found {
  id: number;
  /** The position after this id, from which the phase continues. */
  after: readonly (string | number)[];
}

/** Ids in the order of one index, a batch at a time. */
export interface Phase {
  /** Reads the ids after a position. Returns fewer than `limit` only at the end. */
  read(after: Place['after'], limit: number): Found[];
  /** How many ids there are, at most `most`; null if only reading them can show it. */
  count?(most: number): number;
}

/** Makes a phase from ids that are in memory, in their order. */
export function phaseOfIds(ids: (afterId: number) => Generator<number>, count?: Phase['count']): Phase {
  return {
    read(after, limit) {
      const found: Found[] = [];
      for (const id of ids(Number(after?.[0] ?? 0))) {
        found.push({ id, after: [id] });
        if (found.length === limit) break;
      }
      return found;
    },
    ...(count === undefined ? {} : { count }),
  };
}

const BATCH = 500;
/** How many ids one page looks at. */
const LOOKED_AT_MAX = 20_000;
const COUNTED_MAX = 100_000;
/** How many ids are looked at to count those that fulfil a condition. */
const LOOKED_AT_TO_COUNT = 10_000;

/**
 * One page of a list of ids.
 *
 * @param accepts returns the ids of a batch that fulfil the condition of the list; null for a list without a condition
 */
export function pageOfIds(
  phases: readonly Phase[],
  page: ListPage,
  accepts: ((ids: readonly number[]) => ReadonlySet<number>) | null,
): { ids: number[]; next: string | null } {
  const limit = limitOf(page);
  const found: number[] = [];
  let { phase, after } = placeOf(page);
  let lookedAt = 0;
  while (phase < phases.length) {
    const size = accepts === null ? limit - found.length + 1 : BATCH;
    const batch = phases[phase]?.read(after, size) ?? [];
    const accepted = accepts === null ? null : accepts(batch.map(({ id }) => id));
    for (const one of batch) {
      if (accepted === null || accepted.has(one.id)) {
        if (found.length === limit) return { ids: found, next: placeText({ phase, after }) };
        found.push(one.id);
      }
      ({ after } = one);
    }
    lookedAt += batch.length;
    if (batch.length < size) {
      phase += 1;
      after = null;
    } else if (lookedAt >= LOOKED_AT_MAX) return { ids: found, next: placeText({ phase, after }) };
  }
  return { ids: found, next: null };
}

/** How many ids a list has. */
export function countIds(
  phases: readonly Phase[],
  accepts: ((ids: readonly number[]) => ReadonlySet<number>) | null,
): Listed<never>['total'] {
  let count = 0;
  let lookedAt = 0;
  for (const phase of phases) {
    const known = accepts === null ? phase.count?.(COUNTED_MAX) : undefined;
    if (known !== undefined) {
      count += known;
      if (known >= COUNTED_MAX) return { count, atLeast: true };
      continue;
    }
    let after: Place['after'] = null;
    for (;;) {
      const batch = phase.read(after, BATCH);
      count += accepts === null ? batch.length : accepts(batch.map(({ id }) => id)).size;
      lookedAt += batch.length;
      if (batch.length < BATCH) break;
      if (lookedAt >= LOOKED_AT_TO_COUNT) return { count, atLeast: true };
      after = batch.at(-1)?.after ?? null;
    }
  }
  return { count, atLeast: false };
}
