import { afterEach, describe, expect, it } from 'vitest';
import type { Daemon } from '../../../src/daemon/daemon.ts';
import { sync } from '../../../src/daemon/sync.ts';
import type { Scope } from '../../../src/domain/delivery/operation.ts';
import { type Clock, systemClock } from '../../../src/lib/clock.ts';
import { exitCodeOf } from '../../../src/observe/standing.ts';
import type { SandboxOptions } from '../../../src/sandbox/settings/settings.ts';
import { covers } from '../../support/docs/reliability.ts';
import { text } from '../../support/ledger/items.ts';
import { WAIT_MS } from '../../support/runner/limits.ts';
import { quickQueue } from '../../support/servers/quick-queue.ts';
import { startDaemon, WEB_TOKEN } from '../../support/worlds/daemon-world.ts';
import { SMALL, SMALL_SOURCES, smallFiles } from '../../support/worlds/small-export.ts';
import { API_KEY, createWorld, type World } from '../../support/worlds/world.ts';

const OPEN_GATES = {
  productComplete: { enabled: false },
  bomPresent: { enabled: false },
  materialData: { enabled: false },
};
/** Within which something happens by itself, on a machine that is busy. */
const SOON = { timeout: WAIT_MS };
const EVERYTHING = ['read', 'write', 'publish'] as const;

const queue = quickQueue();
let world: World;

function grant(...scopes: Scope[]): void {
  world.sandbox.ensureKey({ organization: 'acme', name: 'test', scopes, key: API_KEY });
}

async function given(
  options: { scopes?: Scope[]; config?: object; sandbox?: SandboxOptions; target?: object } = {},
): Promise<void> {
  world = await createWorld({
    queue: queue(),
    target: { ...options.target },
    config: { sources: SMALL_SOURCES, ...options.config },
    files: smallFiles(SMALL),
    sandbox: { gates: OPEN_GATES, ...options.sandbox },
    profile: { list: { lagMs: 0 }, settlingDelayMs: { reset: 20, timeout: 20 } },
  });
  grant(...(options.scopes ?? EVERYTHING));
}

const AUTO = { passports: { init: 'when-complete', publish: 'auto' } };
const published = () => {
  const { publications } = world.contents();
  return publications.map(({ sku }) => text(sku)).toSorted();
};
const ALL = ['SKU-P1', 'SKU-P2', 'SKU-P3'];
const counts = () => {
  const { products, materials, bomItems } = world.contents();
  return [products.length, materials.length, bomItems.length];
};

describe('a sync with a key that lacks a scope', () => {
  afterEach(() => world.remove());

  it('a sync with a key that may not publish does all else, asks once, reports what is left, and publishes once the scope is granted', async () => {
    await given({ scopes: ['read', 'write'], config: AUTO });
    const report = await world.sync();
    expect(exitCodeOf(report)).toBe(3);
    expect(report.fault).toMatchObject({
      code: 'api.key',
      path: 'target.apiKey',
      message: expect.stringMatching(
        /^The API refuses the scope publish to the key: .* 3 deliveries are left to be sent\.$/,
      ),
      suggestion: expect.stringMatching(/dpp-sync check.* target\.publishKey/),
    });
    expect(report.items).toEqual({ product: { delivered: 3 }, material: { delivered: 2 }, bom_item: { delivered: 4 } });
    expect(report.passports).toEqual({ initialized: 3 });
    expect(world.requests()).toMatchObject({ 'passport.init': 3, 'passport.publish': 1 });

    grant(...EVERYTHING);
    const second = await world.sync();
    expect(exitCodeOf(second)).toBe(0);
    expect(published()).toEqual(ALL);
    expect(world.requests()).toEqual({ 'passport.publish': 3 });
  });

  it('a sync whose key loses a scope on the way ends with every delivery of that scope due', async () => {
    await given();
    const runtime = await world.open();
    runtime.bus.subscribe((event) => {
      if (event.type === 'settled' && event.state === 'delivered') grant('read', 'publish');
    });
    const abort = new AbortController().signal;
    const report = await sync(runtime, { sources: [], waitMs: 10_000, abort }, systemClock);
    await runtime.close();
    expect(report.fault).toMatchObject({ exitCode: 3, message: expect.stringContaining('the scope write') });
    expect(report.left).toBeGreaterThan(0);
    const states = Object.values(report.items).flatMap((states) => Object.keys(states));
    expect(states.filter((state) => !['delivered', 'due', 'waiting'].includes(state))).toEqual([]);
  });

  it('a sync whose key may not read leaves an unconfirmed delivery alone, delivers the rest, and reads it back once it may', async () => {
    await given({
      sandbox: { faults: [{ operation: 'product.create', kind: 'reset-after', count: 1 }] },
      target: { firstContact: 'assume-empty' },
    });
    grant('write');
    const report = await world.sync();
    expect(report.fault).toMatchObject({
      exitCode: 3,
      message: expect.stringMatching(/the scope read .* 1 delivery is left to be looked up\.$/),
    });
    expect(report.items).toMatchObject({ product: { delivered: 2, in_doubt: 1 }, material: { delivered: 2 } });
    expect(world.requests()).toMatchObject({ 'product.list': 1 });
    grant('read', 'write');
    expect(exitCodeOf(await world.sync())).toBe(0);
    expect(counts()).toEqual([3, 2, 4]);
  });
});

