import { join } from 'node:path';
import Database from 'better-sqlite3';
import { afterEach, describe, expect, it } from 'vitest';
import type { Runtime } from '../../../src/daemon/runtime.ts';
import { sync } from '../../../src/daemon/sync.ts';
import { systemClock } from '../../../src/lib/clock.ts';
import type { SyncReport } from '../../../src/operations/runtime.ts';
import { runHere } from '../../support/cli/cli-here.ts';
import { startDaemon } from '../../support/worlds/daemon-world.ts';
import { createWorld, type World } from '../../support/worlds/world.ts';

const WAIT_MS = 10_000;
const CAUSE = { trigger: 'schedule' } as const;
const FIELDS = { sku: 'row.SKU', name: 'row.NAME' };

function csv(id: string, settings: object = {}, fields: object = FIELDS) {
  return {
    id,
    connector: 'csv',
    options: { delimiter: ',' },
    streams: { default: { path: `./${id}.csv`, key: ['SKU'] } },
    mappings: [{ stream: 'default', to: 'product', key: 'row.SKU', fields }],
    ...settings,
  };
}

describe('sync --plan, while something else happens', () => {
  let world: World;
  afterEach(() => world.remove());

  const dpp = (...args: string[]) => runHere([...args, '-c', world.configFile]);
  const planFile = () => join(world.folder, 'plan.jsonl');
  const never = () => new AbortController().signal;

  /** Applies the plan, and changes something after it was prepared. */
  async function applied(runtime: Runtime, meanwhile: () => void): Promise<SyncReport> {
    async function preparePlanned(...request: Parameters<Runtime['preparePlanned']>) {
      const planned = await runtime.preparePlanned(...request);
      meanwhile();
      return planned;
    }
    const request = { sources: [], plan: planFile(), waitMs: WAIT_MS, abort: never() };
    return await sync({ ...runtime, preparePlanned }, request, systemClock);
  }

  async function planned(...sources: string[]): Promise<void> {
    expect((await dpp('plan', ...sources, '--out', planFile())).exitCode).toBe(0);
  }

  it('a plan of one source is applied to this source alone', async () => {
    world = await createWorld({
      config: { sources: [csv('erp'), csv('pim')] },
      files: { 'erp.csv': 'SKU,NAME\nA,Pump\n', 'pim.csv': 'SKU,NAME\nB,Valve\n' },
    });
    await planned('erp');
    expect((await dpp('sync', '--plan', planFile())).exitCode).toBe(0);
    expect(world.productNames()).toEqual(['Pump']);
  });

  it('another run of the source begins when the rows of the plan are stored, so no newer row goes back', async () => {
    const source = {
      ...csv('erp'),
      connector: 'sql',
      options: { dialect: 'sqlite', file: './erp.db' },
      streams: { default: { query: 'SELECT SKU, NAME FROM products', page: ['SKU'], key: ['SKU'] } },
    };
    world = await createWorld({ config: { sources: [source] } });
    const db = new Database(join(world.folder, 'erp.db'));
    db.exec("CREATE TABLE products (SKU TEXT, NAME TEXT); INSERT INTO products VALUES ('A', 'Pump')");
    await world.sync();
    db.exec("UPDATE products SET NAME = 'Steel pump'");
    await planned();
    const runtime = await world.open();
    const others: Promise<unknown>[] = [];
    try {
      const report = await applied(runtime, () => {
        db.exec("UPDATE products SET NAME = 'Copper pump'");
        others.push(runtime.pull('erp', CAUSE, never()));
      });
      expect(report.fault).toBeNull();
      await Promise.all(others);
      await sync(runtime, { sources: [], pull: false, waitMs: WAIT_MS, abort: never() }, systemClock);
    } finally {
      db.close();
      await runtime.close();
    }
    expect(world.productNames()).toEqual(['Copper pump']);
  });

  it('a plan that cannot be applied lets other runs of its sources begin', async () => {
    world = await createWorld({ config: { sources: [csv('erp')] }, files: { 'erp.csv': 'SKU,NAME\nA,Pump\n' } });
    await planned();
    world.write('erp.csv', 'SKU,NAME\nA,Valve\n');
    await using runtime = await world.open();
    await expect(runtime.preparePlanned(planFile(), never(), WAIT_MS)).rejects.toMatchObject({ code: 'plan.stale' });
    expect(await runtime.pull('erp', CAUSE, never(), 0)).toMatchObject({ result: 'complete' });
  });

  it('a lookup file that is written after the plan was made again is not used', async () => {
    const lookups = { states: { file: './states.csv', key: 'code', value: 'word' } };
    const fields = { ...FIELDS, status: 'lookup("states", row.STATE)' };
    world = await createWorld({
      config: { sources: [csv('erp', { lookups }, fields)] },
      files: { 'erp.csv': 'SKU,NAME,STATE\nA,Pump,1\n', 'states.csv': 'code,word\n1,ACTIVE\n' },
    });
    await planned();
    const runtime = await world.open();
    try {
      const { fault } = await applied(runtime, () => world.write('states.csv', 'code,word\n1,DRAFT\n'));
      expect(fault).toMatchObject({ code: 'plan.stale' });
      expect(fault?.message).toContain('nothing of erp was sent: the lookup table erp/states has changed.');
    } finally {
      await runtime.close();
    }
    expect(world.productNames()).toEqual([]);
  });

  it('a write that was due before a plan is not sent in its former form', async () => {
    world = await createWorld({ config: { sources: [csv('erp')] }, files: { 'erp.csv': 'SKU,NAME\nA,Pump\n' } });
    await stopWhenMapped();
    world.write('erp.csv', 'SKU,NAME\nA,Steel pump\n');
    await planned();
    world.requests();
    expect((await dpp('sync', '--plan', planFile())).exitCode).toBe(0);
    expect(world.requests()).toEqual({ 'product.list': 1, 'product.create': 1 });
    expect(world.productNames()).toEqual(['Steel pump']);
  });

  /** Syncs until the rows are mapped. The creates wait for the list of the platform. */
  async function stopWhenMapped(): Promise<void> {
    world.sandbox.faults.add({ operation: 'product.list', kind: 'latency', ms: 3_600_000 });
    const stop = new AbortController();
    const runtime = await world.open();
    try {
      runtime.bus.subscribe(({ type }) => type === 'mapped' && stop.abort());
      const report = await sync(runtime, { sources: [], waitMs: WAIT_MS, abort: stop.signal }, systemClock);
      expect(report.left).toBe(1);
    } finally {
      world.endLatency();
      await runtime.close();
    }
  }

  it('a daemon sends the rows of the plan too, and not those that have changed since', async () => {
    world = await createWorld({ config: { sources: [csv('erp')] }, files: { 'erp.csv': 'SKU,NAME\nA,Pump\n' } });
    await planned();
    const { daemon } = await startDaemon(world);
    try {
      const report = await applied(daemon.runtime, () => world.write('erp.csv', 'SKU,NAME\nA,Valve\n'));
      expect(report.fault).toBeNull();
      expect(world.productNames()).toEqual(['Pump']);
    } finally {
      await daemon.stop();
    }
  });
});
