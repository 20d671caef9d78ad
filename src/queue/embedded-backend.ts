import type { PGlite } from '@electric-sql/pglite';
import { createPostgresBackend, Queue, runMigrations, Worker } from 'bullmq';
import { fault } from '../domain/faults.ts';
import { QUEUE_NAMES, type QueueName } from '../domain/ports/queues.ts';
import { Fault, messageOf } from '../lib/errors.ts';
import type { QueueBackend, StallTiming } from './backend.ts';
import type { ErrorSink } from './error-log.ts';
import { QUEUE_OPTIONS, workerOptions } from './job-options.ts';
import { createHousekeeping } from './pglite-housekeeping.ts';
import { createPglitePool } from './pglite-pool.ts';

/**
 * PGlite's own settings are those of a server that must survive a crash. This database dies with its process: it needs no
 * durability, one connection, and as little memory and write-ahead log as PostgreSQL allows.
 */
const POSTGRES_SETTINGS = [
  'shared_buffers = 16MB',
  'max_connections = 5',
  'wal_level = minimal',
  'max_wal_senders = 0',
  'min_wal_size = 2MB',
  'max_wal_size = 8MB',
  'full_page_writes = off',
  'synchronous_commit = off',
  'autovacuum = off',
  'jit = off',
];

/** A notification wakes a worker; looking without being woken is only the second line. */
const DRAIN_DELAY_SECONDS = 60;

/**
 * Opens BullMQ's PostgreSQL backend over an in-memory PGlite in this process. It takes about two seconds of computing and
 * has no file: what it holds is lost with the process, and rung again from the ledger.
 *
 * @throws Fault `queue.unreachable` when it cannot be started
 */
export async function openEmbeddedBackend(options: { timing: StallTiming; onError: ErrorSink }): Promise<QueueBackend> {
  const { timing, onError } = options;
  const database = await startDatabase();
  const cleanUp = createHousekeeping(database);
  const connection = createPglitePool(database, () => {
    cleanUp().catch((error: unknown) => onError('embedded queue', error));
  });

  // BullMQ types its classes by their backend. What the port uses is the same for all, so they pass as the default type.
  const queues = new Map(
    QUEUE_NAMES.map((name) => {
      const queue = new Queue(name, { ...QUEUE_OPTIONS, connection }, createPostgresBackend);
      queue.on('error', (error) => onError(`queue ${name}`, error));
      return [name, queue as unknown as Queue] as const;
    }),
  );
  return {
    queues,
    startWorker(name: QueueName, processor, concurrency) {
      const common = workerOptions(concurrency, timing);
      const worker = new Worker(
        name,
        processor,
        { ...common, drainDelay: DRAIN_DELAY_SECONDS, connection },
        createPostgresBackend,
      );
      // BullMQ waits for the hearings by itself.
      return { worker: worker as unknown as Worker, close: () => worker.close() };
    },
    async attempt(operation) {
      try {
        return await operation();
      } catch (error) {
        throw error instanceof Fault ? error : unusable('fails', error);
      }
    },
    // Its memory is that of this process.
    touch: () => Promise.resolve(),
    async close() {
      await Promise.all([...queues.values()].map((queue) => queue.close()));
      await database.close();
    },
  };
}

async function startDatabase(): Promise<PGlite> {
  try {
    // Imported here, so that a process whose queue is Redis, or that never rings, does not load it.
    const { PGlite } = await import('@electric-sql/pglite');
    const database = await PGlite.create({
      postgresqlconf: POSTGRES_SETTINGS,
      initDbStartParams: ['--wal-segsize=1'],
    });
    await runMigrations(createPglitePool(database, () => undefined));
    // BullMQ names its tables without their schema. There is one session, so this holds for every later statement.
    await database.exec('SET search_path TO bullmq, public');
    return database;
  } catch (error) {
    throw unusable('cannot be started', error);
  }
}

function unusable(what: string, cause: unknown): Fault {
  return fault('queue.unreachable', `The embedded queue ${what}: ${messageOf(cause)}`, {
    path: 'queue',
    suggestion: 'Restart the process; if it happens again, set `queue` to a Redis URL.',
    cause,
  });
}
