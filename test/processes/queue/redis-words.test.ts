// The messages that an operator reads when Redis cannot be reached or gets another password.

import { Redis } from 'ioredis';
import { afterEach, expect, it } from 'vitest';
import { createQueues } from '../../../src/queue/create-queues.ts';
import { runHere } from '../../support/cli/cli-here.ts';
import { covers } from '../../support/docs/reliability.ts';
import { WAIT_MS } from '../../support/runner/limits.ts';
import { describeRedis, type RedisServer, startRedis } from '../../support/servers/redis.ts';
import { PRODUCTS, startDaemon, WEB_TOKEN } from '../../support/worlds/daemon-world.ts';
import { createRecordingLog } from '../../support/worlds/recording-log.ts';
import { createWorld, type World } from '../../support/worlds/world.ts';

const SOON = { timeout: WAIT_MS };
/** The number of attempts of the engine before the log is checked. */
const TRIES = 4;

describeRedis('Redis', () => {
  let world: World | null = null;
  let redis: RedisServer;
  afterEach(async () => {
    await world?.remove();
    world = null;
    await redis.stop();
  });

  async function giveAnotherPassword(): Promise<void> {
    const admin = new Redis(redis.url);
    await admin.config('SET', 'requirepass', 'another');
    // Open connections would stay, so they are ended, as a restart of Redis or of a proxy does.
    await admin.call('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes');
    admin.disconnect();
  }

  it.each([
    [
      'goes away',
      () => redis.kill(),
      /^Redis at redis:\/\/127\.0\.0\.1:\d+ cannot be used: it cannot be reached \(.+\)\. Check that Redis runs/,
    ],
    [
      'gets another password',
      giveAnotherPassword,
      /^Redis at redis:\/\/127\.0\.0\.1:\d+ cannot be used: it does not accept the user or the password\. Put the present user and password of Redis into `queue`/,
    ],
  ])(
    'Redis that %s under a daemon is one line of the log, which says where and what to do',
    covers('redis-killed', 'I5'),
    async (_, fail, words) => {
      redis = await startRedis();
      world = await createWorld({
        config: { web: { port: 0, token: WEB_TOKEN }, sources: [PRODUCTS.source] },
        queue: redis.url,
        files: { ...PRODUCTS.files, ...PRODUCTS.fixed },
      });
      const { daemon, log } = await startDaemon(world);
      await daemon.startRun('erp', 'schedule');
      await expect.poll(async () => (await daemon.runtime.reads.itemCounts()).product, SOON).toEqual({ delivered: 2 });
      log.lines.length = 0;
      await fail();
      const trouble = async () => (await daemon.runtime.engine.status()).trouble?.message ?? '';
      await expect.poll(trouble, SOON).toContain('cannot be used: it');
      // The engine tries again once a second, and ioredis much more often.
      const begun = performance.now();
      await expect.poll(() => performance.now() - begun, SOON).toBeGreaterThan(TRIES * 1000);
      const problems = log.lines.filter(({ level }) => level === 'warn' || level === 'error');
      const texts = problems.map(({ message }) => message);
      expect(texts.filter((text) => words.test(text))).toHaveLength(1);
      // On a very slow machine a command may time out meanwhile. This is another trouble with another line.
      expect(texts.length).toBe(new Set(texts).size);
      expect(texts.length).toBeLessThan(TRIES);
      expect(JSON.stringify(log.lines)).not.toContain('another');
      await daemon.stop();
    },
  );

  it('Redis that is back is reported once', covers('redis-killed', 'I5'), async () => {
    redis = await startRedis();
    world = await createWorld({
      config: { web: { port: 0, token: WEB_TOKEN }, sources: [PRODUCTS.source] },
      queue: redis.url,
      files: { ...PRODUCTS.files, ...PRODUCTS.fixed },
    });
    const { daemon, log } = await startDaemon(world);
    await redis.kill();
    await expect.poll(async () => (await daemon.runtime.engine.status()).trouble, SOON).not.toBeNull();
    await redis.restart();
    const reportsOfReturn = () => log.lines.filter(({ message }) => message === 'Deliveries continue.').length;
    await expect.poll(reportsOfReturn, SOON).toBe(1);
    await daemon.stop();
  });

  it('Redis that refuses the password at the start is named with the cure', async () => {
    redis = await startRedis({ password: 'right' });
    const opened = createQueues({
      url: redis.url.replace('right', 'wrong'),
      prefix: 'test',
      log: createRecordingLog(),
    });
    await expect(opened).rejects.toMatchObject({
      code: 'queue.unreachable',
      message: expect.stringMatching(
        /^Redis at redis:\/\/127\.0\.0\.1:\d+ cannot be used: it does not accept the user or the password\.$/,
      ),
      suggestion: expect.stringContaining('Put the present user and password of Redis into `queue`'),
    });
  });

  it.each([
    [
      'a node of a cluster',
      { 'cluster-enabled': 'yes', 'cluster-config-file': 'nodes.conf' },
      /node of a Redis Cluster/,
      /node of a cluster/,
    ],
    ['a replica', { replicaof: '127.0.0.1 1' }, /is a replica, which accepts no writes/, /is a replica/],
  ])('Redis that is %s is called so at the start, and by the first command', async (_, settings, words, warning) => {
    redis = await startRedis({ settings });
    const log = createRecordingLog();
    const queues = await createQueues({ url: redis.url, prefix: 'test', log });
    expect(log.lines.map(({ message }) => message)).toContainEqual(expect.stringMatching(warning));
    await expect(queues.clearWaiting('pull')).rejects.toMatchObject({
      code: 'queue.unreachable',
      message: expect.stringMatching(words) as unknown,
    });
    await queues.close();
  });

  it('Redis that is not there ends `status` with 3, which shows the ledger all the same and says why', async () => {
    redis = await startRedis();
    world = await createWorld({
      config: { sources: [PRODUCTS.source] },
      queue: redis.url,
      files: { ...PRODUCTS.files, ...PRODUCTS.fixed },
    });
    await world.sync();
    const run = () => runHere(['status', '--json', '-c', world?.configFile ?? '']);
    expect((await run()).exitCode).toBe(0);
    await redis.kill();
    const { exitCode, json } = await run();
    expect(exitCode).toBe(3);
    expect(json()).toMatchObject({
      ok: false,
      items: { product: { delivered: 2 } },
      causes: [],
      queue: { kind: 'redis', counts: null, problem: expect.stringContaining('cannot be used: it cannot be reached') },
    });
  });

  it('Redis that is not there at the start is named with the cure', async () => {
    redis = await startRedis();
    await redis.kill();
    await expect(createQueues({ url: redis.url, prefix: 'test', log: createRecordingLog() })).rejects.toMatchObject({
      code: 'queue.unreachable',
      message: expect.stringMatching(/cannot be used: it cannot be reached \(ECONNREFUSED\)\.$/),
      suggestion: expect.stringContaining('Check that Redis runs'),
    });
  });
});
