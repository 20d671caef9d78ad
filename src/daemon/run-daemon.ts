import { isLedgerFault } from '../domain/faults.ts';
import type { Fault } from '../lib/errors.ts';
import { createDaemon, type Daemon, type DaemonOptions } from './daemon.ts';

export interface RunDaemonOptions extends DaemonOptions {
  /** Aborted by the first SIGTERM, SIGINT or SIGHUP. A second one may end the process at any instant: nothing is lost by that. */
  signal: AbortSignal;
  /** How long requests that are under way may take to end. */
  drainMs?: number;
  /** Called once the daemon works. */
  onReady?: (daemon: Daemon) => void;
}

/** Within the half minute that orchestrators commonly give before they kill, and before the command itself gives up. */
const DRAIN_MS = 25_000;

/**
 * Runs the daemon until it is told to stop.
 *
 * @returns 0 when everything that was under way has ended; 1 when some of it has not within the limit. The caller then ends
 * the process, which is safe: what was sent without an answer is in doubt at the next start, and is looked up.
 * @throws Fault when it cannot be started, or the ledger is not its own any more
 */
export async function runDaemon(options: RunDaemonOptions): Promise<0 | 1> {
  const { config, signal, clock, log, version, drainMs = DRAIN_MS, onReady } = options;
  const daemon = await createDaemon(options);
  const { voided } = daemon.runtime;
  const sources = config.sources.length;
  log.info({ version, pid: process.pid, url: daemon.url, sources, voided }, `The daemon works on ${config.file}.`);
  onReady?.(daemon);
  const lost = await stopped(daemon, signal, clock);

  if (lost) log.error({ error: lost.message }, 'Stopping: this process may write to the ledger no more.');
  else log.info({ drainMs }, 'Stopping: what is under way is finished, everything else stays due in the ledger.');
  const timer = new AbortController();
  const late = clock.sleep(drainMs, timer.signal).then(() => 'late' as const);
  const ending = daemon.stop().then(
    () => 'stopped' as const,
    (error: unknown) => {
      // What could not be written on the way has the same cause.
      if (!lost || !isLedgerFault(error)) throw error;
      return 'stopped' as const;
    },
  );
  const outcome = await Promise.race([ending, late]);
  timer.abort();
  if (lost) throw lost;
  if (outcome === 'late') {
    log.warn({ drainMs }, 'Not everything ended in time. What has no answer yet is looked up at the next start.');
    return 1;
  }
  log.info({}, 'Stopped.');
  return 0;
}

/** How often the daemon looks whether the ledger is still its own. */
const LOOK_MS = 1000;

/** Resolves once the daemon is told to stop, or has to, with the reason. */
async function stopped(daemon: Daemon, signal: AbortSignal, clock: DaemonOptions['clock']): Promise<Fault | null> {
  while (!signal.aborted) {
    const lost = daemon.runtime.ledgerLost();
    if (lost) return lost;
    await clock.sleep(LOOK_MS, signal);
  }
  return null;
}
