import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { parse, stringify } from 'yaml';
import { sync } from '../../../src/daemon/sync.ts';
import type { QueueName } from '../../../src/domain/ports/queues.ts';
import { systemClock } from '../../../src/lib/clock.ts';
import type { JsonObject } from '../../../src/lib/json.ts';
import { exitCodeOf } from '../../../src/observe/standing.ts';
import type { SyncReport } from '../../../src/operations/runtime.ts';
import type { SandboxOptions } from '../../../src/sandbox/settings/settings.ts';
import { covers } from '../../support/docs/reliability.ts';
import { text } from '../../support/ledger/items.ts';
import { WAIT_MS } from '../../support/runner/limits.ts';
import { quickQueue } from '../../support/servers/quick-queue.ts';
import { changed, SMALL, SMALL_SOURCES, type SmallExport, smallFiles } from '../../support/worlds/small-export.ts';
import { API_KEY, createWorld, type World } from '../../support/worlds/world.ts';

/** The body of a 503 that proves that the request was not processed. */
const body = 'no healthy upstream';

const queue = quickQueue();
let world: World;
afterEach(() => world.remove());

/** For tests of lists that fail once a delivery is unconfirmed: nothing is listed before. */
const NO_CONTACT = { firstContact: 'assume-empty' };

const QUICK = {
  list: { lagMs: 0 },
  settlingDelayMs: { reset: 20, timeout: 20 },
  retry: { attemptsMax: 3, backoff: { baseMs: 5, capMs: 20 } },
};

async function given(
  options: {
    export?: SmallExport;
    sandbox?: SandboxOptions;
    profile?: Record<string, unknown>;
    target?: Record<string, unknown>;
  } = {},
): Promise<void> {
  world = await createWorld({
    queue: queue(),
    target: options.target ?? {},
    config: { sources: SMALL_SOURCES },
    files: smallFiles(options.export ?? SMALL),
    sandbox: options.sandbox ?? {},
    profile: { ...QUICK, ...options.profile },
  });
}

function replaceExport(next: SmallExport): void {
  world.writeAll(smallFiles(next));
}

const byText = (a: string, b: string) => (a < b ? -1 : 1);

/** The content of the sandbox, by the names in the export. */
function contents() {
  const { products, materials, bomItems } = world.contents();
  const names = (rows: JsonObject[]) => rows.map((row) => text(row['name']));
  const nameOf = (rows: JsonObject[], id: unknown) => text(rows.find((row) => row['id'] === id)?.['name']);
  return {
    products: names(products).toSorted(byText),
    materials: names(materials).toSorted(byText),
    bom: bomItems
      .map(({ product, material, component, quantity }) => {
        const part = nameOf(materials, material) || nameOf(products, component);
        return `${nameOf(products, product)} ${part} ${text(quantity)}`;
      })
      .toSorted(byText),
  };
}

function accepted(): number {
  const { products, materials, bomItems } = world.contents();
  return products.length + materials.length + bomItems.length;
}

const ALL = {
  products: ['Fan', 'Housing', 'Motor'],
  materials: ['Copper', 'Steel'],
  bom: ['Fan Housing 1', 'Fan Motor 2', 'Housing Steel 1.25', 'Motor Copper 0.5'],
};

