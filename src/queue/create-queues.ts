import { Queue, Worker } from 'bullmq';
import { fault } from '../domain/faults.ts';
import { QUEUE_NAMES } from '../domain/ports/queues.ts';
import { type Clock, systemClock } from '../lib/clock.ts';
import type { Logger } from '../lib/logging/logging.ts';
import { QUEUE_OPTIONS, type QueueBackend, type StallTiming, workerOptions } from './backend.ts';
import { type BullmqQueues, createBullmqQueues } from './bullmq-queues.ts';
import { createMemoryBackend, createMemoryQueues } from './memory/memory-backend.ts';
import { createErrorLog, type ErrorSink } from './queue-errors.ts';
import { openRedisBackend, placeOf } from './redis-backend.ts';

const TIMING: StallTiming = { lockMs: 30_000, stalledCheckMs: 30_000 };
/** BullMQ separates the parts of a key by colons, and Redis Cluster reads braces as hash tags. */
const PREFIX = /^[A-Za-z0-9_.-]{1,64}$/;

interface QueuesOptions {
  /** The configured queue: `embedded`, `redis://…` or `rediss://…`. */
  url: string;
  /**
   * The prefix of the queues' names, so that several ledgers can share one Redis: letters, digits, `_`, `.` and `-`.
   */
  prefix: string;
  log: Logger;
  /** For tests, which cannot wait half a minute until a worker counts as dead. */
  timing?: StallTiming | undefined;
  clock?: Clock;
}

/**
 * Opens the queues that the config names. Connects to Redis at once, so that a daemon does not start without its queue.
 *
 * @throws Fault `config.invalid` for another kind of URL or a prefix with other characters
 * @throws Fault `queue.unreachable` when Redis cannot be reached
 */
export async function createQueues(options: QueuesOptions): Promise<BullmqQueues> {
  const { url, prefix, log, timing = TIMING, clock = systemClock } = options;
  if (!PREFIX.test(prefix))
    throw fault('config.invalid', 'The prefix of the queues has characters that are not allowed.');
  if (url === 'embedded') {
    const onError = createErrorLog(log, clock);
    return createBullmqQueues({ backend: openEmbeddedBackend({ timing, clock, onError }), log, onError });
  }
  if (!/^rediss?:\/\/[^/]/.test(url) || !URL.canParse(url)) {
    throw fault('config.invalid', 'The queue is neither `embedded` nor a Redis URL.', {
      path: 'queue',
      suggestion: 'Write `queue: embedded`, or a URL such as redis://localhost:6379.',
    });
  }
  const onError = createErrorLog(log, clock, placeOf(url));
  const backend = await openRedisBackend({ url, prefix, timing, clock, log, onError });
  return createBullmqQueues({ backend, log, onError });
}

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