describe('a sync of an item that the key may not write, with a scope that it has', () => {
  afterEach(() => world.remove());
  const forbid = (match: string) =>
    world.sandbox.faults.add({ operation: 'product.create', kind: 'status', status: 403, match });
  const productsOf = ({ items }: Awaited<ReturnType<World['sync']>>) => items.product;

  it(
    'an item that the key may not write stops only its operation where it is the first to go, and the next run begins with another',
    covers('key-refused', 'I5'),
    async () => {
      await given();
      forbid('SKU-P1');
      const first = await world.sync();
      expect([exitCodeOf(first), first.fault, first.items]).toMatchObject([4, null, { material: { delivered: 2 } }]);
      expect(first.warnings).toEqual([expect.stringMatching(/refuses product\.create .* 3 deliveries are left/)]);
      expect(world.requests()['product.create']).toBe(1);
      const second = await world.sync();
      expect([exitCodeOf(second), second.fault, productsOf(second)]).toEqual([4, null, { delivered: 2, blocked: 1 }]);
      const runtime = await world.open();
      expect(await runtime.reads.item('product', 'P1')).toMatchObject({
        state: 'blocked',
        reason: { code: 'forbidden' },
      });
      await runtime.close();
      world.requests();
      const third = await world.sync();
      expect([exitCodeOf(third), world.requests()]).toEqual([4, {}]);
    },
  );

  it(
    'an item that the key may not write, after others were taken, makes the sync ask others whether it is the key',
    covers('key-refused', 'I5'),
    async () => {
      await given();
      forbid('SKU-P2');
      const report = await world.sync();
      expect([exitCodeOf(report), report.fault, productsOf(report)]).toEqual([4, null, { delivered: 2, blocked: 1 }]);
      // Once as it came, and once more after another was taken.
      expect(world.sandbox.inspect().requests['product.create']?.['403']).toBe(2);
    },
  );
});