describe('a sync', () => {
  it('a sync delivers everything, and a second sync sends nothing', async () => {
    await given();
    const first = await world.sync();
    expect(contents()).toEqual(ALL);
    expect(exitCodeOf(first)).toBe(0);
    // Nine items, and the lists of products and materials before the first of each.
    expect(first.requests).toEqual({ sent: 11, throttled: 0, retried: 0 });
    world.requests();
    const second = await world.sync();
    expect(exitCodeOf(second)).toBe(0);
    expect(world.requests()).toEqual({});
  });

  it('a sync sends exactly one PATCH after one material has changed', async () => {
    await given();
    await world.sync();
    world.requests();
    replaceExport(changed('materials', 'M1', { recycled: '0.6' }));
    await world.sync();
    expect(world.requests()).toEqual({ 'material.update': 1 });
    expect(world.contents().materials.find(({ code }) => code === 'M1')).toMatchObject({
      recycled_mass_fraction: '0.6',
    });
  });

  it('a sync sends changed products as one import, once imports are known to update products', async () => {
    await given();
    await world.sync();
    const renamed = (word: string) => SMALL.products.map((one) => ({ ...one, name: `${word} ${one.name}` }));
    // The first import has one product, and the next one has all three. A list shows that each product was updated.
    for (const word of ['First', 'Second']) {
      replaceExport({ ...SMALL, products: renamed(word) });
      expect(exitCodeOf(await world.sync())).toBe(0);
      expect(contents().products).toEqual([`${word} Fan`, `${word} Housing`, `${word} Motor`]);
    }
    world.requests();
    replaceExport({ ...SMALL, products: renamed('New') });
    const report = await world.sync();
    expect(exitCodeOf(report)).toBe(0);
    expect(report.requests).toEqual({ sent: 1, throttled: 0, retried: 0 });
    expect(world.requests()).toEqual({ 'product.import': 1 });
    expect(contents().products).toEqual(['New Fan', 'New Housing', 'New Motor']);
  });

  it('a sync shows a changed product and a changed BOM item as blocked, and never drops them', async () => {
    await given({ profile: { productUpdate: 'none' } });
    await world.sync();
    world.requests();
    replaceExport({
      ...changed('products', 'P1', { name: 'Big fan' }),
      lines: changed('lines', '1', { quantity: '3' }).lines,
    });
    const report = await world.sync();
    expect(exitCodeOf(report)).toBe(4);
    expect(report.items).toMatchObject({
      product: { delivered: 2, blocked: 1 },
      bom_item: { delivered: 3, blocked: 1 },
    });
    expect(world.requests()).toEqual({});
    const again = await world.sync();
    expect(again.items.product).toEqual({ delivered: 2, blocked: 1 });
    replaceExport(SMALL);
    expect(exitCodeOf(await world.sync())).toBe(0);
  });

  it('a sync quarantines a bad row, delivers the rest, and takes the row once it is fixed', async () => {
    await given({ export: changed('products', 'P2', { country: 'Atlantis' }) });
    const report = await world.sync();
    expect(exitCodeOf(report)).toBe(4);
    expect(report.quarantined).toBe(1);
    expect(contents().products).toEqual(['Fan', 'Motor']);
    expect(report.waitingFor).toEqual([{ kind: 'product', key: 'P2', state: null, count: 2 }]);
    replaceExport(SMALL);
    expect(exitCodeOf(await world.sync())).toBe(0);
    expect(contents()).toEqual(ALL);
  });

  it('a sync reports which refs never arrived, and which products contain themselves', async () => {
    await given({
      export: {
        ...SMALL,
        lines: [
          ...SMALL.lines,
          { id: '5', product: 'P2', component: 'P1', quantity: '1' },
          { id: '6', product: 'P1', component: 'NONE', quantity: '1' },
        ],
      },
    });
    const report = await world.sync();
    expect(exitCodeOf(report)).toBe(4);
    expect(report.waitingFor).toEqual([{ kind: 'product', key: 'NONE', state: null, count: 1 }]);
    expect(report.warnings).toEqual(['The bill of materials of P1 contains itself: P1 → P2 → P1.']);
  });

  it('a sync rejects what the API refuses and sends it again only when it has changed', async () => {
    await given({ export: changed('products', 'P1', { status: 'NONSENSE' }) });
    const report = await world.sync();
    expect(report.items).toMatchObject({
      product: { delivered: 2, rejected: 1 },
      bom_item: { delivered: 2, waiting: 2 },
    });
    world.requests();
    await world.sync();
    expect(world.requests()).toEqual({});
    replaceExport(changed('products', 'P1', { status: 'ACTIVE' }));
    expect(exitCodeOf(await world.sync())).toBe(0);
  });

  it('a replay sends what was rejected with the present mapping, as a new revision', async () => {
    await given({ export: changed('products', 'P1', { status: 'NONSENSE' }) });
    await world.sync();
    const config = readFileSync(world.configFile, 'utf8');
    world.write('dpp-sync.yaml', config.replace('status: row.STATUS', `status: '"DRAFT"'`));
    const runtime = await world.open();
    const selection = { states: ['rejected' as const], sources: [], keys: [], deliveryIds: [] };
    const dry = await runtime.replay({ selection, force: false, dryRun: true });
    expect(dry).toMatchObject({ records: 1, passing: 1, staged: 1 });
    const before = await runtime.reads.item('product', 'P1');
    expect(before).toMatchObject({ state: 'rejected', desired: { status: 'NONSENSE' } });
    expect(await runtime.replay({ selection, force: false, dryRun: false })).toMatchObject({ staged: 1 });
    const after = await runtime.reads.item('product', 'SKU-P1');
    expect(after).toMatchObject({ state: 'due', desired: { status: 'DRAFT' }, revision: (before?.revision ?? 0) + 1 });
    await runtime.close();
  });
});

