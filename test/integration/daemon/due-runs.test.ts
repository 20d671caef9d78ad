import { readFileSync } from 'node:fs';
import { afterEach, expect, it } from 'vitest';
import type { Daemon } from '../../../src/daemon/daemon.ts';
import { describeWhere } from '../../support/runner/describe-where.ts';
import { redisAvailable, startRedis } from '../../support/servers/redis.ts';
import { PRODUCTS, startDaemon } from '../../support/worlds/daemon-world.ts';
import { createWorld, type World } from '../../support/worlds/world.ts';

describeWhere({ isThere: redisAvailable, what: 'redis-server' })(
  'a scheduled run of a source that was never read',
  () => {
    let world: World;
    let daemon: Daemon;
    afterEach(async () => {
      await daemon.stop();
      await world.remove();
    });

    it('a due run that Redis has refused begins with the next daemon', async () => {
      const redis = await startRedis();
      world = await createWorld({
        config: { sources: [{ ...PRODUCTS.source, schedule: '0 0 1 1 *' }] },
        queue: redis.url,
        files: PRODUCTS.files,
      });
      ({ daemon } = await startDaemon(world));
      await redis.stop();
      const yearly = readFileSync(world.configFile, 'utf8');
      world.write('dpp-sync.yaml', yearly.replace('0 0 1 1 *', '"* * * * * *"'));
      expect(await daemon.reload('person')).toMatchObject({ ok: true });
      await expect.poll(() => daemon.runtime.reads.daemonNote('dueRuns')).toHaveProperty('erp');
      expect(await daemon.runtime.reads.lastRuns({ source: 'erp', limit: 1 })).toEqual([]);
      await daemon.stop();

      world.write('dpp-sync.yaml', yearly.replace(redis.url, 'embedded'));
      ({ daemon } = await startDaemon(world));
      await expect
        .poll(() => daemon.runtime.reads.lastRuns({ source: 'erp', limit: 1 }))
        .toMatchObject([{ trigger: 'schedule', result: 'complete' }]);
      await expect.poll(() => daemon.runtime.reads.daemonNote('dueRuns')).toBeNull();
    });
  },
);
