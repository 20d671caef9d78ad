import type { JobResult, Queues, ReceivedJob, WakeUpJob } from '../../../src/domain/ports/queues.ts';

/** Queues in memory for worlds in virtual time. Their work takes no time, and they keep no failed jobs. */
export function createPlainQueues(): Queues {
  const waiting: WakeUpJob[] = [];
  let active = 0;
  let handler: ((job: ReceivedJob) => Promise<JobResult>) | null = null;
  let concurrency = 0;
  let jobs = 0;

  function next(): void {
    while (handler !== null && active < concurrency) {
      const job = waiting.shift();
      if (job === undefined) return;
      active += 1;
      jobs += 1;
      void handler({ ...job, id: `${jobs}`, retried: false }).finally(() => {
        active -= 1;
        next();
      });
    }
  }

  return {
    async enqueue(_queue, added) {
      waiting.push(...added);
      next();
    },
    async consume(_queue, options, handle) {
      handler = handle;
      concurrency = options.concurrency;
      next();
      return {
        async close() {
          handler = null;
        },
      };
    },
    counts: async () => ({ waiting: waiting.length, active, failed: 0 }),
    failed: async () => [],
    forget: async () => undefined,
    async clearWaiting() {
      waiting.length = 0;
    },
    paused: async () => [],
    touch: async () => undefined,
    close: async () => undefined,
  };
}
