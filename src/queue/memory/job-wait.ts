import type { IQueueBackend } from 'bullmq';
import type { JobStore } from './job-store.ts';

type WaitMethods = Pick<
  IQueueBackend,
  'minimumBlockTimeout' | 'maximumBlockTimeout' | 'waitForJob' | 'disconnectBlocking' | 'reconnectBlocking'
>;

/** The part of BullMQ's interface by which a worker waits until there may be a job. */
export function createJobWait(
  jobs: Pick<JobStore, 'hasNext' | 'onNext'>,
  isClosing: () => boolean,
): { methods: WaitMethods; stop: () => void } {
  let mayWait = true;
  let stopWaiting: () => void = () => undefined;

  /** Resolves when there may be a job, when the time is over, and when waiting is stopped. */
  async function nextJob(timeoutMs: number): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const unsubscribe = jobs.onNext(resolve);
    // The timer alone must not keep the process alive.
    const timer = setTimeout(resolve, timeoutMs).unref();
    stopWaiting = resolve;
    await promise;
    clearTimeout(timer);
    unsubscribe();
  }

  return {
    stop: () => stopWaiting(),
    methods: {
      minimumBlockTimeout: 0.001,
      // No connection can be lost here, so workers that are not woken look for jobs only once an hour.
      maximumBlockTimeout: 3_600,
      async waitForJob(timeoutSeconds) {
        if (!mayWait || isClosing()) return null;
        if (!jobs.hasNext()) await nextJob(timeoutSeconds * 1_000);
        return jobs.hasNext() ? { member: '0', score: 0 } : null;
      },
      async disconnectBlocking() {
        mayWait = false;
        stopWaiting();
      },
      async reconnectBlocking() {
        mayWait = true;
      },
    },
  };
}
