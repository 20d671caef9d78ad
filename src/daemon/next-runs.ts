import { createCron } from './cron.ts';
import type { RuntimeConfig } from './sources/open-source.ts';

/** When each source would be pulled next by its schedule, as milliseconds since the epoch; null without a schedule. */
export function nextRunsOf({ sources }: Pick<RuntimeConfig, 'sources'>, now: number): Map<string, number | null> {
  return new Map(
    sources.map(({ id, schedule, timezone }) => [
      id,
      schedule === null ? null : createCron(schedule, timezone).nextAfter(now),
    ]),
  );
}
