// The pictures of the dashboard show what was done before a restart, and by commands without a daemon.

import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { WAIT_MS } from '../../support/runner/limits.ts';
import {
  createProductsWorld,
  PRODUCTS,
  type ServedWorld,
  startDaemon,
  WEB_TOKEN,
} from '../../support/worlds/daemon-world.ts';
import type { World } from '../../support/worlds/world.ts';

interface History {
  since: string | null;
  asOf: string | null;
  hours: {
    rows: number;
    requests: number;
    refused: number;
    delivered: number;
    failed: number;
    medianMs: number | null;
  }[];
  runDays: { runs: number }[];
  passportDays: object[];
}

let world: World;
let served: ServedWorld | null = null;
beforeEach(async () => {
  world = await createProductsWorld({ files: { ...PRODUCTS.files, ...PRODUCTS.fixed } });
});
afterEach(async () => {
  await served?.daemon.stop();
  await world.remove();
});

async function askHistory(): Promise<History> {
  served = await startDaemon(world);
  const answer = await fetch(`${served.url}/api/v1/history`, { headers: { authorization: `Bearer ${WEB_TOKEN}` } });
  const history = (await answer.json()) as History;
  await served.daemon.stop();
  served = null;
  return history;
}

/** The counts of all hours. The hour may change during the test. */
function sumOf({ hours }: History) {
  const sum = (name: 'rows' | 'requests' | 'delivered' | 'failed') => hours.reduce((all, hour) => all + hour[name], 0);
  return { rows: sum('rows'), delivered: sum('delivered'), failed: sum('failed'), asked: sum('requests') > 0 };
}

it('what a daemon has done is in the pictures after its restart', async () => {
  const begun = Date.now();
  served = await startDaemon(world);
  await served.daemon.startRun('erp', 'schedule');
  const { reads } = served.daemon.runtime;
  await vi.waitUntil(async () => (await reads.itemCounts()).product.delivered === 2, { timeout: WAIT_MS });
  await served.daemon.stop();
  served = null;
  const stoppedAt = Date.now();

  const history = await askHistory();
  expect(sumOf(history)).toEqual({ rows: 2, delivered: 2, failed: 0, asked: true });
  expect(history.hours.some(({ medianMs }) => medianMs !== null && medianMs > 0)).toBe(true);
  expect(Date.parse(history.since ?? '')).toBeGreaterThanOrEqual(begun);
  expect(Date.parse(history.since ?? '')).toBeLessThanOrEqual(stoppedAt);
  expect(history.passportDays).toHaveLength(1);
});

it('a sync without a daemon is in the pictures too, added to the syncs before', async () => {
  await world.sync();
  await world.sync();
  const history = await askHistory();
  expect(sumOf(history)).toEqual({ rows: 4, delivered: 2, failed: 0, asked: true });
  expect(history.runDays.reduce((sum, { runs }) => sum + runs, 0)).toBe(2);
});
