import { fault } from '../domain/faults.ts';
import { type Clock, systemClock } from '../lib/clock.ts';
import type { Logger } from '../lib/logging/logging.ts';
import type { StallTiming } from './backend.ts';
import { type BullmqQueues, createBullmqQueues } from './bullmq-queues.ts';
import { openEmbeddedBackend } from './embedded-backend.ts';
import { createErrorLog } from './error-log.ts';
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
