import { spawn } from 'node:child_process';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { exitCodeOf } from '../../../src/observe/standing.ts';
import type { SandboxOptions } from '../../../src/sandbox/settings/settings.ts';
import { cli } from '../../support/cli/cli.ts';
import { covers } from '../../support/docs/reliability.ts';
import { quickQueue } from '../../support/servers/quick-queue.ts';
import {
  changed,
  largeExport,
  SMALL,
  SMALL_SOURCES,
  type SmallExport,
  smallFiles,
} from '../../support/worlds/small-export.ts';
import { API_KEY, createWorld, type World, type WorldOptions } from '../../support/worlds/world.ts';

const queue = quickQueue();
let world: World;
afterEach(() => world.remove());

/** Three products, two materials, five BOM items. */
const EXPORT: SmallExport = {
  ...SMALL,
  lines: [...SMALL.lines, { id: '5', product: 'P3', material: 'M1', quantity: '3' }],
};

const GATES_OFF = {
  productComplete: { enabled: false },
  bomPresent: { enabled: false },
  materialData: { enabled: false },
};

async function begin(sandbox: SandboxOptions = {}, options: Partial<WorldOptions> = {}): Promise<void> {
  world = await createWorld({
    queue: queue(),
    config: { sources: SMALL_SOURCES, passports: { init: 'when-complete', publish: 'auto' } },
    files: smallFiles(EXPORT),
    sandbox: { duplicates: { taken: true }, gates: GATES_OFF, ...sandbox },
    profile: { settlingDelayMs: { reset: 20, timeout: 20 } },
    ...options,
  });
}

/** Delivers and publishes everything, and then removes the ledger. */
async function fillAndForget(sandbox: SandboxOptions = {}, options: Partial<WorldOptions> = {}): Promise<void> {
  await begin(sandbox, options);
  expect(exitCodeOf(await world.sync())).toBe(0);
  expect(counts()).toEqual({ products: 3, materials: 2, bomItems: 5, publications: 3 });
  forget();
  world.requests();
}

function forget(): void {
  rmSync(join(world.folder, 'data'), { recursive: true });
}

function counts(): Record<string, number> {
  const { products, materials, bomItems, publications } = world.contents();
  return {
    products: products.length,
    materials: materials.length,
    bomItems: bomItems.length,
    publications: publications.length,
  };
}

async function withLedger<T>(work: (ledger: Awaited<ReturnType<World['open']>>['ledger']) => Promise<T>): Promise<T> {
  await using runtime = await world.open();
  return await work(runtime.ledger);
}

const STYLES: [string, SandboxOptions][] = [
  ['as Django REST Framework does', {}],
  ['with cursors, ids as texts and 200', { paging: 'cursor', ids: 'uuid', successCodes: 'ok', envelope: 'data' }],
  ['with a Link header and ids elsewhere', { paging: 'link-header', idAt: 'uuid', successCodes: 'accepted' }],
  ['with bare lists', { paging: 'none', idAt: 'pk', errors: 'problem' }],
];

describe('a workspace that holds everything already, and a new ledger', () => {
  it.each(STYLES)('a full workspace gets no item twice from a new ledger where it answers %s', async (_, style) => {
    await fillAndForget(style);
    const report = await world.sync();
    expect(report.fault).toBeNull();
    expect(exitCodeOf(report)).toBe(4);
    expect(report.items).toEqual({
      product: { delivered: 3 },
      material: { delivered: 2 },
      bom_item: { blocked: 5 },
    });
    expect(report.passports).toEqual({ published: 3 });
    expect(counts()).toEqual({ products: 3, materials: 2, bomItems: 5, publications: 3 });
    const writes = Object.keys(world.requests()).filter((name) => !name.endsWith('.list'));
    expect(writes).toEqual([]);
    const answer = await withLedger((ledger) => ledger.answerParts({ products: null, present: true }));
    expect(answer).toEqual({ products: 3, bomItems: 5, unknown: [] });
    const after = await world.sync();
    expect(exitCodeOf(after)).toBe(0);
    expect(counts()).toEqual({ products: 3, materials: 2, bomItems: 5, publications: 3 });
    expect(Object.keys(world.requests())).toEqual([]);
  });
});

