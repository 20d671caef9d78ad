import { createRedisBackend, type Processor, type Queue, Worker } from 'bullmq';
import { Redis } from 'ioredis';
import { describe } from 'vitest';
import { createMemoryBackend } from '../../../src/queue/memory/memory-backend.ts';
import { describeRedis, type RedisServer, startRedis } from './redis.ts';

/** A place where the queues can live, for suites that run over all of them. */
export interface QueuePlace {
  /** What `createQueues` takes. */
  url: string;
  /** A BullMQ worker beside ours, on the same queue, that takes a job and lets go of it in whatever way a test wants. */
  foreignWorker(queue: Queue, processor: Processor, lockMs: number): Worker;
  stop(): Promise<void>;
}

interface QueueBackendUnderTest {
  name: string;
  describe: (name: string, body: () => void) => void;
  start(): Promise<QueuePlace>;
}

const FOREIGN = { concurrency: 1, skipLockRenewal: true, skipStalledCheck: true };

/** Every backend of the queues. A new one is tested by being listed here. */
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
