import type { JobResult, ReceivedJob } from '../../src/domain/ports/queues.ts';

/** A hearing function that keeps what it heard and lets a test wait for it. */
export interface Listener {
  heard: ReceivedJob[];
  hear: (bell: ReceivedJob) => Promise<JobResult>;
  /** Resolves as soon as so many doorbells were heard, repeated ones counted. */
  until(count: number): Promise<void>;
}

/** @param answer how each hearing ends; done, where nothing is given */
export function createListener(
  answer: (bell: ReceivedJob) => JobResult | Promise<JobResult> = () => ({ status: 'done' }),
): Listener {
  const heard: ReceivedJob[] = [];
  const waiting = new Set<{ count: number; resolve: () => void }>();
  return {
    heard,
    async hear(bell) {
      heard.push(bell);
      for (const waiter of waiting) {
        if (heard.length < waiter.count) continue;
        waiting.delete(waiter);
        waiter.resolve();
      }
      return await answer(bell);
    },
    until(count) {
      if (heard.length >= count) return Promise.resolve();
      return new Promise((resolve) => waiting.add({ count, resolve }));
    },
  };
}