describe('when answers are lost', () => {
  const lose = (operation: string, extra: object = {}) =>
    ({ faults: [{ operation, kind: 'reset-after', count: 1, ...extra }] }) as SandboxOptions;

  it('a sync whose answer was lost finds a product that did arrive, and does not create it again', async () => {
    await given({ sandbox: lose('product.create') });
    const report = await world.sync();
    expect(exitCodeOf(report)).toBe(0);
    expect(contents()).toEqual(ALL);
    // Once before the first create, and once for the unconfirmed delivery.
    expect(world.requests()).toMatchObject({ 'product.create': 3, 'product.list': 2 });
  });

  it('a sync whose answer was lost sends a product again that did not arrive', async () => {
    await given({ sandbox: { faults: [{ operation: 'product.create', kind: 'reset-before', count: 1 }] } });
    const report = await world.sync();
    expect(exitCodeOf(report)).toBe(0);
    expect(contents()).toEqual(ALL);
    expect(world.requests()).toMatchObject({ 'product.create': 4, 'product.list': 2 });
  });

  it('a sync whose answer was lost leaves a BOM item unconfirmed, since no list shows it', async () => {
    await given({ sandbox: lose('bom_item.create') });
    const report = await world.sync();
    expect(exitCodeOf(report)).toBe(4);
    expect(report.items.bom_item).toEqual({ delivered: 3, in_doubt: 1 });
    expect(contents()).toEqual(ALL);
    world.requests();
    expect((await world.sync()).items.bom_item).toEqual({ delivered: 3, in_doubt: 1 });
    expect(world.requests()).toEqual({});
  });

  it('a sync whose answer was lost sends a BOM item again with the same key where keys are honoured', async () => {
    await given({
      sandbox: { ...lose('bom_item.create'), idempotency: 'honoured' },
      profile: { idempotency: 'honoured' },
    });
    expect(exitCodeOf(await world.sync())).toBe(0);
    expect(contents()).toEqual(ALL);
    expect(world.requests()).toMatchObject({ 'bom_item.create': 5 });
  });

  /** The write takes effect, its answer is lost, and the API is away until the fault is cleared. */
  const loseThenAway = (operation: 'product.create' | 'material.update' | 'bom_item.create') => {
    world.sandbox.faults.add({ operation, kind: 'reset-after', count: 1 });
    for (const away of [operation, 'product.list', 'material.list'] as const) {
      world.sandbox.faults.add({ operation: away, kind: 'status', status: 503, body });
    }
  };

  it('a sync brings back the old value when a change whose answer was lost arrived, and was taken back', async () => {
    await given();
    await world.sync();
    loseThenAway('material.update');
    replaceExport(changed('materials', 'M1', { name: 'Iron' }));
    expect((await world.sync({ waitMs: 300 })).fault).toMatchObject({ exitCode: 3 });
    expect(contents().materials).toEqual(['Copper', 'Iron']);
    replaceExport(SMALL);
    await world.sync({ waitMs: 300 });
    world.sandbox.faults.clear();
    expect(exitCodeOf(await world.sync())).toBe(0);
    expect(contents()).toEqual(ALL);
  });

  it('a sync does not double a BOM item that changed while its answer was lost', async () => {
    await given({ sandbox: { idempotency: 'honoured' }, profile: { idempotency: 'honoured' }, target: NO_CONTACT });
    loseThenAway('bom_item.create');
    await world.sync({ waitMs: 300 });
    replaceExport({ ...SMALL, lines: SMALL.lines.map((line) => ({ ...line, quantity: '7' })) });
    await world.sync({ waitMs: 300 });
    world.sandbox.faults.clear();
    const report = await world.sync();
    expect(contents().bom).toHaveLength(4);
    expect(report.items.bom_item).toEqual({ delivered: 3, blocked: 1 });
  });

  it('a sync whose answer was lost finds a product under the SKU that was sent, whatever its SKU is by now', async () => {
    await given({ target: NO_CONTACT });
    loseThenAway('product.create');
    await world.sync({ waitMs: 300 });
    const config = readFileSync(world.configFile, 'utf8');
    world.write('dpp-sync.yaml', config.replace('"SKU-" + row.ID', '"NEW-" + row.ID'));
    world.sandbox.faults.clear();
    const report = await world.sync();
    const skus = world.contents().products.map(({ sku }) => text(sku));
    expect(skus.map((sku) => sku.slice(4)).toSorted(byText)).toEqual(['P1', 'P2', 'P3']);
    // Those that had arrived under the old SKU cannot be renamed.
    const old = skus.filter((sku) => sku.startsWith('SKU-')).length;
    expect(old).toBeGreaterThan(0);
    expect(report.items.product?.blocked).toBe(old);
  });

  it('a sync keeps what the API has answered while the ledger cannot be written', async () => {
    await given({ sandbox: { faults: [{ operation: '*', kind: 'latency', ms: 300 }] } });
    const runtime = await world.open();
    const blocker = new Database(join(world.folder, 'data/ledger.db'));
    const report = sync(runtime, { sources: [], waitMs: 30_000, abort: new AbortController().signal }, systemClock);
    await vi.waitUntil(() => accepted() > 0, { timeout: WAIT_MS, interval: 5 });
    blocker.exec('BEGIN IMMEDIATE');
    await vi.waitUntil(async () => (await runtime.engine.status()).trouble !== null, { timeout: WAIT_MS });
    blocker.exec('ROLLBACK');
    blocker.close();
    expect(exitCodeOf(await report)).toBe(0);
    await runtime.close();
    expect(contents()).toEqual(ALL);
  });

  it('a sync gives up on a queue that a person has paused, and delivers once the queue is resumed', async () => {
    await given();
    const runtime = await world.open();
    const queue = runtime.queues.bullQueues.find(({ name }) => name === 'deliver');
    await queue?.pause();
    const request = { sources: [], waitMs: 300, abort: new AbortController().signal };
    const report = await sync(runtime, request, systemClock);
    expect(report.fault).toMatchObject({
      code: 'queue.paused',
      exitCode: 3,
      message: expect.stringContaining('deliver'),
    });
    expect(accepted()).toBe(0);
    await queue?.resume();
    expect(exitCodeOf(await sync(runtime, { ...request, waitMs: 30_000 }, systemClock))).toBe(0);
    await runtime.close();
    expect(contents()).toEqual(ALL);
  });

  it('a sync parks a delivery that never gets a clear answer, after its own limit', async () => {
    await given({
      sandbox: { faults: [{ operation: 'product.create', kind: 'status', status: 500, match: 'SKU-P1' }] },
    });
    const report = await world.sync();
    expect(report.items).toMatchObject({ product: { delivered: 2, parked: 1 } });
    expect(world.requests()).toMatchObject({ 'product.create': 5 });
  });

  it('a sync parks a dozen deliveries that never get a clear answer, and ends', covers('bad-row', 'I5'), async () => {
    const ids = Array.from({ length: 12 }, (_, index) => `P${index}`);
    await given({
      export: { products: ids.map((id) => ({ id, name: `Name ${id}` })), materials: [], lines: [] },
      sandbox: {
        faults: [{ operation: 'product.create', kind: 'status', status: 500, effect: 'none' }],
      },
    });
    const report = await world.sync({ waitMs: 2000 });
    expect([report.fault, report.items.product]).toEqual([null, { parked: 12 }]);
  });

  it('a sync does not take its settling delay for silence of the API', covers('api-down', 'I5'), async () => {
    await given({
      export: { products: SMALL.products.slice(0, 1), materials: [], lines: [] },
      sandbox: { faults: [{ operation: 'product.create', kind: 'reset-before', match: 'SKU-P1', count: 1 }] },
      profile: { list: { lagMs: 0 }, settlingDelayMs: { reset: 1500, timeout: 1500 } },
    });
    const report = await world.sync({ waitMs: 300 });
    expect([report.fault, exitCodeOf(report)]).toEqual([null, 0]);
  });

  it(
    'a sync gives up on a list that cannot be read, with unconfirmed deliveries that wait for it',
    covers('server-error', 'I5', 'I6'),
    async () => {
      await given({
        target: NO_CONTACT,
        sandbox: {
          faults: [
            { operation: 'product.create', kind: 'reset-after', match: 'SKU-P1', count: 1 },
            { operation: 'product.list', kind: 'status', status: 500 },
          ],
        },
      });
      const report = await world.sync({ waitMs: 500 });
      expect(report.fault).toMatchObject({ code: 'api.unreachable', exitCode: 3 });
      expect(report.fault?.message).toContain('list of products could not be read');
      expect(report.items.product).toEqual({ delivered: 2, in_doubt: 1 });
      world.sandbox.faults.clear();
      expect(exitCodeOf(await world.sync())).toBe(0);
      expect(contents()).toEqual(ALL);
    },
  );
});

