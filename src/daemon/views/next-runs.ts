import { createCron } from '../cron.ts';
import { createSourcePauses } from '../schedules/source-pauses.ts';
import type { RuntimeConfig } from '../sources/open-source.ts';

/** When each source would be pulled next by its schedule and its pauses, as milliseconds since the epoch; null without a schedule. */
export function nextRunsOf({ sources }: Pick<RuntimeConfig, 'sources'>, now: number): Map<string, number | null> {
  const pausedUntil = createSourcePauses({ sources });
  return new Map(
    sources.map(({ id, schedule, timezone }) => {
      const at = schedule === null ? null : createCron(schedule, timezone).nextAfter(now);
      return [id, at === null ? null : (pausedUntil(id, at) ?? at)];
    }),
  );
}
