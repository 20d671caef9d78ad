import { afterEach, beforeEach, expect, it } from 'vitest';
import { findPackage } from '../../../src/lib/package.ts';
import { runHere } from '../../support/cli/cli-here.ts';
import { WAIT_MS } from '../../support/runner/limits.ts';
import { createProductsWorld, type ServedWorld, startDaemon } from '../../support/worlds/daemon-world.ts';
import type { World } from '../../support/worlds/world.ts';

const SOON = { timeout: WAIT_MS };

let world: World;
let served: ServedWorld | null;

beforeEach(async () => {
  served = null;
  world = await createProductsWorld({
    sandbox: { faults: [{ kind: 'latency', operation: 'product.create', ms: 60_000 }] },
  });
});
afterEach(async () => {
  world.endLatency();
  await (served ?? world).remove();
});

const status = (...flags: string[]) => runHere(['status', '-c', world.configFile, ...flags]);
const deliveries = async () => (await status('--json')).json()['deliveries'];

it('status shows how many deliveries of a daemon are in each stage, and since when', async () => {
  expect(await deliveries()).toBe(null);
  served = await startDaemon(world, { version: findPackage().version });
  await served.daemon.startRun('erp', 'schedule');
  // The second one is sent when the first, the probe of the scope, has had no answer for a second.
  const stages = { due: 0, enqueued: 0, received: 0, admitted: 0, inFlight: 2 };
  await expect.poll(deliveries, SOON).toEqual({
    ...stages,
    inFlightSince: expect.stringMatching(/^20\d\d-.*Z$/),
  });
  expect((await status('--json')).json()).toMatchObject({
    version: findPackage().version,
    status: 'ok',
    ledger: { exists: true, health: 'ok' },
    queue: { counts: { pull: { waiting: 0 } }, health: 'ok' },
  });
  const { stdout } = await status();
  expect(stdout).toMatch(/^Deliveries: 0 due, 0 enqueued, 0 received, 0 admitted, 2 in flight, the first since /m);
  // A look is no work of a person: neither the log nor the audit log has it.
  expect(
    served.log.lines.filter(({ level, message }) => level !== 'debug' && message.includes('command status')),
  ).toEqual([]);
  expect((await served.daemon.runtime.reads.actions({ limit: 10 })).rows).toEqual([]);
});

it('status shows no stages of a daemon of another version', async () => {
  served = await startDaemon(world, { version: '0.0.1' });
  expect((await status('--json')).json()).toMatchObject({ version: null, queue: { counts: null }, deliveries: null });
  expect(await status()).toMatchObject({ exitCode: 0, stderr: '' });
});
