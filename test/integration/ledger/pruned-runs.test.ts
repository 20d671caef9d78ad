import { join } from 'node:path';
import Database from 'better-sqlite3';
import { afterEach, expect, it, vi } from 'vitest';
import { sync } from '../../../src/daemon/sync.ts';
import { type Clock, systemClock } from '../../../src/lib/clock.ts';
import { WAIT_MS } from '../../support/runner/limits.ts';
import { createWorld, type World } from '../../support/worlds/world.ts';

let world: World;
afterEach(() => world.remove());

const DAY_MS = 24 * 3_600_000;
let passedMs = 0;
const clock: Clock = {
  now: () => systemClock.now() + passedMs,
  ticks: () => systemClock.ticks(),
  sleep: (ms, abort) => systemClock.sleep(ms, abort),
};

/** The content identifies the row without a number, so that each change of this row leaves a missing record. */
async function given(): Promise<void> {
  passedMs = 0;
  const fields = { sku: 'row.NR', name: 'row.NAME' };
  world = await createWorld({
    config: {
      sources: [
        {
          id: 'erp',
          connector: 'csv',
          streams: { products: { path: './erp.csv' } },
          guard: { maxMissing: '100%', maxDrop: '100%' },
          mappings: [{ stream: 'products', to: 'product', key: 'row.NR', when: 'row.NR != ""', fields }],
        },
      ],
    },
    clock,
    files: { 'erp.csv': 'NR,NAME\n1,Pump\n,first\n' },
  });
}

function countRows(table: 'runs' | 'records'): unknown {
  const db = new Database(join(world.folder, 'data/ledger.db'), { readonly: true });
  try {
    return db.prepare(`SELECT count(*) FROM ${table}`).pluck().get();
  } finally {
    db.close();
  }
}

it('a run of the command `sync` prunes the ledger, which no daemon may ever work on', async () => {
  await given();
  const runtime = await world.open();
  const start = { source: 'erp', trigger: 'cli', streams: [], mappingRevision: '' } as const;
  for (let at = 0; at < 410; at += 1) {
    const { runId } = await runtime.ledger.startRun({ ...start, streams: [] });
    await runtime.ledger.endRun({ runId, result: 'complete' });
  }
  await runtime.close();
  for (const name of ['second', 'third', 'fourth']) {
    passedMs += 40 * DAY_MS;
    world.write('erp.csv', `NR,NAME\n1,Pump\n,${name}\n`);
    await world.sync();
  }
  expect(countRows('runs')).toBe(400);
  // The two present records, and the last missing one.
  expect(countRows('records')).toBe(3);
});

it('a run is complete although the ledger could not be pruned after it', async () => {
  await given();
  await using runtime = await world.open();
  const prune = vi.spyOn(runtime.ledger, 'prune').mockRejectedValue(new Error('The disk is full.'));
  const report = await sync(
    runtime,
    { sources: [], accept: [], waitMs: 5_000, abort: AbortSignal.timeout(WAIT_MS) },
    clock,
  );
  expect(prune).toHaveBeenCalledOnce();
  expect(report).toMatchObject({ fault: null, items: { product: { delivered: 1 } } });
});
