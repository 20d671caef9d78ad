// A bounded run whose source fails while the run is tried. The run then reads the rows of its trial, and a part of an export must
// never look like a whole one.

import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { runHere } from '../../support/cli/cli-here.ts';
import { createWorld, type World } from '../../support/worlds/world.ts';

const ROWS = 1_100;
const exportOf = (name: string) =>
  JSON.stringify(Array.from({ length: ROWS }, (_, n) => ({ SKU: `A-${n}`, NAME: name, COUNTRY: 'DE' })));
/** The second page ends within a row. */
const cut = (text: string) => text.slice(0, -20);

let world: World;
beforeEach(async () => {
  world = await createWorld({
    config: {
      sources: [
        {
          id: 'erp',
          connector: 'json',
          streams: { default: { path: './products.json', key: ['SKU'] } },
          onMissing: 'unpublish',
          guard: { maxMissing: '100%', maxDrop: '100%' },
          approve: { changes: 1, unpublish: 1 },
          mappings: [
            {
              stream: 'default',
              to: 'product',
              key: 'row.SKU',
              fields: { sku: 'row.SKU', name: 'row.NAME', country_of_origin: 'row.COUNTRY', status: '"ACTIVE"' },
            },
          ],
        },
      ],
      passports: { init: 'when-complete', publish: 'auto' },
    },
    sandbox: {
      gates: {
        productComplete: { enabled: false },
        bomPresent: { enabled: false },
        materialData: { enabled: false },
      },
    },
    files: { 'products.json': exportOf('Pump') },
  });
  expect((await sync()).exit).toBe(0);
});
afterEach(() => world.remove());

async function sync() {
  const { exitCode: exit, stdout } = await runHere(['sync', '--json', '-c', world.configFile]);
  return { exit, ...(JSON.parse(stdout) as object) };
}

async function lastRun() {
  const { stdout } = await runHere(['status', '--json', '-c', world.configFile]);
  return (JSON.parse(stdout) as { sources: { lastRun: { result: string; error: string } }[] }).sources[0]?.lastRun;
}

it('fails as well, and no product counts as missing', async () => {
  world.write('products.json', cut(exportOf('Pump')));
  expect((await sync()).exit).toBe(3);
  expect(await lastRun()).toMatchObject({ result: 'failed', error: expect.stringContaining('products.json') });
  expect(world.contents().publications).toHaveLength(ROWS);
});

it('is not held beyond its bounds, because nobody can decide about a part of an export', async () => {
  world.write('products.json', cut(exportOf('Valve')));
  expect((await sync()).exit).toBe(3);
  expect(await lastRun()).toMatchObject({ result: 'failed', error: expect.stringContaining('products.json') });
  const names = world.productNames();
  expect(new Set(names)).toEqual(new Set(['Pump']));
});

it('fails with the reason of the source if there is nothing to read', async () => {
  rmSync(join(world.folder, 'products.json'));
  expect((await sync()).exit).toBe(3);
  expect(await lastRun()).toMatchObject({ result: 'failed', error: expect.stringContaining('does not exist') });
});

it('is interrupted if a person stops it while it is tried', async () => {
  const runtime = await world.open();
  const pulling = runtime.pull('erp', { trigger: 'schedule' }, new AbortController().signal);
  while (!runtime.stopRun('erp')) await setImmediate();
  expect(await pulling).toMatchObject({ result: 'interrupted' });
  await runtime.close();
  expect(await lastRun()).toMatchObject({ result: 'interrupted' });
});
