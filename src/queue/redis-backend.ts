import { createRedisBackend, Queue } from 'bullmq';
import { Redis, type RedisOptions } from 'ioredis';
import { fault } from '../domain/faults.ts';
import { QUEUE_NAMES } from '../domain/ports/queues.ts';
import type { Clock } from '../lib/clock.ts';
import { Fault, messageOf } from '../lib/errors.ts';
import type { Logger } from '../lib/logging.ts';
import type { QueueBackend, StallTiming } from './backend.ts';
import type { ErrorSink } from './error-log.ts';
import { QUEUE_OPTIONS, workerOptions } from './job-options.ts';
import { readRedisSettings, warnOfRedisSettings } from './redis-settings.ts';
import { startRedisWorker } from './redis-worker.ts';
import { SILENCE_MS } from './silence.ts';

const CONNECT_WITHIN_MS = 5_000;
const ANSWER_WITHIN_MS = 10_000;
const TOUCH_KEPT_MS = 60_000;

/**
 * An operation on a queue has a caller who waits: it fails rather than waiting for a Redis that is away, at once while
 * there is no connection and after the timeout when there is one and no answer.
 */
const CONNECTION = {
  enableOfflineQueue: false,
  maxRetriesPerRequest: 1,
  commandTimeout: ANSWER_WITHIN_MS,
  connectTimeout: CONNECT_WITHIN_MS,
  socketTimeout: SILENCE_MS,
} satisfies RedisOptions;

/** What Redis says to a wrong password or a user without rights: waiting does not help. */
const REFUSAL = /^(?:NOAUTH|WRONGPASS|NOPERM|ERR AUTH|ERR invalid password)/;

interface RedisBackendOptions {
  /** `redis://` or `rediss://`. */
  url: string;
  /** Begins every key, so that several ledgers can share one Redis. */
  prefix: string;
  timing: StallTiming;
  clock: Clock;
  log: Logger;
  onError: ErrorSink;
}

/**
 * Connects to Redis, waiting for it a few seconds as it may be starting as well.
 *
 * @throws Fault `queue.unreachable` within about five seconds when it cannot be reached or refuses
 */
export async function openRedisBackend(options: RedisBackendOptions): Promise<QueueBackend> {
  const { url, prefix, timing, clock, log, onError } = options;
  const place = placeOf(url);
  const producer = new Redis(url, CONNECTION);
  let started = false;
  producer.on('error', (error) => {
    // Until then the fault below tells what is wrong.
    if (started) onError(`Redis at ${place}`, error);
  });
  try {
    await untilReady(producer);
  } catch (error) {
    producer.disconnect();
    throw unreachable(place, error);
  }
  started = true;
  await warnOfRedisSettings(producer, place, log);

  const queues = new Map(
    QUEUE_NAMES.map((name) => {
      const queue = new Queue(name, { ...QUEUE_OPTIONS, prefix, connection: producer }, createRedisBackend);
      queue.on('error', (error) => onError(`Redis at ${place}`, error));
      return [name, queue] as const;
    }),
  );
  return {
    queues,
    startWorker(name, processor, concurrency) {
      const options = { ...workerOptions(concurrency, timing), prefix };
      return startRedisWorker({ url, name, processor, options, clock, log, onError });
    },
    async attempt(operation) {
      try {
        return await operation();
      } catch (error) {
        throw error instanceof Fault ? error : unreachable(place, error);
      }
    },
    async touch() {
      await producer.set(`${prefix}:touched`, '', 'PX', TOUCH_KEPT_MS);
    },
    async close() {
      await Promise.all([...queues.values()].map((queue) => queue.close()));
      producer.disconnect();
    },
  };
}

/** A Redis that was connected to and left as it was. */
export interface RedisProbe {
  /** Its URL without credentials and parameters. */
  place: string;
  /** Null where it does not tell. */
  version: string | null;
  warnings: string[];
}

/**
 * Connects to Redis as the queues do, and writes nothing.
 *
 * @throws Fault `queue.unreachable` within about five seconds when it cannot be reached or refuses
 */
export async function probeRedis(url: string): Promise<RedisProbe> {
  const place = placeOf(url);
  const client = new Redis(url, CONNECTION);
  // Connection errors reach `untilReady`, and a command rejects with its own error: nobody else needs this event.
  client.on('error', () => undefined);
  try {
    await untilReady(client);
    await client.ping();
    const { version, warnings } = await readRedisSettings(client);
    return { place, version, warnings: warnings.map(({ message }) => message) };
  } catch (error) {
    throw unreachable(place, error);
  } finally {
    client.disconnect();
  }
}

async function untilReady(client: Redis): Promise<void> {
  let lastError: unknown = new Error(`no answer within ${CONNECT_WITHIN_MS / 1000} seconds`);
  await new Promise<void>((resolve, reject) => {
    const timer = setTimeout(() => reject(lastError), CONNECT_WITHIN_MS);
    const onError = (error: unknown) => {
      lastError = error;
      if (REFUSAL.test(messageOf(error))) finish(() => reject(error));
    };
    const finish = (settle: () => void) => {
      clearTimeout(timer);
      client.off('error', onError);
      settle();
    };
    client.on('error', onError);
    client.once('ready', () => finish(resolve));
  });
}

/** The URL as it may be shown: without user, password and parameters (I7). */
function placeOf(url: string): string {
  const { protocol, host, pathname } = new URL(url);
  return `${protocol}//${host}${pathname}`;
}

function unreachable(place: string, error: unknown): Fault {
  // I7: the error is not kept as the cause, since ioredis puts the failed command on it, an AUTH with its password included.
  return fault('queue.unreachable', `Redis at ${place} cannot be used: ${messageOf(error)}`, {
    path: 'queue',
    suggestion: suggestionFor(messageOf(error)),
  });
}

/** What a Redis that answers says of itself, by the word that its errors begin with. */
const SUGGESTIONS: Record<string, string> = {
  OOM: 'Redis is out of memory: free some, or raise its maxmemory. Work goes on by itself then.',
  MISCONF: 'Redis cannot write its data to disk: see its log. Work goes on by itself then.',
  READONLY: 'This Redis is a replica: name the one that takes writes in `queue`.',
  LOADING: 'Redis is still reading its data. Work goes on by itself then.',
};

function suggestionFor(message: string): string {
  const word = message.split(' ', 1)[0] ?? '';
  const known = Object.hasOwn(SUGGESTIONS, word) ? SUGGESTIONS[word] : undefined;
  return known ?? 'Check that Redis runs and that host, port, user and password in `queue` are right.';
}