describe('the commands after a first contact', () => {
  it('the commands after a first contact show what is blocked and end with 4, and with 0 once a person has answered', async () => {
    await fillAndForget();
    world.write(
      'exports/products.csv',
      smallFiles(changed('products', 'P1', { name: 'Big fan' }))['exports/products.csv'] ?? '',
    );
    const run = (...args: string[]) => cli([...args, '-c', world.configFile]);
    const first = await run('sync', '--json');
    expect(first.exitCode).toBe(4);
    expect(first.json()).toMatchObject({
      ok: false,
      suspended: [],
      adopted: [{ source: 'erp', kind: 'product', items: 1, fields: { name: 1 } }],
      unansweredParts: { products: 3, bomItems: 5 },
    });
    const status = await run('status');
    expect(status.exitCode).toBe(4);
    expect(status.stdout).toContain('1 product of erp was at the platform before and would be changed:');
    expect(status.stdout).toContain(' sync --accept erp');
    expect(status.stdout).toContain('5 BOM items of 3 products may be at the platform already');
    const settled = await run('settle', '--bom', 'present', '--all', '--json');
    expect(settled.json()).toEqual({ ok: true, products: 3, bomItems: 5, unknown: [] });
    expect((await run('settle', '--bom', 'present', 'SKU-P1')).exitCode).toBe(2);
    expect((await run('settle', '--bom', 'present')).exitCode).toBe(2);
    expect((await run('sync', '--accept', 'nobody')).exitCode).toBe(2);
    const second = await run('sync', '--accept', 'erp');
    expect(second.stdout).toContain('Accepted of erp: changes of items that were at the platform before: 1 product.');
    expect(second.exitCode).toBe(0);
    expect((await run('status')).exitCode).toBe(0);
    expect(counts()).toEqual(NO_WRITES);
  });
});

const NO_WRITES = { products: 3, materials: 2, bomItems: 5, publications: 3 };

function writes(): string[] {
  return Object.keys(world.requests()).filter((name) => !name.endsWith('.list'));
}

