import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { afterEach, describe, expect, it } from 'vitest';
import { openAdminChannel } from '../../../src/admin/channel-server.ts';
import { type Daemon, runDaemon } from '../../../src/daemon/daemon.ts';
import { loadRuntimeConfig } from '../../../src/daemon/load.ts';
import { sync } from '../../../src/daemon/sync.ts';
import { systemClock } from '../../../src/lib/clock.ts';
import { createSecretStore } from '../../../src/lib/logging/secrets.ts';
import { exitCodeOf } from '../../../src/observe/standing.ts';
import { covers } from '../../support/docs/reliability.ts';
import { claimOne, deliverAll, delivered, settleOne } from '../../support/ledger/deliveries.ts';
import { items, product } from '../../support/ledger/items.ts';
import { createLedgerFixture, openLedger } from '../../support/ledger/ledger.ts';
import { pullAndMap, row } from '../../support/ledger/records.ts';
import { startDaemon, WEB_TOKEN } from '../../support/worlds/daemon-world.ts';
import { createRecordingLog } from '../../support/worlds/recording-log.ts';
import { SMALL, SMALL_SOURCES, smallFiles } from '../../support/worlds/small-export.ts';
import { createWorld, type World } from '../../support/worlds/world.ts';

const LOST = { code: 'ledger.lock_lost', exitCode: 3 };
const NEVER = new AbortController().signal;

describe('a ledger whose lock file is removed under its writer', () => {
  it('only the second process writes a ledger that lost its lock', covers('process-stopped', 'I3', 'I6'), async () => {
    const fixture = createLedgerFixture();
    const { ledger, file, clock } = fixture;
    await pullAndMap(ledger, [row('A')], () => items(product('A')));
    const [due] = await ledger.dueDeliveries({ afterId: 0, limit: 1 });
    const deliveryId = due?.id ?? 0;
    await claimOne(ledger, deliveryId);
    expect(ledger.lost()).toBe(null);
    rmSync(`${file}.lock`);
    const second = openLedger(file, { clock, command: 'second' });
    expect(await second.recover(0)).toEqual({ voided: 1 });
    const decision = delivered(1);
    await expect(settleOne(ledger, { id: deliveryId, decision })).rejects.toMatchObject(LOST);
    expect(ledger.lost()).toMatchObject(LOST);
    await settleOne(second, { id: deliveryId, decision });
    await deliverAll(second);
    await second.close();
    expect(ledger.views.item('product', 'A')?.state).toBe('delivered');
    await fixture.remove();
  });

  it('a ledger that lost its lock is not written when it is back', covers('process-stopped', 'I3'), async () => {
    const fixture = createLedgerFixture();
    const lock = `${fixture.file}.lock`;
    const content = readFileSync(lock);
    rmSync(lock);
    await expect(fixture.ledger.touch()).rejects.toMatchObject(LOST);
    writeFileSync(lock, content);
    await expect(fixture.ledger.touch()).rejects.toMatchObject(LOST);
    await fixture.remove();
  });
});

describe('a ledger whose lock another process has taken unseen', () => {
  it('a process whose term has passed stores nothing any more', covers('process-stopped', 'I3'), async () => {
    const fixture = createLedgerFixture();
    const { ledger, file } = fixture;
    await ledger.touch();
    // Such as after a lock that the system has given away: the lock file is the same.
    const other = new Database(file);
    const meta = () => other.prepare("SELECT name, value FROM meta WHERE name <> 'term' ORDER BY name").all();
    const setTerm = other.prepare<[string]>("UPDATE meta SET value = ? WHERE name = 'term'");
    expect(other.prepare("SELECT value FROM meta WHERE name = 'term'").pluck().get()).toBe('1');
    const before = meta();
    setTerm.run('2');
    await expect(pullAndMap(ledger, [row('A')], () => items(product('A')))).rejects.toMatchObject(LOST);
    expect(ledger.lost()).toMatchObject(LOST);
    setTerm.run('1');
    await expect(ledger.touch()).rejects.toMatchObject(LOST);
    expect(meta()).toEqual(before);
    expect(ledger.views.itemCounts().product).toEqual({});
    other.close();
    await fixture.remove();
  });
});