describe('when the API does not want', () => {
  it('a sync waits out 429s and loses nothing', async () => {
    const rateLimit = { kind: 'fixed-window' as const, limit: 2, windowMs: 1000, retryAfter: 'none' as const };
    await given({ sandbox: { rateLimit } });
    const report = await world.sync();
    expect(exitCodeOf(report)).toBe(0);
    expect(contents()).toEqual(ALL);
    expect(report.requests.throttled).toBeGreaterThan(0);
    expect(report.requests.sent).toBe(11 + report.requests.throttled);
  });

  it(
    'a sync gives up on an API that asks to wait for ever, with everything still due',
    covers('throttled', 'I5'),
    async () => {
      await given({
        sandbox: { faults: [{ operation: '*', kind: 'status', status: 429, retryAfterSeconds: 1 }] },
      });
      const begun = performance.now();
      const report = await world.sync({ waitMs: 300 });
      expect(report.fault).toMatchObject({ code: 'api.unreachable', exitCode: 3 });
      expect(report.fault?.message).toContain('has asked to wait (429) and has accepted no request');
      expect(report.requests.sent).toBe(1);
      expect(performance.now() - begun).toBeGreaterThan(300);
      expect(report.items.product).toEqual({ due: 3 });
    },
  );

  it('a sync with an invalid key keeps everything due, and never shows the key', async () => {
    await given();
    const config = readFileSync(world.configFile, 'utf8');
    world.write('dpp-sync.yaml', config.replace(API_KEY, 'dpp_wrongwrongwrongwrong1'));
    const report = await world.sync();
    expect(report.fault).toMatchObject({ code: 'api.key', exitCode: 3 });
    expect(report.fault?.message).toMatch(/^The API refuses the key: /);
    expect(report.fault?.message).not.toContain('wrongwrongwrong');
    expect(report.items.product).toEqual({ due: 3 });
    world.write('dpp-sync.yaml', config);
    expect(exitCodeOf(await world.sync())).toBe(0);
    expect(contents()).toEqual(ALL);
  });

  it('a sync without the Enterprise plan keeps everything due', async () => {
    await given();
    world.sandbox.setPlan('acme', 'standard');
    const report = await world.sync();
    expect(report.fault).toMatchObject({ code: 'api.plan', exitCode: 3 });
    world.sandbox.setPlan('acme', 'enterprise');
    expect(exitCodeOf(await world.sync())).toBe(0);
  });

  it('a sync gives up on an API that cannot be reached, with everything still due', async () => {
    await given();
    await world.sandbox.close();
    const report = await world.sync({ waitMs: 300 });
    expect(report.fault).toMatchObject({ code: 'api.unreachable', exitCode: 3 });
    expect(report.items.product).toEqual({ due: 3 });
  });

  /** Syncs over a queue that accepts each job, and keeps only those that the test wants. No server can be made to do that. */
  async function syncOver(keeps: (queue: QueueName) => boolean): Promise<SyncReport> {
    const runtime = await world.open();
    const enqueue = runtime.queues.enqueue.bind(runtime.queues);
    runtime.queues.enqueue = (queue, jobs) => (keeps(queue) ? enqueue(queue, jobs) : Promise.resolve());
    const report = await sync(runtime, { sources: [], waitMs: 2000, abort: new AbortController().signal }, systemClock);
    await runtime.close();
    return report;
  }

  it(
    'a sync whose first jobs are lost before a worker takes them sends everything once',
    covers('queue-lost', 'I8'),
    async () => {
      await given();
      let lost = 0;
      const report = await syncOver((queue) => {
        if (queue !== 'deliver' || lost === 2) return true;
        lost += 1;
        return false;
      });
      expect(report.fault).toBeNull();
      expect(lost).toBe(2);
      expect(contents()).toEqual(ALL);
    },
  );

  it('a sync gives up on a queue that accepts each job and loses it, with everything still due', async () => {
    await given();
    const report = await syncOver((queue) => queue !== 'deliver');
    expect(report.fault).toMatchObject({ code: 'queue.unreachable', exitCode: 3 });
    expect(report.fault?.message).toBe('The queue deliver loses its jobs before a worker takes them.');
    expect(report.items.product).toEqual({ due: 3 });
    expect((await world.sync()).fault).toBeNull();
    expect(contents()).toEqual(ALL);
  });

  it('a sync reads and delivers the other sources when one cannot be read', async () => {
    await given();
    const config = parse(readFileSync(world.configFile, 'utf8')) as { sources: object[] };
    config.sources.unshift({
      id: 'pim',
      connector: 'csv',
      options: { path: './nowhere/*.csv' },
      mappings: [{ to: 'product', key: 'row.A', fields: { sku: 'row.A', name: 'row.A' } }],
    });
    world.write('dpp-sync.yaml', stringify(config));
    const report = await world.sync();
    expect(report.fault).toMatchObject({ code: 'source.unreadable', exitCode: 3 });
    expect(report.fault?.message).toContain('nowhere');
    expect(contents()).toEqual(ALL);
  });
});

