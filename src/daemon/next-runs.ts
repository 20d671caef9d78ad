import { createTask } from 'node-cron';
import type { RuntimeConfig } from './open-source.ts';

/** When each source would be pulled next by its schedule, as milliseconds since the epoch; null without a schedule. */
export function nextRunsOf(config: RuntimeConfig): Map<string, number | null> {
  return new Map(
    config.sources.map(({ id, schedule, timezone }) => [id, schedule === null ? null : nextRunAt(schedule, timezone)]),
  );
}

function nextRunAt(cron: string, timezone: string): number | null {
  // A task knows its next time only while it runs; this one ends before it could ring.
  const task = createTask(cron, () => {}, { timezone, unref: true });
  try {
    void task.start();
    return task.getNextRun()?.getTime() ?? null;
  } finally {
    void task.destroy();
  }
}
