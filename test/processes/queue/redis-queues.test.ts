import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import { setImmediate as nextRound } from 'node:timers/promises';
import { inspect } from 'node:util';
import { Redis } from 'ioredis';
import { afterEach, expect, test } from 'vitest';
import { systemClock } from '../../../src/lib/clock.ts';
import type { BullmqQueues } from '../../../src/queue/bullmq-queues.ts';
import { createQueues } from '../../../src/queue/create-queues.ts';
import { blocks } from '../../support/docs/docs-pages.ts';
import { WAIT_MS } from '../../support/runner/limits.ts';
import { describeRedis, type RedisOptions, type RedisServer, startRedis } from '../../support/servers/redis.ts';
import { createListener } from '../../support/worlds/listener.ts';
import { createRecordingLog, type RecordingLog } from '../../support/worlds/recording-log.ts';

const CHILD = join(import.meta.dirname, 'queue-away-child.ts');

/** The Redis settings that docs/queues.md demands. */
function redisSettingsOnPage(): Record<string, string> {
  const { text = '' } = blocks.find(({ page, language }) => page === 'docs/queues.md' && language === 'text') ?? {};
  const lines = text.trim().split('\n');
  return Object.fromEntries(lines.map((line) => line.replace(/#.*/, '').trim().split(/\s+/, 2)));
}

const JOB = { name: 'push product A', data: { ids: [1] } };

describeRedis('the queues on a Redis that is away or set up wrongly', () => {
  const servers: RedisServer[] = [];
  const opened: BullmqQueues[] = [];

  afterEach(async () => {
    await Promise.all(opened.splice(0).map((queues) => queues.close()));
    await Promise.all(servers.splice(0).map((server) => server.stop()));
  });

  async function start(options: RedisOptions = {}): Promise<RedisServer> {
    const server = await startRedis(options);
    servers.push(server);
    return server;
  }

  async function open(url: string, log: RecordingLog = createRecordingLog()): Promise<BullmqQueues> {
    const queues = await createQueues({ url, prefix: 'ledger', log, clock: systemClock });
    opened.push(queues);
    return queues;
  }

  /** Runs an operation that must fail. Returns its error and how long it took. */
  async function failure(operation: () => Promise<unknown>): Promise<{ error: unknown; ms: number }> {
    const begun = performance.now();
    try {
      await operation();
    } catch (error) {
      return { error, ms: performance.now() - begun };
    }
    throw new Error('It did not fail.');
  }

  test('queues are refused within seconds when nothing listens, without user or password in the message', async () => {
    const server = await start();
    await server.kill();
    const { error, ms } = await failure(() =>
      open(`redis://ada:hunter2secret@127.0.0.1:${server.port}/3?x=hunter2secret`),
    );
    expect(error).toMatchObject({ code: 'queue.unreachable', exitCode: 3, path: 'queue' });
    expect(inspect(error, { depth: 10 })).toContain(`redis://127.0.0.1:${server.port}/3`);
    expect(inspect(error, { depth: 10 })).toContain('ECONNREFUSED');
    expect(inspect(error, { depth: 10 })).not.toMatch(/hunter2secret|ada/);
    expect(ms).toBeLessThan(WAIT_MS);
  });

  test('queues are refused at once for a wrong password, which is not in the message', async () => {
    const server = await start({ password: 'the right one' });
    const admin = new Redis(server.url);
    const connections = async () => Number(/total_connections_received:(\d+)/.exec(await admin.info('stats'))?.[1]);
    const before = await connections();
    const log = createRecordingLog();
    const url = `redis://:hunter2secret@127.0.0.1:${server.port}`;
    const { error } = await failure(() => open(url, log));
    // It does not connect again and again, as to a Redis that may be starting.
    expect((await connections()) - before).toBe(1);
    admin.disconnect();
    expect(error).toMatchObject({ code: 'queue.unreachable' });
    expect(inspect(error, { depth: 10, showHidden: true })).not.toContain('hunter2secret');
    expect(inspect(log.lines, { depth: 10 })).not.toContain('hunter2secret');
    await open(server.url);
  });

  test('queues wait a moment for a Redis that is just starting', async () => {
    const server = await start();
    await server.kill();
    const opening = open(server.url);
    await server.restart();
    await (await opening).enqueue('map', [JOB]);
  });

  test('queues are opened where their process is stopped for long while it connects', async () => {
    const server = await start();
    const opening = open(server.url);
    await nextRound();
    // Stops this process for longer than the queues wait for Redis.
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 6_000);
    await (await opening).enqueue('map', [JOB]);
  });

  test('an address that is no queue is refused', async () => {
    for (const url of ['postgres://localhost/queue', 'embeded', 'redis//localhost', 'redis://']) {
      await expect(open(url)).rejects.toMatchObject({ code: 'config.invalid', exitCode: 2, path: 'queue' });
    }
    await expect(
      createQueues({ url: 'embedded', prefix: '{ledger}:', log: createRecordingLog() }),
    ).rejects.toMatchObject({ code: 'config.invalid' });
  });

  test('queues warn of a Redis that evicts jobs or forgets them', async () => {
    const careless = await start({ settings: { maxmemory: '50mb', 'maxmemory-policy': 'allkeys-lru' } });
    const log = createRecordingLog();
    await open(careless.url, log);
    expect(log.lines.map((line) => line.message)).toEqual([
      expect.stringContaining('noeviction'),
      expect.stringContaining('appendonly'),
    ]);
    const careful = await start({ settings: redisSettingsOnPage() });
    const quiet = createRecordingLog();
    await open(careful.url, quiet);
    expect(quiet.lines).toEqual([]);
  });

  test('queues reject a job within seconds once Redis is gone, and take it once it is back', async () => {
    const server = await start({ appendonly: true });
    const queues = await open(server.url);
    const listener = createListener();
    await queues.enqueue('map', [JOB]);
    await server.kill();
    const { error, ms } = await failure(() => queues.enqueue('map', [JOB]));
    expect(error).toMatchObject({ code: 'queue.unreachable' });
    expect(ms).toBeLessThan(WAIT_MS);
    await expect(queues.counts('map')).rejects.toMatchObject({ code: 'queue.unreachable' });
    await server.restart();
    await expect.poll(() => queues.enqueue('map', [JOB])).toBeUndefined();
    await queues.consume('map', { concurrency: 1 }, listener.handle);
    await listener.until(2);
  });

  test('queues reject a job when Redis does not answer any more', async ({ skip }) => {
    const server = await start();
    if (server.pid() === undefined) skip('needs a redis-server binary, whose process can be stopped');
    const queues = await open(server.url);
    await suspend(server);
    try {
      const { error, ms } = await failure(() => queues.enqueue('map', [JOB]));
      expect(error).toMatchObject({
        code: 'queue.unreachable',
        message: expect.stringMatching(/no answer|timed out/i) as string,
      });
      expect(ms).toBeLessThan(WAIT_MS);
    } finally {
      await server.restart();
    }
  });

  test('queues continue to handle jobs after Redis was away, and report it without flooding the log', async () => {
    const server = await start({ appendonly: true });
    const log = createRecordingLog();
    const queues = await open(server.url, log);
    const listener = createListener();
    await queues.consume('map', { concurrency: 2 }, listener.handle);
    await queues.enqueue('map', [JOB]);
    await listener.until(1);
    await server.kill();
    await expect(queues.enqueue('map', [JOB])).rejects.toMatchObject({ code: 'queue.unreachable' });
    await expect.poll(() => log.lines.length).toBeGreaterThan(0);
    await server.restart();
    await expect.poll(() => queues.enqueue('map', [JOB])).toBeUndefined();
    await listener.until(2);
    expect(log.lines.every((line) => line.level === 'warn')).toBe(true);
    expect(log.lines.length).toBeLessThan(10);
  });

  const losses = [
    { loss: 'goes away before closing', when: 'before', take: (server: RedisServer) => server.kill() },
    { loss: 'goes away while closing', when: 'while', take: (server: RedisServer) => server.kill() },
    { loss: 'stops answering while closing', when: 'while', take: suspend },
  ];
  for (const { loss, when, take } of losses) {
    test(`queues close after the handler that runs when Redis ${loss}, and let the process end`, async ({ skip }) => {
      const server = await start();
      if (server.pid() === undefined && take === suspend)
        skip('needs a redis-server binary, whose process can be stopped');
      const child = spawn(process.execPath, [CHILD, server.url], {
        stdio: 'pipe',
        timeout: WAIT_MS,
        killSignal: 'SIGKILL',
      });
      const stderr = text(child.stderr);
      const exit = once(child, 'exit');
      const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
      try {
        expect(await lines.next()).toMatchObject({ value: 'handling' });
        if (when === 'before') await take(server);
        child.stdin.write('close\n');
        expect(await lines.next()).toMatchObject({ value: 'closing' });
        if (when === 'while') await take(server);
        child.stdin.write('end\n');
        expect(await lines.next()).toMatchObject({ value: 'closed' });
        expect(await exit).toEqual([0, null]);
        expect(await stderr).toContain('run again');
      } finally {
        child.kill('SIGKILL');
      }
    });
  }
});

/** Stops a Redis, so that it keeps its connections and answers nothing. It can still be killed. */
function suspend(server: RedisServer): Promise<void> {
  const pid = server.pid();
  if (pid === undefined) return Promise.reject(new Error('The server has no process here.'));
  process.kill(pid, 'SIGSTOP');
  return Promise.resolve();
}