it.each([
  ['in doubt', NO_CONTACT, { in_doubt: 1 }],
  ['to be created', {}, { due: 2 }],
])(
  'a sync ends where one item cannot be accepted and another one, %s, waits for a list that cannot be read',
  covers(['api-down', 'server-error', 'answer-lost'], 'I5'),
  async (_, target, material) => {
    await given({ target });
    world.sandbox.faults.add({ operation: 'product.create', kind: 'status', status: 503, body, match: 'SKU-P1' });
    world.sandbox.faults.add({ operation: 'material.create', kind: 'reset-after', count: 1 });
    world.sandbox.faults.add({ operation: 'material.list', kind: 'status', status: 500 });
    const report = await world.sync({ waitMs: 500 });
    expect(report.fault).toMatchObject({ code: 'api.unreachable', exitCode: 3 });
    // Both items show their states, and the next sync continues with them.
    expect(report.items).toMatchObject({ product: { due: 1 }, material });
  },
);

it('a sync ends with 3 and names the items that the platform cannot accept', covers('api-down', 'I5'), async () => {
  await given();
  world.sandbox.faults.add({ operation: 'product.create', kind: 'status', status: 503, body, match: 'SKU-P1' });
  const report = await world.sync({ waitMs: 300 });
  expect(exitCodeOf(report)).toBe(3);
  expect(report.fault).toMatchObject({
    code: 'api.unreachable',
    message: expect.stringContaining('answers, but cannot accept the product P1: '),
    suggestion: expect.stringContaining('dpp-sync sends the item again at '),
  });
  expect(report.items.product).toEqual({ due: 1, delivered: 2 });
});

