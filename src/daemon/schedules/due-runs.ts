import type { CareLedger, DaemonNotes } from '../../domain/ports/ledger/care-ledger.ts';
import type { RunView } from '../../domain/ports/ledger/ledger-views.ts';
import type { Reads } from '../../domain/ports/ledger/reads.ts';
import type { Clock } from '../../lib/clock.ts';
import { messageOf } from '../../lib/errors.ts';
import { sha256Hex } from '../../lib/hash.ts';
import type { Logger } from '../../lib/logging/logging.ts';
import { withAnySignal } from '../../lib/with-any-signal.ts';
import type { HeldRuns } from '../plan/held-runs.ts';
import type { Schedule, Scheduler } from '../scheduler.ts';
import { type ConfiguredSource, lookAtSource, type RuntimeConfig } from '../sources/open-source.ts';
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

/** The time between two rounds over the sources. The connector decides how often a source is checked. */
const ROUND_MS = 1000;
/** A check that takes longer is given up. The next check begins at its usual time. */
const LOOK_WITHIN_MS = 60_000;
/** The time from a failed check to the next one. */
const AGAIN_MS = 10_000;

interface Watched {
  /** The hash of the export at the last check; null if nothing could be read. */
  found: string | null;
  lookAt: number;
  looking: boolean;
}

/**
 * Makes a run due when an export of a source with `watch: true` appears or changes. The export has to be the same in
 * two checks, so that a file that is still being written starts no run. The ledger stores which export has started a
 * run, so an export that changed while no daemon ran also starts one. A source is not checked while it is read; a
 * change during that time starts the next run. Resolves after the signal.
 */
export async function watchExports(
  options: {
    /** Read at each round, because a reload may replace it. */
    config: RuntimeConfig;
    ledger: Pick<CareLedger, 'noteDaemon'>;
    /** Which exports have started a run, as the last daemon has left it. */
    note: DaemonNotes['watched'] | null;
    dueRuns: Pick<DueRuns, 'add'>;
    scheduler: Pick<Scheduler, 'request'>;
    pulling: () => string[];
    clock: Clock;
    log: Logger;
  },
  signal: AbortSignal,
): Promise<void> {
  const { config, ledger, note, dueRuns, scheduler, pulling, clock, log } = options;
  const watched = new Map<string, Watched>();
  const looks = new Set<Promise<void>>();
  /** A reload gives each source a new object, so a source whose connector has changed is checked again. */
  const unwatchable = new WeakSet<ConfiguredSource>();
  let started = { ...note };
  // A check every two seconds would fill the log, so checks log nothing.
  const quiet: Logger = {
    debug: () => undefined,
    info: () => undefined,
    warn: (fields, message) => log.warn(fields, message),
    error: (fields, message) => log.error(fields, message),
  };

  async function startRun(id: string, hash: string): Promise<void> {
    const because = started[id] === undefined ? 'is watched for the first time' : 'has changed';
    log.info({ source: id }, `The export of ${id} ${because}, so a run is due.`);
    await dueRuns.add(id);
    scheduler.request(id, 'file');
    started = { ...started, [id]: hash };
    await ledger.noteDaemon('watched', started);
  }

  async function look(source: ConfiguredSource, state: Watched): Promise<void> {
    const { id } = source;
    try {
      const found = await withAnySignal([signal, AbortSignal.timeout(LOOK_WITHIN_MS)], (within) =>
        lookAtSource(source, { config, log: quiet, signal: within }),
      );
      if (found === null || signal.aborted) {
        if (found === null) unwatchable.add(source);
        if (found === null)
          log.warn(
            { source: id },
            `The source ${id} cannot be watched: its connector ${source.connector.id} has no method look.`,
          );
        return;
      }
      const hash = found.facts === null ? null : sha256Hex(found.facts);
      const isStable = hash !== null && hash === state.found;
      state.found = hash;
      state.lookAt = clock.ticks() + found.againMs;
      // A run that began during this check may already read the export, so the export is checked again after that run.
      if (isStable && hash !== started[id] && !pulling().includes(id)) await startRun(id, hash);
    } catch (error) {
      state.found = null;
      log.debug({ source: id, error: messageOf(error) }, `There is no export of ${id} to look at: ${messageOf(error)}`);
      state.lookAt = clock.ticks() + AGAIN_MS;
    } finally {
      state.looking = false;
    }
  }

  while (!signal.aborted) {
    const busy = pulling();
    for (const source of config.sources) {
      if (!source.watch || unwatchable.has(source) || busy.includes(source.id)) continue;
      const state = watched.get(source.id) ?? { found: null, lookAt: 0, looking: false };
      watched.set(source.id, state);
      if (state.looking || clock.ticks() < state.lookAt) continue;
      state.looking = true;
      const looking = look(source, state).finally(() => looks.delete(looking));
      looks.add(looking);
    }
    await clock.sleep(ROUND_MS, signal);
  }
  await Promise.all(looks);
}
