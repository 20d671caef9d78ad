import type { CareLedger, DaemonNotes } from '../../domain/ports/ledger/care-ledger.ts';
import type { RunView } from '../../domain/ports/ledger/ledger-views.ts';
import type { Reads } from '../../domain/ports/ledger/reads.ts';
import type { Clock } from '../../lib/clock.ts';
import { messageOf } from '../../lib/errors.ts';
import type { Logger } from '../../lib/logging/logging.ts';
import type { HeldRuns } from '../plan/held-runs.ts';
import type { Schedule, Scheduler } from '../scheduler.ts';
import type { RuntimeConfig } from '../sources/open-source.ts';
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
          // A held run waits for a person. The next scheduled run is tried again.
          if (pulled.result !== 'interrupted') await done(source);
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

/** The schedules of a config. */
export function schedulesOf({ sources }: Pick<RuntimeConfig, 'sources'>): Schedule[] {
  return sources.flatMap(({ id: source, schedule: cron, timezone }) =>
    cron === null ? [] : [{ source, cron, timezone }],
  );
}

/**
 * Makes runs due that the previous process has not completed: runs that were due and did not begin, runs that were
 * interrupted, runs that were approved, and runs whose time passed while no daemon ran. A source that has never run is first pulled at its next
 * scheduled time.
 */
export async function requestLeftRuns(
  { sources }: RuntimeConfig,
  options: {
    scheduler: Scheduler;
    dueRuns: DueRuns;
    held: Pick<HeldRuns, 'of'>;
    reads: Pick<Reads, 'sourceRuns'>;
    log: Logger;
  },
): Promise<void> {
  const { scheduler, dueRuns, held, reads, log } = options;
  const runs = await reads.sourceRuns(sources.map(({ id }) => id));
  const due = dueRuns.sources();
  for (const { id, schedule } of sources) {
    const last = runs.find(({ source }) => source === id)?.lastRun ?? undefined;
    const isScheduled = schedule !== null && last !== undefined;
    let why: string;
    if (due.includes(id)) why = 'was due when the last daemon ended, and starts now';
    else if (held.of(id)?.decision?.decided === 'approved') why = 'was approved and is not complete, and starts now';
    else if (isScheduled && wasCutShort(last)) why = 'was interrupted, and is repeated';
    else if (isScheduled && scheduler.missed(id, last.startedAt))
      why = 'was missed while no daemon ran, and starts now';
    else continue;
    log.info({ source: id, ...(last === undefined ? {} : { run: last.id }) }, `A run of ${id} ${why}.`);
    scheduler.request(id);
  }
}

/** True for a run that was interrupted, or whose process was killed. */
function wasCutShort({ result }: RunView): boolean {
  return result === null || result === 'interrupted';
}

/** Warns if a daemon has no schedules, and no dashboard in which a person could start a run. */
export function warnIfIdle({ sources, web }: Pick<RuntimeConfig, 'sources' | 'web'>, log: Logger): void {
  if (web !== null || sources.some(({ schedule, watch }) => schedule !== null || watch)) return;
  log.warn(
    {},
    'No source has a `schedule` or `watch: true`, and the config has no `web`: this daemon sends due deliveries, and starts no run automatically. `dpp-sync sync` starts a run in this daemon.',
  );
}
