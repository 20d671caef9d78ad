import type { Operation } from '../domain/delivery.ts';
import type { ListableKind } from '../domain/ports/target.ts';
import type { Clock } from '../lib/clock.ts';

/** Creates that rest, so that a list which moved while it was read keeps still for its next reading. */
export interface CreatePause {
  /** Operations that nothing is sent of for now. */
  operations(): Operation[];
  /** A reading of this list begins. What rests does so until it is over. */
  begin(kind: ListableKind): void;
  /**
   * A reading is over.
   *
   * @param end.restMs how long until the list may be read again
   */
  end(kind: ListableKind, end: { complete: boolean; moved: boolean; restMs: number }): void;
}

/** The next reading may have to wait for its turn; where it never comes, nothing rests for longer. */
const LATE_MS = 30_000;

/**
 * After one reading that failed because entries moved, creates of the kind rest until the next one is over. Where that
 * fails for the same reason, others move the list, and to rest is of no use until it could be read once.
 */
export function createCreatePause(clock: Pick<Clock, 'ticks'>): CreatePause {
  /** Until when by `ticks` of the clock. */
  const restUntil = new Map<ListableKind, number>();
  const inVain = new Set<ListableKind>();
  const rests = (kind: ListableKind): boolean => clock.ticks() < (restUntil.get(kind) ?? Number.NEGATIVE_INFINITY);

  return {
    operations: () => [...restUntil.keys()].filter(rests).map((kind) => `${kind}.create` as const),
    begin(kind) {
      if (rests(kind)) restUntil.set(kind, Number.POSITIVE_INFINITY);
    },
    end(kind, { complete, moved, restMs }) {
      const rested = restUntil.delete(kind);
      if (complete) inVain.delete(kind);
      else if (moved && rested) inVain.add(kind);
      else if (moved && !inVain.has(kind)) restUntil.set(kind, clock.ticks() + restMs + LATE_MS);
    },
  };
}