/** Creates a product or material at the platform without dpp-sync. */
async function make(what: 'products' | 'materials', body: object): Promise<unknown> {
  const answer = await fetch(`${world.baseUrl}/api/${what}/`, {
    method: 'POST',
    headers: { 'x-api-key': API_KEY, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  expect(answer.status).toBe(201);
  return ((await answer.json()) as { id: unknown }).id;
}

describe('an adopted item that its source wants otherwise', () => {
  it(
    'an adopted item that differs from its source is not written before a person accepts it, and then only as it was shown',
    covers('existing-items', 'I4', 'I8'),
    async () => {
      await fillAndForget();
      world.write(
        'exports/products.csv',
        smallFiles(changed('products', 'P1', { name: 'Big fan' }))['exports/products.csv'] ?? '',
      );
      const report = await world.sync();
      expect(exitCodeOf(report)).toBe(4);
      expect(report.items.product).toEqual({ delivered: 2, blocked: 1 });
      expect(writes()).toEqual([]);
      const runtime = await world.open();
      const adopted = await runtime.reads.adoptedChanges();
      const item = await runtime.reads.item('product', 'P1');
      await runtime.ledger.answerParts({ products: null, present: true });
      await runtime.close();
      expect(adopted).toEqual([{ source: 'erp', kind: 'product', items: 1, fields: { name: 1 } }]);
      expect(item?.reason).toMatchObject({ code: 'adopted', fields: { name: '"Fan" → "Big fan"' } });

      // A newer change is not accepted either.
      world.write(
        'exports/products.csv',
        smallFiles(changed('products', 'P1', { name: 'Huge fan' }))['exports/products.csv'] ?? '',
      );
      expect((await world.sync()).items.product).toEqual({ delivered: 2, blocked: 1 });
      expect(writes()).toEqual([]);

      const accepted = await world.sync({ accept: ['erp'] });
      expect(accepted.accepted).toEqual({
        sources: ['erp'],
        guarded: [],
        held: [],
        adopted: [{ source: 'erp', kind: 'product', count: 1 }],
      });
      expect(exitCodeOf(accepted)).toBe(0);
      expect(writes()).toEqual(['product.import']);
      const names = world.contents().products.map(({ name }) => name);
      expect(new Set(names)).toEqual(new Set(['Huge fan', 'Housing', 'Motor']));
      expect(counts()).toEqual(NO_WRITES);
      // From here on the product is updated like any other product.
      world.write(
        'exports/products.csv',
        smallFiles(changed('products', 'P1', { name: 'Fan' }))['exports/products.csv'] ?? '',
      );
      expect(exitCodeOf(await world.sync())).toBe(0);
      expect(world.contents().products.find(({ sku }) => sku === 'SKU-P1')).toMatchObject({ name: 'Fan' });
    },
  );

  it('an adopted item goes on without a person where its source comes to want what the platform has', async () => {
    await fillAndForget({}, { target: { bom: 'assume-present' } });
    const asIs = smallFiles(EXPORT)['exports/products.csv'] ?? '';
    world.write(
      'exports/products.csv',
      smallFiles(changed('products', 'P2', { name: 'Case' }))['exports/products.csv'] ?? '',
    );
    expect((await world.sync()).items.product).toEqual({ delivered: 2, blocked: 1 });
    world.write('exports/products.csv', asIs);
    expect(exitCodeOf(await world.sync())).toBe(0);
    expect(writes()).toEqual([]);
  });

  it('an adopted item keeps the fields that its mapping does not write', async () => {
    await begin({}, { target: { bom: 'create' }, config: { sources: SMALL_SOURCES } });
    await make('products', { sku: 'SKU-P1', name: 'Fan', country_of_origin: 'DE', description: 'By hand' });
    await make('materials', { code: 'M1', name: 'Stahl', recycled_mass_fraction: '0.40', category: 'metal' });
    const report = await world.sync();
    expect(report.items.product).toEqual({ delivered: 3 });
    expect(report.items.material).toEqual({ delivered: 1, blocked: 1 });
    expect(exitCodeOf(await world.sync({ accept: ['erp'] }))).toBe(0);
    const [product] = world.contents().products;
    expect(product).toMatchObject({ name: 'Fan', description: 'By hand' });
    expect(world.contents().materials[0]).toMatchObject({ code: 'M1', name: 'Steel', category: 'metal' });
    world.write(
      'exports/products.csv',
      smallFiles(changed('products', 'P1', { name: 'Big fan' }))['exports/products.csv'] ?? '',
    );
    expect(exitCodeOf(await world.sync())).toBe(0);
    expect(world.contents().products[0]).toMatchObject({ name: 'Big fan', description: 'By hand' });
  });
});

describe('publications of adopted products', () => {
  it('publications of adopted products stay as a person left them', covers('existing-items', 'I8'), async () => {
    await fillAndForget({}, { target: { bom: 'assume-present' } });
    const [first] = world.contents().products;
    const withdrawal = await fetch(`${world.baseUrl}/api/dpp/${JSON.stringify(first?.['id'])}/unpublish/`, {
      method: 'POST',
      headers: { 'x-api-key': API_KEY },
    });
    expect(withdrawal.ok).toBe(true);
    world.requests();
    const report = await world.sync();
    expect(exitCodeOf(report)).toBe(0);
    expect(report.passports).toEqual({ published: 2, unpublished: 1 });
    expect(writes()).toEqual([]);
  });

  it('publications of adopted products are not withdrawn by a policy', async () => {
    const [source] = SMALL_SOURCES;
    const sources = [{ ...source, onMissing: 'unpublish', guard: { maxMissing: '100%', maxDrop: '100%' } }];
    const passports = { init: 'when-complete', publish: 'auto' };
    await fillAndForget({}, { target: { bom: 'assume-present' }, config: { sources, passports } });
    await world.sync();
    const files = smallFiles({ ...EXPORT, products: EXPORT.products.slice(0, 2), lines: EXPORT.lines.slice(0, 3) });
    world.writeAll(files);
    world.requests();
    await world.sync();
    expect(writes()).toEqual([]);
    expect(world.contents().publications.filter(({ status }) => status === 'published')).toHaveLength(3);
  });
});

describe('BOM items of adopted products', () => {
  it('BOM items of adopted products are created where a person says that they are absent, and later ones without a question', async () => {
    await fillAndForget();
    await world.sync();
    const absent = await withLedger((ledger) => ledger.answerParts({ products: ['SKU-P1'], present: false }));
    expect(absent).toEqual({ products: 1, bomItems: 2, unknown: [] });
    expect((await world.sync()).items.bom_item).toEqual({ delivered: 2, blocked: 3 });
    expect(counts()['bomItems']).toBe(7);
    const later = { id: '6', product: 'P1', material: 'M2', quantity: '9' };
    world.write('exports/bom.csv', smallFiles({ ...EXPORT, lines: [...EXPORT.lines, later] })['exports/bom.csv'] ?? '');
    expect((await world.sync()).items.bom_item).toEqual({ delivered: 3, blocked: 3 });
    expect(counts()['bomItems']).toBe(8);
  });

  it('BOM items of adopted products of the first complete read are taken to be there where the config says so', async () => {
    await fillAndForget({}, { target: { bom: 'assume-present' } });
    expect(exitCodeOf(await world.sync())).toBe(0);
    expect(counts()).toEqual(NO_WRITES);
    const later = { id: '6', product: 'P1', material: 'M2', quantity: '9' };
    world.write('exports/bom.csv', smallFiles({ ...EXPORT, lines: [...EXPORT.lines, later] })['exports/bom.csv'] ?? '');
    expect(exitCodeOf(await world.sync())).toBe(0);
    expect(counts()['bomItems']).toBe(6);
  });
});

describe('items with an ambiguous key', () => {
  it('items with an ambiguous key wait for a person to name one', covers('existing-items', 'I5', 'I6'), async () => {
    await begin({}, { config: { sources: SMALL_SOURCES }, target: { bom: 'create' } });
    await make('products', { sku: 'SKU-P1', name: 'Fan', country_of_origin: 'DE' });
    const right = await make('products', { sku: 'SKU-P1', name: 'Fan', country_of_origin: 'DE' });
    await make('products', { sku: 'sku-p2', name: 'Housing', country_of_origin: 'AT' });
    await make('products', { sku: 'OTHER', name: 'Of somebody else' });
    const report = await world.sync();
    expect(report.items.product).toEqual({ delivered: 1, blocked: 2 });
    expect(counts()['products']).toBe(5);
    const runtime = await world.open();
    const reasons = [
      (await runtime.reads.item('product', 'P1'))?.reason,
      (await runtime.reads.item('product', 'P2'))?.reason,
    ];
    await runtime.close();
    const unnamed = await cli(['settle', 'P1', '--delivered', '-c', world.configFile]);
    expect([unnamed.exitCode, unnamed.stderr]).toEqual([2, expect.stringContaining('--delivered --id ID')]);
    const settled = await cli([
      'settle',
      'P1',
      '--delivered',
      '--id',
      JSON.stringify(right),
      '-c',
      world.configFile,
      '--json',
    ]);
    expect(reasons[0]).toMatchObject({
      code: 'ambiguous_key',
      message: expect.stringContaining(`1 (sku "SKU-P1"), 2`),
    });
    expect(reasons[1]).toMatchObject({ code: 'ambiguous_key', message: expect.stringContaining('3 (sku "sku-p2")') });
    expect(settled.json()).toEqual({ ok: true, kind: 'product', key: 'P1', state: 'delivered', remoteId: right });
    const after = await world.sync();
    expect(after.items.product).toEqual({ delivered: 2, blocked: 1 });
    expect(counts()['products']).toBe(5);
  });
});

describe('a list that cannot be had', () => {
  it(
    'a list that the key may not read stops the creates of its kind and nothing else, and the report names the list',
    covers(['existing-items', 'key-refused'], 'I5'),
    async () => {
      await begin({ faults: [{ operation: 'product.list', kind: 'status', status: 403 }] });
      const report = await world.sync();
      expect([exitCodeOf(report), report.fault]).toEqual([4, null]);
      expect(report.warnings).toEqual([expect.stringContaining('refuses the list of products to the key')]);
      expect(counts()).toMatchObject({ products: 0 });
      const runtime = await world.open();
      const suspended = await runtime.reads.suspended();
      await runtime.close();
      expect(suspended.find(({ kind }) => kind === 'product')).toMatchObject({ creates: 3 });
      expect(suspended.find(({ kind }) => kind === 'product')?.reason?.message).toMatch(/scope read\.$/);
      world.sandbox.faults.clear();
      expect(exitCodeOf(await world.sync())).toBe(0);
      expect(counts()).toEqual(NO_WRITES);
    },
  );

  it('a list that cannot be had because of an outage is no reason to do without it, and no command is named that cannot help', async () => {
    await begin({ faults: [{ operation: '*', kind: 'status', status: 500 }] });
    const { exitCode, stdout, stderr } = await cli(['sync', '--wait', '1', '-c', world.configFile]);
    expect(exitCode).toBe(3);
    expect(stdout + stderr).toContain('is created twice');
    expect(stdout + stderr).not.toContain('assume-empty');
    expect(stdout + stderr).not.toContain('dpp-sync settle');
    expect(counts()).toMatchObject({ products: 0, materials: 0 });
  });

  it('a list that cannot be read is not asked for where the config says that the platform is empty', async () => {
    await begin({}, { target: { firstContact: 'assume-empty' } });
    expect(exitCodeOf(await world.sync())).toBe(0);
    expect(Object.keys(world.requests()).filter((name) => name.endsWith('.list'))).toEqual([]);
  });

  it('a list without the natural key cannot be used for a first contact', async () => {
    await begin({}, { profile: { wireNames: { product: { sku: 'sku' }, material: { code: 'kennung' } } } });
    await make('materials', { code: 'M1', name: 'Steel' });
    const report = await world.sync();
    expect(exitCodeOf(report)).toBe(4);
    expect(counts()).toMatchObject({ products: 3, materials: 1 });
  });

  it('a first contact reads its list through 429s', covers(['existing-items', 'throttled'], 'I8'), async () => {
    await begin(
      {
        pageSizeMax: 5,
        faults: [{ operation: 'product.list', kind: 'status', status: 429, retryAfterSeconds: 0, count: 9 }],
      },
      { config: { sources: SMALL_SOURCES }, target: { bom: 'create' } },
    );
    for (let number = 0; number < 30; number += 1)
      await make('products', { sku: `OTHER-${number}`, name: 'Of somebody else' });
    await make('products', { sku: 'SKU-P1', name: 'Fan', country_of_origin: 'DE' });
    expect(exitCodeOf(await world.sync())).toBe(0);
    expect(counts()).toMatchObject({ products: 33, materials: 2, bomItems: 5 });
  });
});

describe('a first contact that is killed amid a list', () => {
  it('a killed first contact continues where it was', covers(['existing-items', 'process-killed'], 'I8'), async () => {
    await begin({ pageSizeMax: 2 }, { config: { sources: SMALL_SOURCES }, target: { bom: 'create' } });
    for (let number = 0; number < 40; number += 1)
      await make('products', { sku: `OTHER-${number}`, name: 'Of somebody else' });
    await make('products', { sku: 'SKU-P1', name: 'Fan', country_of_origin: 'DE' });
    world.sandbox.faults.add({ operation: 'product.list', kind: 'latency', ms: 100 });
    const listed = () =>
      Object.values(world.sandbox.inspect().requests['product.list'] ?? {}).reduce((sum, count) => sum + count, 0);
    const child = spawn(
      process.execPath,
      [join(import.meta.dirname, '../../../src/launcher.mjs'), 'sync', '-c', world.configFile],
      {
        stdio: 'ignore',
      },
    );
    const ended = new Promise((resolve) => child.once('exit', resolve));
    await expect.poll(listed, { interval: 20 }).toBeGreaterThan(8);
    child.kill('SIGKILL');
    await ended;
    const before = listed();
    world.sandbox.faults.clear();
    expect(exitCodeOf(await world.sync())).toBe(0);
    expect(counts()['products']).toBe(43);
    // The list has 21 pages. Stored pages are not read again. The page that was being read at the kill may be read again.
    expect(before).toBeLessThan(21);
    expect(listed()).toBeLessThanOrEqual(22);
  });
});

describe('a repetition of the list', () => {
  it('a first contact does not repeat a list while its count is as expected, and repeats it once the count differs', async () => {
    // The import proof would read the list as well.
    const profile = { imports: { creates: 'off' } };
    await begin({ pageSizeMax: 5 }, { config: { sources: SMALL_SOURCES }, target: { bom: 'create' }, profile });
    for (let number = 0; number < 10; number += 1)
      await make('products', { sku: `OTHER-${number}`, name: 'Of somebody else' });
    expect(exitCodeOf(await world.sync())).toBe(0);
    expect(world.requests()['product.list']).toBeGreaterThanOrEqual(2);
    const more = largeExport(30);
    for (const [path, content] of Object.entries(
      smallFiles({ ...more, products: [...EXPORT.products, ...more.products.slice(3)] }),
    ))
      world.write(path, content);
    expect((await world.sync()).items.product).toEqual({ delivered: 30 });
    expect(world.requests()['product.list'] ?? 0).toBeLessThanOrEqual(1);
  });
});
