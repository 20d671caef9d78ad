import { isLedgerFault } from '../domain/faults.ts';
import type { Fault } from '../lib/errors.ts';
import { describeNpmNode } from '../lib/package.ts';
import { createDaemon, type Daemon, type DaemonOptions } from './daemon.ts';

export interface RunDaemonOptions extends DaemonOptions {
  /**
   * Aborted by the first SIGTERM, SIGINT or SIGHUP. A second one may end the process at any instant; no work is lost
   * then.
   */
  signal: AbortSignal;
  /** How long requests in flight may take to end. */
  drainMs?: number;
  /** Called once the daemon works. */
  onReady?: (daemon: Daemon) => void;
}

/**
 * An orchestrator usually kills a process half a minute after the request to stop. The daemon stops waiting before
 * that.
 */
export const DRAIN_MS = 25_000;

/**
 * Runs the daemon until it has to stop.
 *
 * @returns 0 when all requests in flight have ended; 1 if some have not ended within the limit. The caller then ends
 *   the process, which is safe: a request without an answer is unconfirmed at the next start, and is looked up.
 * @throws Fault when it cannot be started, or when it has lost its ledger
 */
export async function runDaemon(options: RunDaemonOptions): Promise<0 | 1> {
  const { config, signal, clock, log, version, drainMs = DRAIN_MS, onReady } = options;
  const daemon = await createDaemon(options);
  const { voided } = daemon.runtime;
  const sources = config.sources.length;
  log.info({ version, pid: process.pid, url: daemon.url, sources, voided }, `The daemon works on ${config.file}.`);
  const npmNode = describeNpmNode(process.execPath, process.versions.node);
  if (npmNode !== null) log.info({ node: process.execPath }, npmNode);
  onReady?.(daemon);
  const lost = await stopped(daemon, signal, clock);

  if (lost) log.error({ error: lost.message }, 'Stopping: this process may no longer write to the ledger.');
  else log.info({ drainMs }, 'Stopping: requests in flight are finished, everything else stays due in the ledger.');
  const timer = new AbortController();
  const late = clock.sleep(drainMs, timer.signal).then(() => 'late' as const);
  const ending = daemon.stop().then(
    () => 'stopped' as const,
    (error: unknown) => {
      // If the ledger is lost, a failed write has the same cause and is not reported separately.
      if (!lost || !isLedgerFault(error)) throw error;
      return 'stopped' as const;
    },
  );
  const outcome = await Promise.race([ending, late]);
  timer.abort();
  if (lost) throw lost;
  if (outcome === 'late') {
    log.warn({ drainMs }, 'Some work did not end in time. The next start looks up the requests that have no answer.');
    return 1;
  }
  log.info({}, 'Stopped.');
  return 0;
}

/** How often the daemon checks that it has not lost its ledger. */
const LOOK_MS = 1000;

/** Resolves when the daemon has to stop, with the fault if there is one. */
async function stopped(daemon: Daemon, signal: AbortSignal, clock: DaemonOptions['clock']): Promise<Fault | null> {
  while (!signal.aborted) {
    const lost = daemon.runtime.ledgerLost();
    if (lost) return lost;
    await clock.sleep(LOOK_MS, signal);
  }
  return null;
}
