import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Runtime } from '../../../src/daemon/runtime.ts';
import { sync } from '../../../src/daemon/sync.ts';
import { systemClock } from '../../../src/lib/clock.ts';
import { exitCodeOf } from '../../../src/observe/standing.ts';
import { EXPORT_SOURCES } from '../../support/worlds/cli-export.ts';
import { createWorld, type World } from '../../support/worlds/world.ts';

const PRODUCTS = 400;
const QUESTIONS = 1000;
const AT_ONCE = 50;
/** The BOM items wait for the material, so the sync runs at least as long. */
const LATENCY_MS = 20_000;

let world: World;
let runtime: Runtime;

beforeAll(async () => {
  const products = Array.from({ length: PRODUCTS }, (_, n) => `${n},A-${n},Pump ${n},DE\n`);
  const boms = Array.from({ length: PRODUCTS }, (_, n) => `${n},${n},900,1\n`);
  const files = {
    'products.csv': `ID,SKU,NAME,COUNTRY\n${products.join('')}X,A-X,Pump,XX\n`,
    'materials.csv': 'ID,NAME\n900,Steel\n',
    'boms.csv': `NO,PARENT,PART,QTY\n${boms.join('')}`,
  };
  const passports = { init: 'when-complete', publish: 'manual' };
  const faults = [{ operation: 'material.create' as const, kind: 'latency' as const, ms: LATENCY_MS }];
  world = await createWorld({ config: { sources: EXPORT_SOURCES, passports }, files, sandbox: { faults } });
  // As in the daemon.
  runtime = await world.open({ readsApart: true });
});
afterAll(() => world.remove());

/** One question of each kind in turn, about another product each time. */
function ask(n: number): Promise<unknown> {
  const { reads } = runtime;
  const key = String(n % PRODUCTS);
  const page = { limit: 50 };
  const questions: (() => Promise<unknown>)[] = [
    () => reads.why(key),
    () => reads.items({ state: 'open' }, page),
    () => reads.itemDetail('product', key),
    () => reads.items({ search: `Pump ${key}` }, page),
    () => reads.passports({}, page),
    () => reads.causes({}),
    () => reads.runs({}, page),
    () => reads.passportCounts({}),
    () => reads.sourceCounts(Date.now()),
    () => reads.actions(page),
  ];
  return questions[n % questions.length]?.() ?? Promise.resolve();
}

it('the reading thread answers a thousand questions while a sync runs, and neither fails', async () => {
  const synced = sync(
    runtime,
    { sources: [], accept: [], waitMs: 10_000, abort: new AbortController().signal },
    systemClock,
  );
  let isOver = false;
  const ended = synced.finally(() => {
    isOver = true;
  });
  let askedMeanwhile = 0;
  const answers: unknown[] = [];
  for (let at = 0; at < QUESTIONS; at += AT_ONCE) {
    if (!isOver) askedMeanwhile += AT_ONCE;
    answers.push(...(await Promise.all(Array.from({ length: AT_ONCE }, (_, n) => ask(at + n)))));
    if (at === AT_ONCE) world.endLatency();
  }
  const report = await ended;
  expect(answers).toHaveLength(QUESTIONS);
  expect(askedMeanwhile).toBeGreaterThan(AT_ONCE);
  // The row with a wrong country is in quarantine.
  expect(exitCodeOf(report)).toBe(4);
  expect(report.items).toEqual({
    product: { delivered: PRODUCTS },
    material: { delivered: 1 },
    bom_item: { delivered: PRODUCTS },
  });
  expect(world.contents().products).toHaveLength(PRODUCTS);
  const last = await runtime.reads.why('7');
  expect(last).toMatchObject({ published: false, answer: expect.stringContaining('`passports.publish: manual`') });

  await runtime.close();
  await expect(runtime.reads.run(1)).rejects.toMatchObject({ code: 'daemon.stopped' });
  expect(existsSync(join(world.folder, 'data/ledger.db-wal'))).toBe(false);
});
