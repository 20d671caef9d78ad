import { createTask, type ScheduledTask } from 'node-cron';
import { messageOf } from '../lib/errors.ts';
import type { Logger } from '../lib/logging.ts';

export interface Schedule {
  source: string;
  /** A cron expression. */
  cron: string;
  /** An IANA time zone. */
  timezone: string;
}

/** Rings for sources at their times. */
export interface Scheduler {
  start(): void;
  /** When a source is due next, as milliseconds since the epoch; null without a schedule. */
  nextRun(source: string): number | null;
  stop(): Promise<void>;
}

/**
 * @param ring called at each due time; that it is still being answered holds back the next time of that source only
 */
export function createScheduler(options: {
  schedules: readonly Schedule[];
  ring: (source: string) => Promise<void>;
  log: Logger;
}): Scheduler {
  const { ring, log } = options;
  const tasks = new Map<string, ScheduledTask>();
  for (const { source, cron, timezone } of options.schedules) {
    const task = createTask(
      cron,
      async () => {
        try {
          await ring(source);
        } catch (error) {
          // The next time comes by itself; what must not happen is that nobody hears of this one.
          log.error({ source, error: messageOf(error) }, 'A scheduled run could not be started.');
        }
      },
      { timezone, noOverlap: true, name: `pull ${source}` },
    );
    tasks.set(source, task);
  }
  return {
    start() {
      for (const task of tasks.values()) void task.start();
    },
    nextRun: (source) => tasks.get(source)?.getNextRun()?.getTime() ?? null,
    async stop() {
      for (const task of tasks.values()) await task.destroy();
    },
  };
}
