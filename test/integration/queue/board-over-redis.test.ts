import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import type { Daemon } from '../../../src/daemon/daemon.ts';
import { runHere } from '../../support/cli/cli-here.ts';
import { WAIT_MS } from '../../support/runner/limits.ts';
import { describeRedis, type RedisServer, startRedis } from '../../support/servers/redis.ts';
import { PRODUCTS, startDaemon, WEB_TOKEN } from '../../support/worlds/daemon-world.ts';
import { createWorld, type World } from '../../support/worlds/world.ts';

const QUEUE = '/queues/board/api/queues/deliver';

describeRedis('the board over Redis', () => {
  let redis: RedisServer;
  let world: World;
  let daemon: Daemon;
  let url: string;

  beforeEach(async () => {
    redis = await startRedis();
    world = await createWorld({
      config: { web: { port: 0, token: WEB_TOKEN }, sources: [PRODUCTS.source] },
      files: PRODUCTS.files,
      queue: redis.url,
    });
    ({ daemon, url } = await startDaemon(world));
    await daemon.startRun('erp', 'schedule');
    await vi.waitUntil(async () => (await daemon.runtime.queues.failed('deliver')).length === 1, { timeout: WAIT_MS });
  });
  afterEach(async () => {
    await daemon.stop();
    await world.remove();
    await redis.stop();
  });

  const put = (path: string): Promise<Response> =>
    fetch(`${url}${QUEUE}${path}`, { method: 'PUT', headers: { authorization: `Bearer ${WEB_TOKEN}` } });

  it('the board shows in `status` a queue that it pauses', async () => {
    const status = (...options: string[]) => runHere(['status', '-c', world.configFile, ...options]);
    expect((await status('--json')).json()).toMatchObject({ queue: { paused: [] } });
    await put('/pause');
    expect((await status('--json')).json()).toMatchObject({ queue: { paused: ['deliver'] } });
    expect((await status()).stdout).toContain('Paused in the dashboard: deliver.');
  });

  it('the board refuses to retry all jobs, and names the page that reports their result', async () => {
    const answer = await put('/retry/failed');
    expect(answer.status).toBe(403);
    expect(await answer.json()).toMatchObject({ message: expect.stringContaining('Queues in short') });
  });

  it('the board answers 503 while Redis is away, with what to do, and continues when it is back', async () => {
    const ask = () => fetch(`${url}/queues/board/api/queues`, { headers: { authorization: `Bearer ${WEB_TOKEN}` } });
    expect((await ask()).status).toBe(200);
    await redis.kill();
    const answer = await ask();
    expect(answer.status).toBe(503);
    expect(await answer.json()).toMatchObject({
      message: expect.stringMatching(/^Redis cannot be used: .* Check that Redis runs/),
    });
    const headers = { authorization: `Bearer ${WEB_TOKEN}` };
    const paused = await fetch(`${url}/api/v1/queues/deliver/pause`, { method: 'POST', headers });
    expect(paused.status).toBe(503);
    expect(await paused.json()).toMatchObject({ code: 'queue.unreachable' });
    await redis.restart();
    await expect.poll(async () => (await ask()).status).toBe(200);
  });

  it('the board reports where somebody else was faster with the same job', async () => {
    await put('/pause');
    const queue = daemon.runtime.queues.bullQueues.find(({ name }) => name === 'deliver');
    const [job] = (await queue?.getFailed()) ?? [];
    const answers = await Promise.all(Array.from({ length: 20 }, () => put(`/${job?.id ?? ''}/retry`)));
    const late = answers.filter(({ ok }) => !ok);
    expect(late.length).toBeGreaterThan(0);
    for (const answer of late) {
      expect([400, 403, 409]).toContain(answer.status);
    }
    // Jobs of other items may wait as well.
    const waiting = ((await queue?.getWaiting()) ?? []).map(({ id }) => id);
    expect(waiting.filter((id) => id === job?.id)).toHaveLength(1);
    expect(await daemon.runtime.queues.counts('deliver')).toMatchObject({ active: 0, failed: 0 });
  });
});
