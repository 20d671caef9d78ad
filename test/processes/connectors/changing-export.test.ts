// An export that is written to while a run reads it.

import { appendFileSync, renameSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { sync } from '../../../src/daemon/sync.ts';
import { systemClock } from '../../../src/lib/clock.ts';
import { exitCodeOf } from '../../../src/observe/standing.ts';
import { quickQueue } from '../../support/servers/quick-queue.ts';
import { PRODUCTS } from '../../support/worlds/daemon-world.ts';
import { createWorld, type World } from '../../support/worlds/world.ts';

/** Enough rows for several chunks of 256 KiB, each with several pages. */
const COUNT = 3000;
const NAME = 'x'.repeat(300);
const line = (index: number, name = NAME) => `P-${index},${name},10\n`;
const fileOf = (count: number, name = NAME) =>
  `SKU,NAME,STATE\n${Array.from({ length: count }, (_, index) => line(index, name)).join('')}`;

const queue = quickQueue();
let world: World;
afterEach(() => world.remove());

/** Pulls the export, without delivering, and changes it once its first page is stored. */
async function pullWhile(change: (path: string) => void) {
  const runtime = await world.open();
  const path = join(world.folder, 'products.csv');
  let isChanged = false;
  runtime.bus.subscribe(({ type }) => {
    if (type !== 'page' || isChanged) return;
    isChanged = true;
    change(path);
  });
  try {
    const report = await sync(
      runtime,
      { sources: [], waitMs: 60_000, abort: new AbortController().signal },
      systemClock,
    );
    return { report, missing: report.runs.reduce((sum, { missing }) => sum + missing, 0) };
  } finally {
    await runtime.close();
  }
}

describe('an export', () => {
  it.each([
    ['grows', (path: string) => appendFileSync(path, line(COUNT)), 'it grew from'],
    ['shrinks', (path: string) => truncateSync(path, 400_000), 'it shrank from'],
    ['is written over', (path: string) => writeFileSync(path, fileOf(COUNT, 'y'.repeat(300))), 'it was overwritten'],
  ])('an export that %s while it is read fails the run, loses no row and mixes none', async (_, change, words) => {
    world = await createWorld({
      queue: queue(),
      config: { sources: [PRODUCTS.source] },
      files: { ...PRODUCTS.fixed, 'products.csv': fileOf(COUNT) },
    });
    const { report, missing } = await pullWhile(change);
    expect([exitCodeOf(report), missing]).toEqual([3, 0]);
    expect(report.fault?.message).toContain(`products.csv was changed while it was read: ${words}`);
    expect(report.fault?.suggestion).toContain('rename it when it is complete');
    for (const { name } of world.contents().products) expect(name).toBe(NAME);
    world.write('products.csv', fileOf(COUNT + 1));
    const next = await world.sync({ waitMs: 60_000 });
    expect([exitCodeOf(next), next.items.product]).toEqual([0, { delivered: COUNT + 1 }]);
  });

  it('an export that another is renamed over is read to its end as it was', async () => {
    world = await createWorld({
      queue: queue(),
      config: { sources: [PRODUCTS.source] },
      files: { ...PRODUCTS.fixed, 'products.csv': fileOf(COUNT) },
    });
    const { report } = await pullWhile((path) => {
      writeFileSync(`${path}.new`, fileOf(1));
      renameSync(`${path}.new`, path);
    });
    expect([exitCodeOf(report), report.items.product]).toEqual([0, { delivered: COUNT }]);
  });
});
