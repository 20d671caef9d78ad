import type { RunView } from '../domain/ports/ledger/ledger-views.ts';
import type { Clock } from '../lib/clock.ts';
import type { Logger } from '../lib/logging/logging.ts';
import type { DaemonCare } from './care.ts';
import type { Reload } from './reload/reload.ts';
import type { Scheduler } from './scheduler.ts';
import type { DueRuns } from './schedules/due-runs.ts';
import type { RuntimeConfig } from './sources/open-source.ts';

/** Combines reloads, backups and pauses into one object that the dashboard, the admin API and the metrics read. */
export function createCare(options: {
  reload: Pick<Reload, 'reload' | 'last'>;
  backups: DaemonCare['backups'];
  listeners: Set<(config: RuntimeConfig) => void>;
  pausedUntil: (source: string, at: number) => number | null;
  clock: Clock;
}): DaemonCare {
  const { reload, backups, listeners, pausedUntil, clock } = options;
  return {
    lastReload: () => reload.last(),
    reload: (cause) => reload.reload(cause),
    onReload(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    backups,
    pausedUntil: (source) => pausedUntil(source, clock.now()),
  };
}

/**
 * Makes runs due that the previous process has not completed: runs that were due and did not begin, runs that were
 * interrupted, and runs whose time passed while no daemon ran. A source that has never run is first pulled at its next
 * scheduled time.
 */
export function requestLeftRuns(
  { sources }: Pick<RuntimeConfig, 'sources'>,
  options: {
    scheduler: Pick<Scheduler, 'request' | 'missed'>;
    dueRuns: Pick<DueRuns, 'sources'>;
    lastRun: (source: string) => RunView | undefined;
    log: Logger;
  },
): void {
  const { scheduler, dueRuns, lastRun, log } = options;
  const due = dueRuns.sources();
  for (const { id, schedule } of sources) {
    const last = lastRun(id);
    const isScheduled = schedule !== null && last !== undefined;
    let why: string;
    if (due.includes(id)) why = 'was due when the last daemon ended, and starts now';
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
