import { createRedisBackend, type Processor, Worker, type WorkerOptions } from 'bullmq';
import { Redis } from 'ioredis';
import type { QueueName } from '../domain/ports/queues.ts';
import type { Clock } from '../lib/clock.ts';
import type { Logger } from '../lib/logging/logging.ts';
import type { BackendWorker } from './backend.ts';
import type { ErrorSink } from './error-log.ts';

/**
 * After this time without an answer, a connection to Redis is closed and opened again, and the commands that wait for
 * an answer are sent again. If the other machine disappears, the kernel would keep the connection open for a quarter of
 * an hour, and the worker would wait as long. BullMQ blocks a connection for ten seconds at most while it waits for a
 * job, so this time is longer.
 */
export const SILENCE_MS = 15_000;

const RECONNECT_CAP_MS = 2_000;
/** How long a worker may take to write its last results after its handlers have ended. */
const FAREWELL_MS = 5_000;

interface RedisWorkerOptions {
  url: string;
  name: QueueName;
  processor: Processor;
  options: Omit<WorkerOptions, 'connection'>;
  clock: Clock;
  log: Logger;
  onError: ErrorSink;
}

/**
 * A worker with its own connection. No caller waits for its commands, so they wait until Redis is back.
 *
 * Unlike BullMQ's `close`, this one also ends while Redis cannot be reached. A job whose result could not be written
 * stalls and runs again; the ledger then shows that its work is done.
 */
export function startRedisWorker({
  url,
  name,
  processor,
  options,
  clock,
  log,
  onError,
}: RedisWorkerOptions): BackendWorker {
  let abandoned = false;
  const connection = new Redis(url, {
    maxRetriesPerRequest: null,
    socketTimeout: SILENCE_MS,
    // The copies of the connection share this function. If it returns null, ioredis ends the connection and rejects the
    // commands that wait for it.
    retryStrategy: (attempt) => (abandoned ? null : Math.min(50 * 2 ** Math.min(attempt, 10), RECONNECT_CAP_MS)),
  });
  connection.on('error', (error) => onError(`worker ${name}`, error));
  // BullMQ duplicates the connection for its blocking command and does not give access to the copy.
  const connections = [connection];
  const duplicate = connection.duplicate.bind(connection);
  connection.duplicate = (override) => {
    const copy = duplicate(override);
    connections.push(copy);
    return copy;
  };
  const worker = new Worker(name, processor, { ...options, connection }, createRedisBackend);
  worker.on('closed', () => connection.disconnect());

  function abandon(): void {
    log.warn(
      { queue: name },
      'Redis is out of reach while the worker closes, so the jobs that were just handled run again.',
    );
    abandoned = true;
    // Disconnecting a connection that reconnects would stop it without rejecting the commands that wait.
    if (connection.status !== 'reconnecting') connection.disconnect();
  }

  async function endsInTime(work: Promise<void>): Promise<boolean> {
    const timer = new AbortController();
    const late = clock.sleep(FAREWELL_MS, timer.signal).then(() => false);
    const inTime = await Promise.race([work.then(() => true), late]);
    timer.abort();
    return inTime;
  }

  return {
    worker,
    async close(handlersEnded) {
      if (connections.some(({ status }) => status === 'reconnecting')) {
        // Without force, BullMQ waits for an event that ioredis does not emit for a reconnecting connection.
        await worker.pause(true);
        await handlersEnded;
        abandon();
        await worker.close(true);
        return;
      }
      const closed = worker.close();
      await handlersEnded;
      if (await endsInTime(closed)) return;
      abandon();
      await endsInTime(closed);
    },
  };
}