describe('a sync with a key for which one operation is closed', () => {
  afterEach(() => world.remove());
  /** Each operation of a first sync, and what is left of it. */
  const EACH = [
    ['product.create', { product: { due: 3 }, material: { delivered: 2 } }],
    ['material.create', { product: { delivered: 3 }, material: { due: 2 } }],
    ['bom_item.create', { product: { delivered: 3 }, material: { delivered: 2 }, bom_item: { due: 4 } }],
    ['passport.init', { product: { delivered: 3 }, material: { delivered: 2 }, bom_item: { delivered: 4 } }],
  ] as const;

  it.each(EACH)(
    'a key for which %s is closed delivers all else, with exit code 4, and the rest once it is open',
    async (operation, items) => {
      await given({ config: AUTO });
      world.sandbox.faults.add({ operation, kind: 'status', status: 403 });
      const report = await world.sync();
      expect([exitCodeOf(report), report.fault]).toEqual([4, null]);
      expect(report.items).toMatchObject(items);
      expect(report.warnings[0]).toMatch(new RegExp(`^The API refuses ${operation.replace('.', '\\.')} to the key`));
      expect(world.sandbox.inspect().requests[operation]?.['403']).toBe(1);
      world.sandbox.faults.clear();
      expect(exitCodeOf(await world.sync())).toBe(0);
      expect([counts(), published()]).toEqual([[3, 2, 4], ALL]);
    },
  );

  it('a key for which the bulk import is closed creates products singly, leaves changes due, and names both settings', async () => {
    const ids = Array.from({ length: 60 }, (_, at) => `P${at}`);
    const products = ids.map((id) => ({ id, name: id, country: 'DE' }));
    await given();
    world.writeAll(smallFiles({ ...SMALL, products, lines: [] }));
    world.sandbox.faults.add({ operation: 'product.import', kind: 'status', status: 403 });
    const report = await world.sync();
    expect([exitCodeOf(report), report.fault, report.items]).toMatchObject([
      0,
      null,
      { product: { delivered: 60 }, material: { delivered: 2 } },
    ]);
    expect(report.warnings).toEqual([expect.stringMatching(/imports\.creates: off.*productUpdate: none/)]);
    expect(world.requests()).toMatchObject({ 'product.import': 1, 'product.create': 60 });

    const changedRows = products.map((one) => ({ ...one, name: `${one.id} new` }));
    world.writeAll(smallFiles({ ...SMALL, products: changedRows, lines: [] }));
    world.write('exports/materials.csv', 'ID;NAME;RECYCLED\nM1;Steel 2;0.4\nM2;Copper;0.25\nM3;Tin;0.1\n');
    const second = await world.sync();
    expect([second.items, exitCodeOf(second)]).toMatchObject([{ material: { delivered: 3 } }, expect.any(Number)]);
    expect(world.contents().materials).toHaveLength(3);
    const told = [...second.warnings, second.fault?.message].join(' ');
    expect(told).toMatch(/60 deliveries are left to be sent/);
    world.sandbox.faults.clear();
    expect(exitCodeOf(await world.sync())).toBe(0);
    expect(world.contents().products.every(({ name }) => text(name).endsWith('new'))).toBe(true);
  });

  it('a key without the scope read ends with 3 and api.key, and nothing proposes that the platform is empty', async () => {
    await given();
    grant('write');
    const report = await world.sync();
    expect(report.fault).toMatchObject({ exitCode: 3, code: 'api.key', path: 'target.apiKey' });
    expect(report.fault?.message).toMatch(
      /^The API refuses the scope read to the key: .* \d+ new items wait until a list/,
    );
    const shown = JSON.stringify(report) + report.fault?.message + report.fault?.suggestion;
    expect(shown).not.toContain('assume-empty');
    expect(shown).toContain('scope read');
    grant(...EVERYTHING);
    expect(exitCodeOf(await world.sync())).toBe(0);
  });
});

describe('a daemon with an item that the key may not write', () => {
  let daemon: Daemon;
  afterEach(async () => {
    await daemon.stop();
    await world.remove();
  });

  it('a daemon delivers all but the item that its key may not write', covers('key-refused', 'I5'), async () => {
    await given({ config: { web: { port: 0, token: WEB_TOKEN } } });
    world.sandbox.faults.add({ operation: 'product.create', kind: 'status', status: 403, match: 'SKU-P1' });
    world.sandbox.faults.add({ operation: 'material.create', kind: 'status', status: 403, match: 'M1' });
    ({ daemon } = await startDaemon(world, { probeMs: 100 }));
    await daemon.startRun('erp', 'schedule');
    const counts = () => daemon.runtime.reads.itemCounts();
    await expect.poll(async () => (await counts()).product, SOON).toEqual({ delivered: 2, blocked: 1 });
    await expect.poll(() => daemon.runtime.engine.status(), SOON).toMatchObject({ outstanding: 0, nextDueAt: null });
    await expect.poll(() => daemon.runtime.api.refused().size).toBe(0);
  });
});

