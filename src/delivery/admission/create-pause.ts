import type { Operation } from '../../domain/delivery/operation.ts';
import type { ListableKind } from '../../domain/ports/target.ts';
import type { Clock } from '../../lib/clock.ts';

/** Pauses creates after a list has changed while it was read, so that the next reading finds it unchanged. */
export interface CreatePause {
  /** The operations that are paused now. */
  operations(): Operation[];
  /** Call it when a reading of this list begins. Paused creates wait until the reading ends. */
  begin(kind: ListableKind): void;
  /**
   * Call it when a reading has ended.
   *
   * @param end.restMs how long until the list may be read again
   */
  end(kind: ListableKind, end: { complete: boolean; moved: boolean; restMs: number }): void;
}

/** The next reading has to begin within this time after the list may be read again. Otherwise the creates continue. */
const LATE_MS = 30_000;

/**
 * After one reading that failed because entries moved, creates of the kind pause until the next reading is over. If
 * that reading fails for the same reason, other writers change the list. A pause is then of no use until the list was
 * read once without a failure.
 */
export function createCreatePause(clock: Pick<Clock, 'ticks'>): CreatePause {
  /** Kinds whose creates are paused, each with the end of its pause, by `ticks` of the clock. */
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
