import { createRedisBackend, type Processor, Queue, Worker, type WorkerOptions } from 'bullmq';
import { Redis, type RedisOptions } from 'ioredis';
import { fault } from '../domain/faults.ts';
import { QUEUE_NAMES, type QueueName } from '../domain/ports/queues.ts';
import type { Clock } from '../lib/clock.ts';
import { Fault, messageOf } from '../lib/errors.ts';
import type { Logger } from '../lib/logging/logging.ts';
import { type BackendWorker, QUEUE_OPTIONS, type QueueBackend, type StallTiming, workerOptions } from './backend.ts';
import { type ErrorSink, isEcho, isRefusal, redisTroubleOf } from './queue-errors.ts';

/**
 * After this time without an answer, a connection to Redis is closed and opened again, and the commands that wait for
 * an answer are sent again. If the other machine disappears, the kernel would keep the connection open for a quarter of
 * an hour, and the worker would wait as long. BullMQ blocks a connection for ten seconds at most while it waits for a
 * job, so this time is longer.
 */
const SILENCE_MS = 15_000;

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
function startRedisWorker({ url, name, processor, options, clock, log, onError }: RedisWorkerOptions): BackendWorker {
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

const CONNECT_WITHIN_MS = 5_000;
/** The time for a connection is counted in steps. A step in which this process was stopped counts once, however long it took. */
const CONNECT_STEP_MS = 500;
const ANSWER_WITHIN_MS = 10_000;
const TOUCH_KEPT_MS = 60_000;

/**
 * A caller waits for each operation on a queue, so an operation must not wait until Redis is back. It fails at once if
 * there is no connection, and after the timeout if there is no answer.
 */
const CONNECTION = {
  enableOfflineQueue: false,
  maxRetriesPerRequest: 1,
  commandTimeout: ANSWER_WITHIN_MS,
  connectTimeout: CONNECT_WITHIN_MS,
  socketTimeout: SILENCE_MS,
} satisfies RedisOptions;

interface RedisBackendOptions {
  /** `redis://` or `rediss://`. */
  url: string;
  /** The prefix of every key, so that several ledgers can share one Redis. */
  prefix: string;
  timing: StallTiming;
  clock: Clock;
  log: Logger;
  onError: ErrorSink;
}

/**
 * Connects to Redis. It waits a few seconds, since Redis may be starting at the same time.
 *
 * @throws Fault `queue.unreachable` within about five seconds when it cannot be reached or refuses
 */
export async function openRedisBackend(options: RedisBackendOptions): Promise<QueueBackend> {
  const { url, prefix, timing, clock, log, onError } = options;
  const place = placeOf(url);
  const producer = new Redis(url, CONNECTION);
  let started = false;
  /** The error because of which Redis cannot be reached; null while it can. */
  let lost: unknown = null;
  producer.on('ready', () => {
    lost = null;
  });
  producer.on('error', (error) => {
    lost = error;
    // Before the start is complete, the fault below describes the error.
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
        if (error instanceof Fault) throw error;
        const cause = isEcho(error) ? (lost ?? error) : error;
        onError(`Redis at ${place}`, cause);
        throw unreachable(place, cause);
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

/** The result of a probe of Redis, which changes nothing there. */
interface RedisProbe {
  /** The URL of Redis without credentials and parameters. */
  place: string;
  /** Null if Redis does not report it. */
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
  // `untilReady` handles connection errors, and a command rejects with its own error. Without a listener for `error`
  // events Node would throw.
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
    let leftMs = CONNECT_WITHIN_MS;
    const timer = setInterval(() => {
      leftMs -= CONNECT_STEP_MS;
      if (leftMs <= 0) finish(() => reject(lastError));
    }, CONNECT_STEP_MS);
    const onError = (error: unknown) => {
      lastError = error;
      if (isRefusal(error)) finish(() => reject(error));
    };
    const finish = (settle: () => void) => {
      clearInterval(timer);
      client.off('error', onError);
      settle();
    };
    client.on('error', onError);
    client.once('ready', () => finish(resolve));
  });
}

/** The part of the URL that may be shown: without user, password and parameters (I7). */
export function placeOf(url: string): string {
  const { protocol, host, pathname } = new URL(url);
  return `${protocol}//${host}${pathname}`;
}

function unreachable(place: string, error: unknown): Fault {
  // I7: the error is not kept as the cause, because ioredis adds the failed command to it, which may be an AUTH with
  // the password.
  const { what, cure } = redisTroubleOf(error);
  return fault('queue.unreachable', `Redis at ${place} cannot be used: ${what}`, { path: 'queue', suggestion: cure });
}

const RECOMMENDED_VERSION = [6, 2] as const;

interface RedisSettings {
  /** Null if Redis does not report it. */
  version: string | null;
  warnings: RedisWarning[];
}

interface RedisWarning {
  message: string;
  /** What the message is about, for the log. */
  fields: Record<string, string>;
}

/**
 * Looks for settings with which Redis loses jobs. Lost jobs are enqueued again from the ledger, which costs time and the list of
 * failed jobs, so these settings are warnings.
 */
async function readRedisSettings(client: Redis): Promise<RedisSettings> {
  let info: Map<string, string>;
  try {
    info = await readInfo(client);
  } catch (error) {
    const message = 'The settings of Redis could not be read, so they were not checked.';
    return { version: null, warnings: [{ message, fields: { error: messageOf(error) } }] };
  }
  const warnings = warningsOfRole(info);
  const policy = info.get('maxmemory_policy');
  if (policy !== undefined && policy !== 'noeviction') {
    warnings.push({
      message: 'Redis evicts jobs when its memory is full: set maxmemory-policy to noeviction.',
      fields: { policy },
    });
  }
  if (info.get('aof_enabled') === '0') {
    warnings.push({ message: 'Redis forgets jobs when it crashes: set appendonly to yes.', fields: {} });
  }
  const version = info.get('redis_version') ?? null;
  if (version !== null && isOld(version)) {
    const recommended = RECOMMENDED_VERSION.join('.');
    warnings.push({
      message: `Redis ${version} is older than ${recommended}, which BullMQ asks for.`,
      fields: { version },
    });
  }
  return { version, warnings };
}

/** A server that answers, but cannot hold the queues. A proxy may report such a role too, so this is only a warning. */
function warningsOfRole(info: ReadonlyMap<string, string>): RedisWarning[] {
  const mode = info.get('redis_mode');
  const role = info.get('role');
  const warnings: RedisWarning[] = [];
  if (mode === 'sentinel') {
    const message = 'This is a Sentinel, which has no queues: name the Redis itself in `queue`.';
    warnings.push({ message, fields: { mode } });
  }
  if (mode === 'cluster') {
    const message =
      'Redis is a node of a cluster, which cannot hold the queues: name a Redis that is no cluster in `queue`.';
    warnings.push({ message, fields: { mode } });
  }
  if (role === 'slave') {
    const message = 'Redis is a replica, which accepts no writes: name the Redis that accepts writes in `queue`.';
    warnings.push({ message, fields: { role } });
  }
  return warnings;
}

/** Logs what `readRedisSettings` warns of. */
async function warnOfRedisSettings(client: Redis, place: string, log: Logger): Promise<void> {
  const { warnings } = await readRedisSettings(client);
  for (const { message, fields } of warnings) log.warn({ redis: place, ...fields }, message);
}

function isOld(version: string): boolean {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  return major < RECOMMENDED_VERSION[0] || (major === RECOMMENDED_VERSION[0] && minor < RECOMMENDED_VERSION[1]);
}

async function readInfo(client: Redis): Promise<Map<string, string>> {
  const lines = (await client.info()).split(/\r?\n/).filter((line) => line.includes(':'));
  return new Map(lines.map((line) => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 1)]));
}
