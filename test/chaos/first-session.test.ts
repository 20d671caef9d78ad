import { existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, expect, it } from 'vitest';
import { type CliProcess, startCli } from '../support/cli/cli.ts';
import { runHere } from '../support/cli/cli-here.ts';
import { covers, ORACLE } from '../support/docs/reliability.ts';
import { evidenceOf, violations } from '../support/ledger/invariants.ts';
import { text } from '../support/ledger/items.ts';
import { announcedRandom } from '../support/runner/announced-random.ts';
import { scaled } from '../support/runner/chaos.ts';
import { largeExport, SMALL_SOURCES, smallFiles } from '../support/worlds/small-export.ts';
import { createWorld, type World } from '../support/worlds/world.ts';

// The first session of a ledger is killed, and the write-ahead log of the ledger is removed. The rest of the ledger must not
// count as a new ledger.

const COUNT = scaled(25, 300);
const SOURCE = largeExport(COUNT);
/** Products, materials and BOM items. */
const WRITES = COUNT * 3;
/** How many sessions are killed while they send. */
const PUSHES = scaled(2, 30);

let world: World;
let running: CliProcess | null = null;
afterEach(async () => {
  running?.signal('SIGKILL');
  await running?.ended;
  await world.remove();
});

const ledger = (part = '') => join(world.folder, `data/ledger.db${part}`);
const command = (...args: string[]) => runHere([...args, '-c', world.configFile, '--json']);
const written = () => {
  const { products, materials, bomItems } = world.contents();
  return products.length + materials.length + bomItems.length;
};
const sent = () =>
  Object.values(world.sandbox.inspect().requests)
    .flatMap((statuses) => Object.values(statuses))
    .reduce((sum, count) => sum + count, 0);

async function begin(latencyMs: number, operation: '*' | 'product.create' = '*'): Promise<void> {
  world = await createWorld({
    config: { sources: SMALL_SOURCES },
    files: smallFiles(SOURCE),
    sandbox: { idempotency: 'ignored', faults: [{ operation, kind: 'latency', ms: latencyMs }] },
    profile: { settlingDelayMs: { reset: 20, timeout: 20 }, list: { lagMs: 500 } },
  });
}

/**
 * Kills a first sync as soon as `holds` returns true, removes the log of its ledger, and waits until its last requests
 * have taken effect.
 */
async function loseLogWhen(holds: () => boolean): Promise<void> {
  running = startCli(['sync', '-c', world.configFile, '--json']);
  let ended = false;
  void running.ended.then(() => {
    ended = true;
  });
  while (!holds()) {
    if (ended) throw new Error(`It ended first: ${(await running.ended).stdout}`);
    await delay(2);
  }
  running.signal('SIGKILL');
  await running.ended;
  running = null;
  for (const part of ['-wal', '-shm']) rmSync(ledger(part), { force: true });
  world.endLatency();
  // The sandbox has read all that the killed process has sent before it answers a request that comes later.
  const latest = () => world.sandbox.inspect().writes.length;
  for (let seen = -1; seen !== latest(); ) {
    seen = latest();
    await fetch(world.baseUrl);
  }
}

async function expectRefused(): Promise<void> {
  const before = { written: written(), sent: sent() };
  for (const name of ['sync', 'status']) {
    const refused = await command(name);
    expect(refused.exitCode, name).toBe(3);
    expect(refused.json(), name).toMatchObject({
      ok: false,
      error: { code: 'ledger.restored', message: expect.stringContaining('dpp-sync ledger restore') },
    });
  }
  expect({ written: written(), sent: sent() }).toEqual(before);
}

/** Runs the command that the message names and a sync, and compares the platform with the source. */
async function expectNothingDoubled(): Promise<void> {
  expect((await command('ledger', 'restore')).exitCode).toBe(0);
  const { fault, items } = await world.sync();
  expect(fault).toBe(null);
  expect(items).toMatchObject({ product: { delivered: COUNT }, material: { delivered: COUNT } });
  const { products, materials, bomItems } = world.contents();
  expect(products.map(({ sku }) => text(sku)).sort()).toEqual(SOURCE.products.map(({ id }) => `SKU-${id}`).sort());
  expect(materials).toHaveLength(COUNT);
  // BOM items cannot be read back, so a person settles those that may have been written.
  expect(bomItems.length).toBeLessThanOrEqual(COUNT);
  expect(violations(evidenceOf(world, { source: SOURCE, bomItems: 'or_unconfirmed' }))).toEqual([]);
}

it(
  'a ledger that loses its log right after it was made is complete, or is refused',
  covers('ledger-lost', ...ORACLE),
  async () => {
    await begin(0);
    await loseLogWhen(() => existsSync(ledger('.mark')));
    const first = await command('sync');
    if (first.exitCode === 3) await expectNothingDoubled();
    else {
      expect(written()).toBe(WRITES);
      expect(violations(evidenceOf(world, { source: SOURCE, bomItems: 'or_unconfirmed' }))).toEqual([]);
    }
  },
);

it(
  'a ledger that loses its log after the first claims is refused, and its cure doubles nothing',
  covers('ledger-lost', ...ORACLE),
  async () => {
    await begin(150, 'product.create');
    await loseLogWhen(() => (world.sandbox.faults.list()[0]?.used ?? 0) > 0);
    await expectRefused();
    await expectNothingDoubled();
  },
);

it(
  'a ledger that loses its log amid its first push is refused, and its cure doubles nothing',
  covers('ledger-lost', ...ORACLE),
  async () => {
    const random = announcedRandom();
    for (let push = 0; push < PUSHES; push += 1) {
      await begin(10);
      const enough = 1 + Math.floor(random() * WRITES * 0.8);
      await loseLogWhen(() => written() >= enough);
      await expectRefused();
      await expectNothingDoubled();
      if (push < PUSHES - 1) await world.remove();
    }
  },
);
