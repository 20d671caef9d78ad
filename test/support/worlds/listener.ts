import type { JobResult, ReceivedJob } from '../../../src/domain/ports/queues.ts';

/** A handler that keeps the jobs that it receives, and lets a test wait for them. */
export interface Listener {
  received: ReceivedJob[];
  handle: (job: ReceivedJob) => Promise<JobResult>;
  /** Resolves when this many jobs were received. A job that is repeated counts again. */
  until(count: number): Promise<void>;
}

/** @param answer how the handler ends a job; done by default */
export function createListener(
  answer: (job: ReceivedJob) => JobResult | Promise<JobResult> = () => ({ status: 'done' }),
): Listener {
  const received: ReceivedJob[] = [];
  const waiting = new Set<{ count: number; resolve: () => void }>();
  return {
    received,
    async handle(job) {
      received.push(job);
      for (const waiter of waiting) {
        if (received.length < waiter.count) continue;
        waiting.delete(waiter);
        waiter.resolve();
      }
      return await answer(job);
    },
    until(count) {
      if (received.length >= count) return Promise.resolve();
      return new Promise((resolve) => waiting.add({ count, resolve }));
    },
  };
}
