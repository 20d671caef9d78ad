import type { Outcome } from '../domain/outcome.ts';
import type { Emit } from '../domain/ports/progress.ts';
import type { Listing } from '../domain/ports/target.ts';
import type { Clock } from '../lib/clock.ts';
import type { Pacer } from './pacer.ts';
import { createReadBudget, type Readable } from './read-budget.ts';
import { signalOf } from './signal.ts';
import type { TargetGate } from './target-gate.ts';

/** A list that could not be read to its end the last time, since when by `ticks` of the clock, and why. */
export interface Unreadable {
  what: Readable;
  since: number;
  reason: string;
  /** Whether a limit of this machine kept it from being read, and not the API. */
  local: boolean;
}

/** The lists that are read to settle doubts, as the rest of the process gets to know of them. */
export interface Readings {
  /** Milliseconds until this list may be read; 0 for now. @param gathers as of `ReadBudget.admit` */
  waitMs(what: Readable, gathers?: boolean): number;
  /** Takes in what came of reading a list, as an answer of the API like any other. Gives it as an outcome. */
  heard(what: Readable, listing: Listing, begunAt: number): Outcome;
  /** The list that has been out of reach for longest; null where all could be read the last time. */
  unreadable(): Unreadable | null;
}

export function createReadings(options: {
  gate: Pick<TargetGate, 'observe'>;
  pacer: Pick<Pacer, 'heard'>;
  clock: Clock;
  emit: Emit;
}): Readings {
  const { gate, pacer, clock, emit } = options;
  const budget = createReadBudget();
  const failing = new Map<Readable, Unreadable>();
  return {
    // Whole milliseconds, as the ledger has them.
    waitMs: (what, gathers = false) => Math.ceil(budget.admit(what, clock.ticks(), gathers)),

    heard(what, listing, begunAt) {
      const outcome: Outcome = listing.complete ? { kind: 'accepted', remoteId: null } : listing.outcome;
      budget.spent(what, { begunAt, endedAt: clock.ticks() }, listing.complete);
      if (listing.complete) failing.delete(what);
      else {
        const reason = 'detail' in outcome ? outcome.detail.message : '';
        const local = outcome.kind === 'unavailable' && outcome.local === true;
        failing.set(what, { what, since: failing.get(what)?.since ?? begunAt, reason, local });
      }
      gate.observe(outcome, 'read');
      pacer.heard(signalOf(outcome, what));
      const operation = what === 'publications' ? what : 'list';
      emit({ type: 'request', operation, outcome: outcome.kind, retry: false });
      return outcome;
    },

    unreadable: () => [...failing.values()].toSorted((a, b) => a.since - b.since)[0] ?? null,
  };
}
