import { createTask, type ScheduledTask } from 'node-cron';
import { messageOf } from '../lib/errors.ts';
import type { Logger } from '../lib/logging.ts';

export interface Schedule {
  source: string;
  /** A cron expression, with or without a field for seconds. */
  cron: string;
  /** An IANA time zone. */
  timezone: string;
}

/** Rings for sources at their times. */
export interface Scheduler {
  start(): void;
  /** When a source is due next, as milliseconds since the epoch; null without a schedule or before `start`. */
  nextRun(source: string): number | null;
  stop(): Promise<void>;
}

/**
 * A time that passed while this process was busy or the machine slept is rung late rather than left out, once for however
 * many times were missed. Times that pass while no daemon runs are not made up for.
 *
 * @param ring called at each due time; while one ring of a source is being answered, further ones are left out
 */
export function createScheduler(options: {
  schedules: readonly Schedule[];
  ring: (source: string) => Promise<void>;
  log: Logger;
}): Scheduler {
  const { schedules, ring, log } = options;
  const tasks = new Map<string, ScheduledTask>();
  const ringing = new Set<string>();

  async function ringOnce(source: string): Promise<void> {
    if (ringing.has(source)) return;
    ringing.add(source);
    try {
      await ring(source);
    } catch (error) {
      // The next time comes by itself; what must not happen is that nobody hears of this one.
      log.error({ source, error: messageOf(error) }, `The scheduled run of ${source} could not be started.`);
    } finally {
      ringing.delete(source);
    }
  }

  for (const { source, cron, timezone } of schedules) {
    const task = createTask(cron, () => ringOnce(source), {
      timezone,
      noOverlap: true,
      name: `pull ${source}`,
      // Its own logger writes to stdout, which belongs to results.
      logger: cronLogger(source, log),
    });
    task.on('execution:missed', () => ringOnce(source));
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

function cronLogger(source: string, log: Logger) {
  const say = (level: 'debug' | 'warn' | 'error') => (message: string | Error, error?: Error) => {
    const cause = error === undefined ? {} : { error: error.message };
    log[level]({ source, ...cause }, `The schedule of ${source} reports: ${messageOf(message)}`);
  };
  return { debug: say('debug'), info: say('debug'), warn: say('warn'), error: say('error') };
}
