import { Redis } from 'ioredis';
import { expect, it } from 'vitest';
import { systemClock } from '../../../src/lib/clock.ts';
import { createPageJobs } from '../../../src/pipeline/page-jobs.ts';
import { createQueues } from '../../../src/queue/create-queues.ts';
import { covers } from '../../support/docs/reliability.ts';
import { describeRedis, startRedis } from '../../support/servers/redis.ts';
import { createRecordingLog } from '../../support/worlds/recording-log.ts';

const WAIT_MS = 1500;

describeRedis('a page whose job waits in Redis', () => {
  it(
    'a pull gives up a page whose job waits in a Redis that no worker can take it from, and names the cause',
    covers('redis-memory', 'I5'),
    async () => {
      const redis = await startRedis();
      const admin = new Redis(redis.url);
      const queues = await createQueues({ url: redis.url, prefix: 'a', log: createRecordingLog() });
      try {
        const ledger = {
          findLookups: async () => [],
          stagePage: () => Promise.reject(new Error('Nothing is stored.')),
        };
        const pages = createPageJobs({ queues, ledger, emit: () => undefined });
        const mapper = { revision: '1' } as never;
        const page = { source: 'erp', stream: 's', runId: 1, number: 1, records: [], toMap: [], mapper } as never;
        const wait = { clock: systemClock, waitMs: WAIT_MS, onPause: () => undefined };
        const mapping = pages.mapPage(page, wait, new AbortController().signal);
        const given = expect(mapping).rejects.toMatchObject({
          code: 'queue.unreachable',
          message: expect.stringContaining('out of memory'),
        });
        await expect.poll(async () => (await queues.counts('map')).waiting).toBe(1);
        await admin.config('SET', 'maxmemory', '1');
        await given;
      } finally {
        await queues.close();
        admin.disconnect();
        await redis.stop();
      }
    },
  );
});
