// A 429 that asks to wait for a day: how texts and JSON report it, and how long a sync waits.

import { afterEach, describe, expect, it } from 'vitest';
import type { Daemon } from '../../../src/daemon/daemon.ts';
import { cli } from '../../support/cli/cli.ts';
import { covers } from '../../support/docs/reliability.ts';
import { WAIT_MS } from '../../support/runner/limits.ts';
import { PRODUCTS, startDaemon, WEB_TOKEN } from '../../support/worlds/daemon-world.ts';
import { createWorld, type World } from '../../support/worlds/world.ts';

const A_DAY = { operation: '*', kind: 'status', status: 429, retryAfterSeconds: 86_400 } as const;
const DAY_MS = 86_400_000;
const SOON = { timeout: WAIT_MS };

let world: World;

async function given(faults: readonly (typeof A_DAY)[]): Promise<void> {
  world = await createWorld({
    config: { web: { port: 0, token: WEB_TOKEN }, sources: [PRODUCTS.source] },
    files: { ...PRODUCTS.files, ...PRODUCTS.fixed },
    sandbox: { faults: [...faults] },
  });
}

afterEach(() => world.remove());

describe('an API that asks to wait for a day', () => {
  it(
    'an API that asks to wait for a day keeps a sync for no longer than --wait, and the report names the wait and its reason',
    covers('throttled', 'I5'),
    async () => {
      await given([A_DAY]);
      const begun = performance.now();
      const { exitCode, json } = await cli(['sync', '-c', world.configFile, '--wait', '2', '--json']);
      expect(performance.now() - begun).toBeLessThan(WAIT_MS);
      expect(exitCode).toBe(3);
      const document = json();
      expect(document).toMatchObject({ error: { code: 'api.unreachable' }, items: { product: { due: 2 } } });
      const { message } = document['error'] as { message: string };
      const words =
        /has asked to wait until 20\d\d-\d\d-\d\dT[\d:.]+Z \(429\) and has accepted no request for (\d+) s: /;
      expect(message).toMatch(words);
      // A busy machine looks at the clock some time after these two seconds.
      expect(Number(words.exec(message)?.[1])).toBeGreaterThanOrEqual(2);
      // The first request of a scope is sent alone.
      expect(document).toMatchObject({ requests: { sent: 1, throttled: 1 } });
    },
  );

  it('an API that asks to wait for a day is shown by the sync while it waits, and by status until a request is answered', async () => {
    await given([A_DAY]);
    const synced = await cli(['sync', '-c', world.configFile, '--wait', '7']);
    expect(synced.exitCode).toBe(3);
    expect(synced.stderr).toMatch(/The API has asked to wait until 20\d\d-.*\(429\)/);
    expect(synced.stderr).toMatch(/left; the API asks to wait until 20\d\d-/);
    const status = async () => (await cli(['status', '-c', world.configFile, '--json'])).json()['apiWait'];
    const wait = (await status()) as Record<'since' | 'until' | 'askAgainAt' | 'message', string>;
    // Both times are rounded to milliseconds.
    expect(Math.abs(Date.parse(wait.until) - Date.parse(wait.since) - DAY_MS)).toBeLessThanOrEqual(1);
    // Two readings of the clock, some milliseconds apart, or longer on a busy machine.
    expect(Math.abs(Date.parse(wait.askAgainAt) - Date.parse(wait.since) - 60_000)).toBeLessThan(30_000);
    expect(wait.message).not.toBe('');
    const people = await cli(['status', '-c', world.configFile]);
    expect(people.stdout).toMatch(/The API has asked to wait until 20\d\d-.*everything stays due\./);
    world.sandbox.faults.clear();
    expect((await cli(['sync', '-c', world.configFile])).exitCode).toBe(0);
    expect(await status()).toBeNull();
  });

  it(
    'an API that asks to wait for a day is logged once, and shown by health, metrics, page and status of a daemon',
    covers('throttled', 'I5'),
    async () => {
      await given([A_DAY]);
      const { daemon, log, url } = await startDaemon(world);
      try {
        await waits(daemon);
        const ask = async (path: string) => {
          const answer = await fetch(`${url}${path}`, { headers: { authorization: `Bearer ${WEB_TOKEN}` } });
          return { status: answer.status, text: await answer.text() };
        };
        const health = async () => {
          const { status, text } = await ask('/healthz');
          return [status, JSON.parse(text)] as unknown;
        };
        await expect.poll(health, SOON).toEqual([
          200,
          {
            status: 'degraded',
            ledger: 'ok',
            queue: 'ok',
            api: 'throttled',
            apiWait: { since: expect.any(String), until: expect.any(String), askAgainAt: expect.any(String) },
          },
        ]);
        const { text: metrics } = await ask('/metrics');
        expect(metrics).toContain('dpp_sync_api_state{state="throttled"} 1');
        const until = Number(/^dpp_sync_api_wait_until_timestamp_seconds (\S+)$/m.exec(metrics)?.[1]);
        expect(Math.abs(until - (Date.now() + DAY_MS) / 1000)).toBeLessThan(WAIT_MS / 1000);
        expect((await ask('/')).text).toMatch(/The API has asked to wait until <time/);
        const warnings = () => log.lines.filter(({ message }) => message.includes('asked to wait'));
        await expect.poll(() => warnings().length, SOON).toBe(1);
        await expect.poll(() => daemon.runtime.reads.apiWait(), SOON).toMatchObject({ since: expect.any(Number) });
        expect(warnings().map(({ level }) => level)).toEqual(['warn']);
      } finally {
        await daemon.stop();
      }
    },
  );
});

async function waits(daemon: Daemon): Promise<void> {
  await daemon.startRun('erp', 'schedule');
  await expect.poll(() => daemon.observation.apiWait(), SOON).not.toBeNull();
}
