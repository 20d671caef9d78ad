// A program as the BullMQ documentation suggests it: one job per record, and a worker that posts the record.

import { Queue, Worker } from 'bullmq';
import { Redis } from 'ioredis';
import { Pool } from 'undici';
import { bodyOf, compete, HEADERS, type Row, rowsOf } from '../support/contender.ts';

const BULK = 1000;

await compete(async ({ baseUrl, csv, connections, redisUrl }) => {
  const pool = new Pool(baseUrl, { connections, pipelining: 1 });
  const connect = () => new Redis(redisUrl, { maxRetriesPerRequest: null });
  const queue = new Queue<Row>('push', { connection: connect() });
  await queue.waitUntilReady();
  return async () => {
    let wanted = Number.POSITIVE_INFINITY;
    let done = 0;
    const { promise, resolve } = Promise.withResolvers<void>();
    const worker = new Worker<Row>(
      'push',
      async ({ data }) => {
        const answer = await pool.request({
          method: 'POST',
          path: '/api/products/',
          headers: HEADERS,
          body: bodyOf(data),
        });
        await answer.body.json();
        done += 1;
        if (done === wanted) resolve();
      },
      { connection: connect(), concurrency: connections, removeOnComplete: { count: 0 } },
    );
    worker.on('error', (error) => {
      throw error;
    });
    let bulk: { name: string; data: Row }[] = [];
    let count = 0;
    for await (const row of rowsOf(csv)) {
      count += 1;
      bulk.push({ name: row.SKU, data: row });
      if (bulk.length < BULK) continue;
      await queue.addBulk(bulk);
      bulk = [];
    }
    await queue.addBulk(bulk);
    wanted = count;
    if (done === wanted) resolve();
    await promise;
  };
});
