import { Queue, Worker } from 'bullmq';
import { QUEUE_NAMES } from '../domain/ports/queues.ts';
import type { Clock } from '../lib/clock.ts';
import { QUEUE_OPTIONS, type QueueBackend, type StallTiming, workerOptions } from './backend.ts';
import type { ErrorSink } from './error-log.ts';
import { createMemoryBackend, createMemoryQueues } from './memory/memory-backend.ts';

/** How often workers look for jobs. A new job wakes them, so this is only a second safeguard. */
const DRAIN_DELAY_SECONDS = 60;

/** Opens queues in the memory of this process. Their jobs are lost when it ends, and enqueued again from the ledger. */
export function openEmbeddedBackend(options: { timing: StallTiming; clock: Clock; onError: ErrorSink }): QueueBackend {
  const { timing, clock, onError } = options;
  const connection = createMemoryQueues(clock);

  // BullMQ types its classes by their backend. The methods that the port uses are the same for all backends, so the
  // classes are used as the default type.
  const queues = new Map(
    QUEUE_NAMES.map((name) => {
      const queue = new Queue(name, { ...QUEUE_OPTIONS, connection }, createMemoryBackend);
      queue.on('error', (error) => onError(`queue ${name}`, error));
      return [name, queue as unknown as Queue] as const;
    }),
  );
  return {
    queues,
    startWorker(name, processor, concurrency) {
      const common = { ...workerOptions(concurrency, timing), drainDelay: DRAIN_DELAY_SECONDS, connection };
      const worker = new Worker(name, processor, common, createMemoryBackend);
      // BullMQ waits for the handlers itself, so nothing is left to do here.
      return { worker: worker as unknown as Worker, close: () => worker.close() };
    },
    // There is no connection that could be lost, so the caller handles an error of the operation.
    attempt: (operation) => operation(),
    touch: () => Promise.resolve(),
    async close() {
      await Promise.all([...queues.values()].map((queue) => queue.close()));
    },
  };
}
