import { EventEmitter } from 'node:events';
import { setImmediate } from 'node:timers/promises';
import type { PGlite, Results } from '@electric-sql/pglite';
import type { PgPool, PgPoolClient, PgQueryResult } from 'bullmq';

/**
 * Lets BullMQ's PostgreSQL backend, which expects a node-postgres pool, work on PGlite in this process.
 *
 * PGlite is one session that runs one statement at a time. So every client that the pool hands out is a view of that
 * session: a `LISTEN` of one is a `LISTEN` of all, and each notification goes to every client, where BullMQ filters by
 * queue. Transactions over several statements would mix with those of other clients; BullMQ has none outside its
 * migrations, which run before anything else.
 *
 * @param afterStatement called, and not waited for, after each statement
 */
export function createPglitePool(database: PGlite, afterStatement: () => void): PgPool {
  const emitters = new Set<EventEmitter>();
  database.onNotification((channel, payload) => {
    for (const emitter of emitters) emitter.emit('notification', { channel, payload });
  });

  let lastTurn: Promise<unknown> = Promise.resolve();

  function query<Row>(text: string, params: readonly unknown[] = []): Promise<PgQueryResult<Row>> {
    // PGlite computes in this thread. One statement per turn of the event loop leaves timers and sockets their turn.
    const result = lastTurn.then(() => setImmediate()).then(() => run<Row>(text, params));
    // A statement that fails tells its caller; the next one runs all the same.
    lastTurn = result.catch(() => undefined);
    return result;
  }

  async function run<Row>(text: string, params: readonly unknown[]): Promise<PgQueryResult<Row>> {
    // Scripts of several statements, as the migrations are, go only through the simple protocol, which has no parameters.
    const result =
      params.length > 0
        ? await database.query<Row>(text, [...params])
        : ((await database.exec(text)).at(-1) as Results<Row> | undefined);
    afterStatement();
    return { rows: result?.rows ?? [], rowCount: result?.affectedRows ?? 0 };
  }

  function createClient(): PgPoolClient {
    const emitter = new EventEmitter();
    emitters.add(emitter);
    return Object.assign(emitter, { query, release: () => void emitters.delete(emitter) });
  }

  const pool: PgPool & { options: { keepAlive: boolean } } = {
    // A client in this process has no connection that could drop silently: BullMQ reads this as such.
    options: { keepAlive: true },
    query,
    connect: () => Promise.resolve(createClient()),
    end: () => Promise.resolve(),
    // A pool reports clients that connect and connections that drop. Here there are none, so listeners need not be kept.
    on: () => pool,
    removeAllListeners: () => pool,
  };
  return pool;
}
