import type { Logger } from '../../lib/logging/logging.ts';
import type { Schedule } from '../scheduler.ts';
import type { RuntimeConfig } from '../sources/open-source.ts';

/** The schedules of a config. */
export function schedulesOf({ sources }: Pick<RuntimeConfig, 'sources'>): Schedule[] {
  return sources.flatMap(({ id: source, schedule: cron, timezone }) =>
    cron === null ? [] : [{ source, cron, timezone }],
  );
}

/** Warns if this daemon has no schedules, and no dashboard in which a person could start a run. */
export function warnIfIdle({ sources, web }: Pick<RuntimeConfig, 'sources' | 'web'>, log: Logger): void {
  if (web !== null || sources.some(({ schedule, watch }) => schedule !== null || watch)) return;
  log.warn(
    {},
    'No source has a `schedule` or `watch: true`, and the config has no `web`: this daemon sends due deliveries, and starts no run automatically. `dpp-sync sync` starts a run in this daemon.',
  );
}