describe('a process whose ledger loses its lock file', () => {
  let world: World;
  afterEach(() => world.remove());
  const lock = () => join(world.folder, 'data/ledger.db.lock');

  it('a sync whose ledger loses its lock file ends with 3', covers('process-stopped', 'I3', 'I5'), async () => {
    world = await createWorld({ config: { sources: SMALL_SOURCES }, files: smallFiles(SMALL) });
    world.sandbox.faults.add({ operation: 'product.create', kind: 'latency', ms: 60_000 });
    const runtime = await world.open();
    const syncing = sync(runtime, { sources: [], waitMs: 60_000, abort: NEVER }, systemClock);
    await expect.poll(async () => (await runtime.reads.itemCounts()).product?.sending ?? 0).toBeGreaterThan(0);
    rmSync(lock());
    world.endLatency();
    const report = await syncing;
    expect(report.fault).toMatchObject(LOST);
    expect(exitCodeOf(report)).toBe(3);
    await runtime.close();
    // The next process continues, and looks up the requests without an answer.
    expect((await world.sync()).items).toMatchObject({ product: { delivered: 3 } });
    expect(world.contents().products).toHaveLength(3);
  });

  it('a daemon whose ledger loses its lock is unhealthy and shows why', covers('ledger-lost', 'I5'), async () => {
    world = await createWorld({
      config: { web: { port: 0, token: WEB_TOKEN }, sources: SMALL_SOURCES },
      files: smallFiles(SMALL),
    });
    const { daemon, url } = await startDaemon(world);
    try {
      const ask = (path: string) => fetch(`${url}${path}`, { headers: { authorization: `Bearer ${WEB_TOKEN}` } });
      expect((await ask('/healthz')).status).toBe(200);
      rmSync(join(world.folder, 'data/ledger.db'));
      const health = await ask('/healthz');
      expect(health.status).toBe(503);
      expect(await health.json()).toMatchObject({ status: 'unhealthy', ledger: 'lost' });
      for (const path of ['/', '/items', '/api/v1/items', '/tasks']) {
        const answer = await ask(path);
        expect([path, answer.status]).toEqual([path, 503]);
        expect(await answer.text()).toContain('ledger.db was removed while this process worked on it.');
      }
      expect((await ask('/metrics')).status).toBe(200);
    } finally {
      await daemon.stop();
    }
  });

  /** Runs a daemon until it ends by itself. */
  async function runUntilEnd(onReady: (daemon: Daemon) => void): Promise<unknown> {
    world = await createWorld({ config: { sources: SMALL_SOURCES }, files: smallFiles(SMALL) });
    const secrets = createSecretStore();
    const config = await loadRuntimeConfig(world.configFile, secrets);
    const log = createRecordingLog();
    return await runDaemon({
      config,
      secrets,
      clock: systemClock,
      log,
      version: '1.2.3',
      openAdmin: openAdminChannel,
      openWeb: () => Promise.reject(new Error('There is no web section.')),
      signal: NEVER,
      onReady,
    });
  }

  it('a daemon whose ledger loses its lock ends and says why', covers('process-stopped', 'I3'), async () => {
    await expect(runUntilEnd(() => rmSync(lock()))).rejects.toMatchObject(LOST);
    await (await world.open()).close();
  });

  it('a daemon whose watch of the exports fails ends and says why', covers('process-stopped', 'I5'), async () => {
    const ended = runUntilEnd(({ runtime }) => {
      const { sources } = runtime.config;
      Object.defineProperty(runtime.config, 'sources', {
        get: () => {
          if (new Error('reader').stack?.includes('watchExports')) throw new Error('The list is gone');
          return sources;
        },
      });
    });
    await expect(ended).rejects.toMatchObject({
      code: 'internal',
      message: 'Changes of the config and of exports can no longer be seen: The list is gone',
    });
    await (await world.open()).close();
  });
});
