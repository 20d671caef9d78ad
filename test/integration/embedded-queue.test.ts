import { setImmediate } from 'node:timers/promises';
import { PGlite } from '@electric-sql/pglite';
import type { Queue } from 'bullmq';
import { afterEach, describe, expect, test } from 'vitest';
import { systemClock } from '../../src/lib/clock.ts';
import { type BullmqQueues, createBullmqQueues } from '../../src/queue/bullmq-queues.ts';
import { openEmbeddedBackend } from '../../src/queue/embedded-backend.ts';
import { createErrorLog } from '../../src/queue/error-log.ts';
import { createHousekeeping } from '../../src/queue/pglite-housekeeping.ts';
import { createListener } from '../support/listener.ts';
import { createRecordingLog } from '../support/recording-log.ts';

const TIMING = { lockMs: 30_000, stalledCheckMs: 30_000 };
const MIB = 1024 * 1024;

describe('the embedded queue', () => {
  const opened: BullmqQueues[] = [];

  afterEach(async () => {
    await Promise.all(opened.splice(0).map((queues) => queues.close()));
  });

  /** @param failures how often opening fails before it works */
  function create(failures = 0): { queues: BullmqQueues; opens: () => number } {
    const log = createRecordingLog();
    const onError = createErrorLog(log, systemClock);
    let opens = 0;
    const queues = createBullmqQueues({
      open() {
        opens += 1;
        if (opens <= failures) return Promise.reject(new Error('out of memory'));
        return openEmbeddedBackend({ timing: TIMING, onError });
      },
      log,
      onError,
    });
    opened.push(queues);
    return { queues, opens: () => opens };
  }

  test('is not opened before the first doorbell', async () => {
    const { queues, opens } = create();
    const listener = createListener();
    const consumer = await queues.consume('map', { concurrency: 1 }, listener.hear);
    await queues.clearWaiting('map');
    await queues.forget('map', ['a']);
    await queues.ring('map', []);
    expect(await queues.counts('map')).toEqual({ waiting: 0, active: 0, failed: 0 });
    expect(await queues.failed('map')).toEqual([]);
    await consumer.close();
    await queues.close();
    expect(opens()).toBe(0);
  });

  test('is opened once by doorbells rung at the same time, and starts the consumers that wait for it', async () => {
    const { queues, opens } = create();
    const listener = createListener();
    await queues.consume('map', { concurrency: 1 }, listener.hear);
    const closedBefore = await queues.consume('map', { concurrency: 1 }, () => Promise.reject(new Error('is closed')));
    await closedBefore.close();
    await Promise.all([1, 2, 3].map((number) => queues.ring('map', [{ name: `bell ${number}`, data: {} }])));
    await listener.until(3);
    expect(opens()).toBe(1);
    expect(await queues.counts('map')).toMatchObject({ failed: 0 });
  });

  test('is tried again by the next doorbell when it could not be opened', async () => {
    const { queues } = create(1);
    const listener = createListener();
    await queues.consume('map', { concurrency: 1 }, listener.hear);
    await expect(queues.ring('map', [{ name: 'bell', data: {} }])).rejects.toThrow('out of memory');
    await queues.ring('map', [{ name: 'bell', data: {} }]);
    await listener.until(1);
  });

  test('wakes a worker at once and leaves the processor alone while it is idle', async () => {
    const { queues } = create();
    const listener = createListener();
    for (const name of ['pull', 'map', 'deliver'] as const)
      await queues.consume(name, { concurrency: 4 }, listener.hear);
    await queues.ring('map', [{ name: 'warm up', data: {} }]);
    await listener.until(1);
    await expect.poll(() => queues.counts('map')).toEqual({ waiting: 0, active: 0, failed: 0 });

    const statements = await countStatements(queues, 3_000);
    expect(statements).toBeLessThan(20);

    const begun = performance.now();
    await queues.ring('map', [{ name: 'bell', data: {} }]);
    await listener.until(2);
    expect(performance.now() - begun).toBeLessThan(1_000);
  });

  test('lets timers and sockets have their turn while it is busy', { timeout: 60_000 }, async () => {
    const { queues } = create();
    const listener = createListener();
    await queues.ring('deliver', [{ name: 'warm up', data: {} }]);
    await queues.consume('deliver', { concurrency: 10 }, listener.hear);
    let turns = 0;
    let busy = true;
    const counting = (async () => {
      while (busy) {
        await setImmediate();
        turns += 1;
      }
    })();
    await queues.ring(
      'deliver',
      Array.from({ length: 300 }, (_, number) => ({ name: `bell ${number}`, data: {} })),
    );
    await listener.until(301);
    busy = false;
    await counting;
    // Each hearing takes at least one statement, and the event loop turns at each.
    expect(turns).toBeGreaterThan(250);
  });

  test('frees dead rows and the write-ahead log as it goes', { timeout: 60_000 }, async () => {
    const database = await PGlite.create({ initDbStartParams: ['--wal-segsize=1'] });
    try {
      await database.exec(
        'CREATE TABLE churn AS SELECT repeat(id::text, 500) AS text FROM generate_series(10, 29) AS id',
      );
      const afterStatement = createHousekeeping(database);
      const sizes: { log: number; table: number }[] = [];
      for (let statement = 1; statement <= 6_000; statement += 1) {
        await database.exec('UPDATE churn SET text = reverse(text)');
        await afterStatement();
        if (statement % 1_000 === 0) sizes.push(await sizesOf(database));
      }
      expect(Math.max(...sizes.map((size) => size.log))).toBeLessThan(48 * MIB);
      expect(Math.max(...sizes.map((size) => size.table))).toBeLessThan(24 * MIB);
    } finally {
      await database.close();
    }
  });

  test('stays small while thousands of doorbells pass', { timeout: 120_000 }, async () => {
    const { queues } = create();
    const listener = createListener();
    await queues.consume('deliver', { concurrency: 10 }, listener.hear);
    const data = { kind: 'product', source: 'erp', ids: Array.from({ length: 10 }, (_, index) => index) };
    for (let round = 1; round <= 40; round += 1) {
      await queues.ring(
        'deliver',
        Array.from({ length: 200 }, (_, number) => ({ name: `bell ${number}`, data })),
      );
      await listener.until(round * 200);
    }
    const [queue] = await queues.bullQueues();
    const { rows } = await poolOf(queue).query<{ log: number; jobs: number; events: number }>(
      `SELECT (SELECT sum(size) FROM pg_ls_waldir())::float8 AS log,
              pg_total_relation_size('job')::float8 AS jobs, pg_total_relation_size('event')::float8 AS events`,
    );
    expect(rows[0]?.log).toBeLessThan(30 * MIB);
    expect(rows[0]?.jobs).toBeLessThan(8 * MIB);
    expect(rows[0]?.events).toBeLessThan(8 * MIB);
  });
});

interface StatementPool {
  query<Row>(text: string, params?: readonly unknown[]): Promise<{ rows: Row[] }>;
}

function poolOf(queue: Queue | undefined): StatementPool {
  return queue?.opts.connection as unknown as StatementPool;
}

/** How many statements the queues run by themselves in a while. */
async function countStatements(queues: BullmqQueues, ms: number): Promise<number> {
  const [queue] = await queues.bullQueues();
  const pool = poolOf(queue);
  let statements = 0;
  const query = pool.query.bind(pool);
  pool.query = (text, params) => {
    statements += 1;
    return query(text, params);
  };
  await systemClock.sleep(ms);
  pool.query = query;
  return statements;
}

async function sizesOf(database: PGlite): Promise<{ log: number; table: number }> {
  const { rows } = await database.query<{ log: number; table: number }>(
    "SELECT (SELECT sum(size) FROM pg_ls_waldir())::float8 AS log, pg_total_relation_size('churn')::float8 AS table",
  );
  return rows[0] ?? { log: Number.NaN, table: Number.NaN };
}
