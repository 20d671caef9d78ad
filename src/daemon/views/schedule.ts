import type { LedgerConfig } from '../../config/loaded-config.ts';
import type { Clock } from '../../lib/clock.ts';
import type { StatusContext } from '../../operations/runtime.ts';
import { createCron } from '../cron.ts';
import { createSourcePauses } from '../schedules/source-pauses.ts';

/** The times of the runs by the schedules and the pauses of a config. */
export function scheduleOf(
  { sources }: Pick<LedgerConfig, 'sources'>,
  clock: Pick<Clock, 'now'>,
): StatusContext['schedule'] {
  const pausedUntil = createSourcePauses({ sources });
  return {
    pausedUntil: (source) => pausedUntil(source, clock.now()),
    nextRun(source) {
      const { schedule = null, timezone = 'UTC' } = sources.find(({ id }) => id === source) ?? {};
      const at = schedule === null ? null : createCron(schedule, timezone).nextAfter(clock.now());
      return at === null ? null : (pausedUntil(source, at) ?? at);
    },
  };
}
