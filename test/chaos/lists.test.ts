import { afterEach, describe, expect, it } from 'vitest';
import { exitCodeOf } from '../../src/observe/standing.ts';
import type { FaultRule } from '../../src/sandbox/faults/faults.ts';
import type { SandboxOptions } from '../../src/sandbox/settings/settings.ts';
import { runHere } from '../support/cli/cli-here.ts';
import { covers } from '../support/docs/reliability.ts';
import { text } from '../support/ledger/items.ts';
import { scaled } from '../support/runner/chaos.ts';
import { WAIT_MS } from '../support/runner/limits.ts';
import { quickQueue } from '../support/servers/quick-queue.ts';
import { largeExport, SMALL_SOURCES, smallFiles } from '../support/worlds/small-export.ts';
import { createWorld, type World } from '../support/worlds/world.ts';

const queue = quickQueue();
let world: World;
afterEach(() => world.remove());

const COUNT = scaled(8, 60);

/** The answer to one create of each kind is lost: that of one in the middle, and that of the last one. */
const LOST = [
  { operation: 'product.create', kind: 'reset-after', match: '"SKU-P4"', count: 1 },
  { operation: 'material.create', kind: 'reset-after', match: `"M${COUNT}"`, count: 1 },
] as const satisfies FaultRule[];

/** The paging styles of a list. A page has fewer rows than the list. */
const STYLES: Record<string, SandboxOptions> = {
  'Django REST Framework': { paging: 'page-number' },
  OData: { paging: 'odata' },
  Spring: { paging: 'spring' },
  Relay: { paging: 'relay' },
  hasMore: { paging: 'has-more', envelope: 'items' },
  'X-Next-Page': { paging: 'page-header' },
  'not a word': { paging: 'silent', envelope: 'data' },
  'one bare array': { paging: 'none' },
};

async function given(sandbox: SandboxOptions, lagMs: number): Promise<void> {
  const { faults = [], ...style } = sandbox;
  world = await createWorld({
    queue: queue(),
    config: { sources: SMALL_SOURCES, passports: { init: 'when-complete', publish: 'auto' } },
    files: smallFiles(largeExport(COUNT)),
    sandbox: {
      ...style,
      pageSize: 3,
      pageSizeMax: 3,
      gates: { materialData: { enabled: false } },
      faults: [...LOST, ...faults],
    },
    profile: {
      list: { lagMs },
      settlingDelayMs: { reset: 50, timeout: 100 },
      retry: { attemptsMax: 20, backoff: { baseMs: 20, capMs: 200 } },
    },
  });
}

/**
 * Checks that the platform has everything once, and that each create was sent once. Another platform could store a create
 * that is sent twice as two items.
 */
async function syncsAllOnce(): Promise<void> {
  const report = await world.sync({ waitMs: WAIT_MS });
  expect(report.fault).toBeNull();
  expect(world.requests()).toMatchObject({ 'product.create': COUNT, 'material.create': COUNT });
  const { products, materials, publications } = world.contents();
  expect(new Set(products.map(({ sku }) => text(sku))).size).toBe(COUNT);
  expect(new Set(materials.map(({ code }) => text(code))).size).toBe(COUNT);
  expect(publications).toHaveLength(COUNT);
  expect(exitCodeOf(report)).toBe(0);
  expect(world.sandbox.faults.unused()).toEqual([]);
}

describe('a lost answer doubles nothing and loses nothing', () => {
  it.each(Object.entries(STYLES))(
    'a lost answer doubles nothing and loses nothing where lists page as %s',
    covers('answer-lost', 'I6', 'I8'),
    async (_name, style) => {
      await given(style, 200);
      await syncsAllOnce();
      const { stdout, exitCode } = await runHere(['publications', '--json', '-c', world.configFile]);
      expect(exitCode).toBe(0);
      expect(JSON.parse(stdout).publications).toHaveLength(COUNT);
    },
  );

  it.each<[string, SandboxOptions]>([
    ['rows move, in a list that counts', { faults: [{ operation: '*', kind: 'move', count: 3 }] }],
    ['rows move, in a list without a word', { paging: 'silent', faults: [{ operation: '*', kind: 'move', count: 2 }] }],
    ['there is no order, in a list that counts', { faults: [{ operation: '*', kind: 'shuffle', count: 4, seed: 7 }] }],
    [
      'there is no order, in edges',
      { paging: 'relay', faults: [{ operation: '*', kind: 'shuffle', count: 4, seed: 7 }] },
    ],
  ])(
    'a lost answer doubles nothing and loses nothing where %s',
    covers('answer-lost', 'I6', 'I8'),
    async (_name, style) => {
      await given(style, 200);
      await syncsAllOnce();
    },
  );

  it.each<[string, SandboxOptions]>([
    ['a list that counts', {}],
    ['a list without a word', { paging: 'silent' }],
  ])(
    'a lost answer doubles nothing and loses nothing where %s lags behind what was acknowledged',
    covers('answer-lost', 'I6', 'I8'),
    async (_name, style) => {
      await given({ ...style, faults: [{ operation: '*', kind: 'lag', ms: 1_500 }] }, 2_000);
      await syncsAllOnce();
    },
  );
});
