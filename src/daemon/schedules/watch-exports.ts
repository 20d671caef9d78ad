import type { CareLedger, DaemonNotes } from '../../domain/ports/ledger/care-ledger.ts';
import type { Clock } from '../../lib/clock.ts';
import { messageOf } from '../../lib/errors.ts';
import { sha256Hex } from '../../lib/hash.ts';
import type { Logger } from '../../lib/logging/logging.ts';
import { withAnySignal } from '../../lib/with-any-signal.ts';
import type { Scheduler } from '../scheduler.ts';
import { type ConfiguredSource, lookAtSource, type RuntimeConfig } from '../sources/open-source.ts';
import type { DueRuns } from './due-runs.ts';

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
