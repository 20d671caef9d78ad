import { readFileSync } from 'node:fs';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { parse, stringify } from 'yaml';
import { reachDaemon } from '../../../src/admin/channel-client.ts';
import { openAdminChannel } from '../../../src/admin/channel-server.ts';
import type { AdminServer } from '../../../src/daemon/daemon-servers.ts';
import type { Runtime } from '../../../src/daemon/runtime.ts';
import { scheduleOf } from '../../../src/daemon/schedules/run-times.ts';
import type { Reads } from '../../../src/domain/ports/ledger/reads.ts';
import { systemClock } from '../../../src/lib/clock.ts';
import { findPackage } from '../../../src/lib/package.ts';
import type { HealthReport } from '../../../src/observe/health.ts';
import { leftToSend } from '../../../src/observe/standing.ts';
import type { DaemonView } from '../../../src/operations/runtime.ts';
import { showStatus } from '../../../src/operations/status.ts';
import { runHere } from '../../support/cli/cli-here.ts';
import { createProductsWorld, PRODUCTS } from '../../support/worlds/daemon-world.ts';
import { createRecordingLog } from '../../support/worlds/recording-log.ts';
import type { World } from '../../support/worlds/world.ts';

const HEALTHY: HealthReport = { status: 'ok', ledger: 'ok', queue: 'ok', api: 'ok' };
const { version } = findPackage();

let world: World;
let runtime: Runtime;
let server: AdminServer | null;

beforeEach(async () => {
  server = null;
  world = await createProductsWorld();
  runtime = await world.open();
});
afterEach(async () => {
  vi.useRealTimers();
  await server?.close();
  await runtime.close();
  await world.remove();
});

const status = (...flags: string[]) => runHere(['status', '-c', world.configFile, ...flags]);

/** What a daemon shows about itself, where its health takes as long as the test says. */
function daemonWith(check: () => Promise<HealthReport>): DaemonView {
  return {
    version,
    log: createRecordingLog(),
    startedAt: 0,
    health: { check },
    activity: { requestsPerSecond: () => 0, deliveredPerSecond: () => 0, latencies: () => ({}) },
    learntRate: () => null,
    stages: async () => runtime.engine.stages(0),
    left: () => leftToSend(runtime),
    nextRun: () => null,
    ledgerLost: () => null,
    running: () => [],
  };
}

/** Answers at the socket of the ledger as a daemon does. */
async function listen(check = async () => HEALTHY): Promise<void> {
  const daemon = daemonWith(check);
  const log = createRecordingLog();
  server = await openAdminChannel({ runtime, clock: systemClock, log, version, askRefused: async () => {}, daemon });
}

/** Lets virtual time pass in steps. Before each step the socket delivers the frames that were sent before it. */
async function pass(ms: number): Promise<void> {
  for (let passed = 0; passed < ms; passed += 500) {
    await reachDaemon(runtime.config);
    await vi.advanceTimersByTimeAsync(500);
  }
}

const fakeTimers = () => vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });

it('status shows a daemon whose answer takes three seconds', async () => {
  await listen(async () => {
    await pass(3000);
    return HEALTHY;
  });
  fakeTimers();
  expect((await status('--json')).json()).toMatchObject({ version, status: 'ok', deliveries: { inFlight: 0 } });
});

it('status reads the ledger itself beside a daemon that begins to answer and then sends nothing', async () => {
  const { promise: answered, resolve: answer } = Promise.withResolvers<HealthReport>();
  await listen(async () => {
    await pass(13_000);
    return answered;
  });
  fakeTimers();
  expect((await status('--json')).json()).toMatchObject({ version: null, status: null, deliveries: null });
  answer(HEALTHY);
});

it('status asks ledger, queue and health of a daemon side by side', async () => {
  const asked = { reads: Promise.withResolvers<void>(), queue: Promise.withResolvers<void>() };
  const health = Promise.withResolvers<void>();
  /** Each part answers only after the other parts were asked. */
  const reads: Reads = {
    ...runtime.reads,
    standing: async (...args) => {
      await Promise.all([health.promise, asked.queue.promise]);
      return runtime.reads.standing(...args);
    },
    importProofs: async () => {
      asked.reads.resolve();
      return runtime.reads.importProofs();
    },
  };
  const found = await showStatus.run(
    {},
    {
      runtime: { config: runtime.config, alerts: null, reads },
      clock: systemClock,
      schedule: scheduleOf(runtime.config, systemClock),
      queues: async () => {
        asked.queue.resolve();
        await Promise.all([health.promise, asked.reads.promise]);
        return null;
      },
      daemon: daemonWith(async () => {
        health.resolve();
        await Promise.all([asked.queue.promise, asked.reads.promise]);
        return HEALTHY;
      }),
    },
  );
  expect(found).toMatchObject({ status: 'ok', queue: { counts: null } });
});

it('status warns that the daemon works with another config, so that a new source is not listed', async () => {
  await listen();
  const sources = async () => {
    const { stderr, json } = await status('--json');
    return { stderr, ids: (json()['sources'] as { source: string }[]).map(({ source }) => source) };
  };
  expect(await sources()).toEqual({ stderr: '', ids: ['erp'] });
  const sourcesAfter = [PRODUCTS.source, { ...PRODUCTS.source, id: 'shop' }];
  const before = parse(readFileSync(world.configFile, 'utf8'));
  world.write('dpp-sync.yaml', stringify({ ...before, sources: sourcesAfter }));
  const { stderr, ids } = await sources();
  expect(ids).toEqual(['erp']);
  expect(stderr).toContain(`warning: The daemon works with another config than ${world.configFile}`);
  expect(stderr.match(/warning:/g)).toHaveLength(1);
  await server?.close();
  server = null;
  expect(await sources()).toEqual({ stderr: '', ids: ['erp', 'shop'] });
});
