import type { RunView } from '../../domain/ports/ledger/ledger-views.ts';
import type { Reads } from '../../domain/ports/ledger/reads.ts';
import type { Logger } from '../../lib/logging/logging.ts';
import type { Schedule, Scheduler } from '../scheduler.ts';
import type { RuntimeConfig } from '../sources/open-source.ts';
import type { DueRuns } from './due-runs.ts';

/** The schedules of a config. */
export function schedulesOf({ sources }: Pick<RuntimeConfig, 'sources'>): Schedule[] {
  return sources.flatMap(({ id: source, schedule: cron, timezone }) =>
    cron === null ? [] : [{ source, cron, timezone }],
  );
}

/**
 * Makes runs due that the previous process has not completed: runs that were due and did not begin, runs that were
 * interrupted, and runs whose time passed while no daemon ran. A source that has never run is first pulled at its next
 * scheduled time.
 */
export async function requestLeftRuns(
  { sources }: RuntimeConfig,
  options: {
    scheduler: Scheduler;
    dueRuns: DueRuns;
    reads: Pick<Reads, 'sourceRuns'>;
    log: Logger;
  },
): Promise<void> {
  const { scheduler, dueRuns, reads, log } = options;
  const runs = await reads.sourceRuns(sources.map(({ id }) => id));
  const due = dueRuns.sources();
  for (const { id, schedule } of sources) {
    const last = runs.find(({ source }) => source === id)?.lastRun ?? undefined;
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

/** Warns if a daemon has no schedules, and no dashboard in which a person could start a run. */
export function warnIfIdle({ sources, web }: Pick<RuntimeConfig, 'sources' | 'web'>, log: Logger): void {
  if (web !== null || sources.some(({ schedule, watch }) => schedule !== null || watch)) return;
  log.warn(
    {},
    'No source has a `schedule` or `watch: true`, and the config has no `web`: this daemon sends due deliveries, and starts no run automatically. `dpp-sync sync` starts a run in this daemon.',
  );
}
