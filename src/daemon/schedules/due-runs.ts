import type { CareLedger, DaemonNotes } from '../../domain/ports/ledger/care-ledger.ts';
import type { Clock } from '../../lib/clock.ts';
import { messageOf } from '../../lib/errors.ts';
import type { Logger } from '../../lib/logging/logging.ts';
import type { Pulls } from '../sources/pulls.ts';

/**
 * Remembers in the ledger which sources have a run that is due and has not ended. A queue that is out of reach, a pause
 * or a killed process then delays the run, and the next daemon starts it.
 */
export function createDueRuns(options: {
  ledger: Pick<CareLedger, 'noteDaemon'>;
  /** What the last daemon has left. */
  note: DaemonNotes['dueRuns'] | null;
  clock: Clock;
  log: Logger;
}) {
  const { ledger, note, clock, log } = options;
  const due = new Map(Object.entries(note ?? {}));
  /** The sources with a run under way that ends what is due. A run that is asked for after its begin stays due. */
  const begun = new Set<string>();
  let storing: Promise<void> = Promise.resolve();

  function store(): Promise<void> {
    const kept = due.size === 0 ? null : Object.fromEntries(due);
    // Notes are stored one after the other, so that an older note never replaces a newer one.
    storing = storing.then(async () => {
      try {
        await ledger.noteDaemon('dueRuns', kept);
      } catch (error) {
        log.warn({ error: messageOf(error) }, `The ledger could not note which runs are due: ${messageOf(error)}`);
      }
    });
    return storing;
  }

  async function done(source: string): Promise<void> {
    if (begun.delete(source) && due.delete(source)) await store();
  }

  return {
    /**
     * Resolves when the due run is stored. If the ledger cannot be written, the promise resolves too and the failure is
     * logged, because the run itself can still succeed.
     */
    async add(source: string): Promise<void> {
      const hasBegun = begun.delete(source);
      if (due.has(source) && !hasBegun) return;
      due.set(source, clock.now());
      await store();
    },
    /** Call it when a run is left out because the run under way reads its source: both are over with the end of that run. */
    leftOut: (source: string): void => void begun.add(source),
    sources: (): string[] => [...due.keys()],
    /** Returns a pull after which the run of its source is not due any more. */
    until:
      (pull: Pulls['pull']): Pulls['pull'] =>
      async (source, cause, abort, waitMs) => {
        begun.add(source);
        try {
          const pulled = await pull(source, cause, abort, waitMs);
          if (pulled.result === 'complete') await done(source);
          return pulled;
        } catch (error) {
          // A run that has failed is not due any more. A run that was stopped stays due, so that it is repeated.
          if (!abort.aborted) await done(source);
          throw error;
        }
      },
  };
}

export type DueRuns = ReturnType<typeof createDueRuns>;