describe('a daemon with a key that may not publish', () => {
  let daemon: Daemon;
  afterEach(async () => {
    await daemon.stop();
    await world.remove();
  });

  it('a daemon shows an operation as refused while a delivery finds out whether the API grants it', async () => {
    await given({ config: { alerts: { channels: [] }, web: { port: 0, token: WEB_TOKEN } } });
    const started = await startDaemon(world);
    ({ daemon } = started);
    const { api, bus, reads, alerts } = daemon.runtime;
    const detail = { status: 403, message: 'No.' };
    api.observe(
      { outcome: { kind: 'denied', by: 'scope', detail }, access: 'product.create', subject: null, advisedRate: null },
      null,
    );
    api.reopenAccess('product.create');
    bus.emit({ type: 'resumed', scope: 'write' });
    await expect.poll(() => alerts?.list(), SOON).toMatchObject([{ condition: 'key_refused', firing: true }]);
    expect(await (await fetch(`${started.url}/healthz`)).json()).toMatchObject({ api: 'denied_scope' });
    expect((await reads.causes({})).map(({ type }) => type)).toContain('api');
  });

  it('a daemon whose key may not publish does all else, and publishes once it may', async () => {
    await given({ scopes: ['read', 'write'], config: { ...AUTO, web: { port: 0, token: WEB_TOKEN } } });
    let hurried = 0;
    const clock: Clock = {
      ...systemClock,
      sleep(ms, signal) {
        if (ms <= 0) hurried += 1;
        return systemClock.sleep(ms, signal);
      },
    };
    const started = await startDaemon(world, { probeMs: 100, clock });
    ({ daemon } = started);
    const { url, log } = started;
    const get = async (path: string) => {
      const headers = { authorization: `Bearer ${WEB_TOKEN}`, accept: 'text/html' };
      return (await fetch(`${url}${path}`, { headers })).text();
    };
    const logged = (text: string) => log.lines.filter(({ message }) => message.includes(text));
    await daemon.startRun('erp', 'schedule');
    await expect.poll(() => logged('The API refuses the scope publish'), SOON).toHaveLength(1);

    const begun = hurried;
    world.write('exports/products.csv', `${smallFiles(SMALL)['exports/products.csv']}P4;Bracket;DE;\n`);
    await daemon.startRun('erp', 'schedule');
    await expect.poll(() => world.contents().passports.length, SOON).toBe(4);
    const asked = () => world.sandbox.inspect().requests['product.list']?.['200'] ?? 0;
    const before = asked();
    await expect.poll(asked, SOON).toBeGreaterThan(before + 3);
    expect(hurried - begun).toBeLessThan(50);
    expect(await (await fetch(`${url}/healthz`)).json()).toMatchObject({ status: 'degraded', api: 'denied_scope' });
    expect(await get('/')).toMatch(/Deliveries that need the scope <b>publish<\/b> stay due; all others are sent/);
    const metrics = await get('/metrics');
    expect(metrics).toContain('dpp_sync_api_scope_refused{scope="publish"} 1');
    expect(metrics).toContain('dpp_sync_api_scope_refused{scope="write"} 0');

    grant(...EVERYTHING);
    await expect.poll(published, SOON).toEqual([...ALL, 'SKU-P4']);
    await expect.poll(() => daemon.runtime.engine.status(), SOON).toMatchObject({ outstanding: 0, nextDueAt: null });
    // One request was a real delivery. The others were probes, for products that cannot exist.
    expect(logged('The API refuses')).toHaveLength(1);
    await expect.poll(() => logged('no longer refuses the scope publish'), SOON).toHaveLength(1);
    expect(await (await fetch(`${url}/healthz`)).json()).toMatchObject({ status: 'ok', api: 'ok' });
  });
});
