import { createRedisBackend, type Processor, type Queue, Worker } from 'bullmq';
import { Redis } from 'ioredis';
import { describe } from 'vitest';
import { createMemoryBackend } from '../../../src/queue/memory/memory-backend.ts';
import { describeRedis, type RedisServer, startRedis } from './redis.ts';

/** A backend of the queues, for suites that run with each backend. */
export interface QueuePlace {
  /** The URL for `createQueues`. */
  url: string;
  /** A BullMQ worker on the same queue as ours. A test decides how it ends its jobs. */
  foreignWorker(queue: Queue, processor: Processor, lockMs: number): Worker;
  stop(): Promise<void>;
}

interface QueueBackendUnderTest {
  name: string;
  describe: (name: string, body: () => void) => void;
  start(): Promise<QueuePlace>;
}

const FOREIGN = { concurrency: 1, skipLockRenewal: true, skipStalledCheck: true };

/** All backends of the queues. Add a new one here to test it. */
export const QUEUE_BACKENDS: QueueBackendUnderTest[] = [
  {
    name: 'embedded',
    describe,
    start: () =>
      Promise.resolve({
        url: 'embedded',
        foreignWorker(queue, processor, lockMs) {
          const options = { ...queue.opts, ...FOREIGN, lockDuration: lockMs };
          return new Worker(queue.name, processor, options as never, createMemoryBackend) as unknown as Worker;
        },
        stop: () => Promise.resolve(),
      }),
  },
  {
    name: 'redis',
    describe: describeRedis,
    async start() {
      const redis: RedisServer = await startRedis({ appendonly: true });
      const connections: Redis[] = [];
      return {
        url: redis.url,
        foreignWorker(queue, processor, lockMs) {
          const connection = new Redis(redis.url, { maxRetriesPerRequest: null });
          connections.push(connection);
          const prefix = queue.opts.prefix ?? '';
          return new Worker(
            queue.name,
            processor,
            { ...FOREIGN, lockDuration: lockMs, prefix, connection },
            createRedisBackend,
          );
        },
        async stop() {
          for (const connection of connections) connection.disconnect();
          await redis.stop();
        },
      };
    },
  },
];