it(
  'a sync names the API, and not an item, where the API is still away as in the sync before',
  covers('api-down', 'I5'),
  async () => {
    await given({ target: NO_CONTACT, profile: { retry: { backoff: { baseMs: 600_000, capMs: 600_000 } } } });
    await world.sandbox.close();
    for (const waitMs of [300, 300, 1]) {
      const { fault } = await world.sync({ waitMs });
      expect(fault).toMatchObject({
        code: 'api.unreachable',
        message: expect.stringContaining('has accepted no request'),
      });
    }
  },
);

it('a sync ends where a source that shared an item has left the config, and maps its record once the source is back', async () => {
  const source = (id: string) => ({
    id,
    connector: 'csv',
    streams: { products: { path: `./${id}.csv`, key: ['NR'] } },
    mappings: [{ stream: 'products', to: 'product', key: 'row.NR', fields: { sku: 'row.NR', name: 'row.NAME' } }],
  });
  const row = (name: string) => `NR,NAME\n1,${name}\n`;
  world = await createWorld({
    queue: queue(),
    config: { sources: [source('erp'), source('pim')] },
    files: { 'erp.csv': row('Old'), 'pim.csv': row('Old') },
    profile: QUICK,
  });
  const configure = (sources: object[]) =>
    world.write('dpp-sync.yaml', stringify({ ...(parse(readFileSync(world.configFile, 'utf8')) as object), sources }));
  expect(exitCodeOf(await world.sync())).toBe(0);

  // The stored record of the removed source has the former name, so it would conflict with the item.
  configure([source('erp')]);
  world.write('erp.csv', row('New'));
  const alone = await world.sync({ abort: AbortSignal.timeout(WAIT_MS) });
  expect(alone.fault).toBeNull();
  expect(alone.items.product).toEqual({ delivered: 1 });
  expect(world.contents().products).toMatchObject([{ name: 'New' }]);

  configure([source('erp'), source('pim')]);
  const both = await world.sync({ abort: AbortSignal.timeout(WAIT_MS) });
  expect(both.fault).toBeNull();
  expect(both.quarantined).toBe(1);
});
