import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { afterEach, describe, expect, it } from 'vitest';
import { exitCodeOf } from '../../src/observe/standing.ts';
import type { SyncReport } from '../../src/operations/runtime.ts';
import type { FaultRule } from '../../src/sandbox/faults/faults.ts';
import type { SandboxOptions } from '../../src/sandbox/settings/settings.ts';
import { covers, ORACLE } from '../support/docs/reliability.ts';
import { evidenceOf, violations } from '../support/ledger/invariants.ts';
import { text } from '../support/ledger/items.ts';
import { scaled } from '../support/runner/chaos.ts';
import { WAIT_MS } from '../support/runner/limits.ts';
import { quickQueue } from '../support/servers/quick-queue.ts';
import { largeExport, SMALL_SOURCES, type SmallExport, smallFiles } from '../support/worlds/small-export.ts';
import { createWorld, type World } from '../support/worlds/world.ts';

// Misleading answers: a 503 or 504 after the effect, the answer to another request, and refusals in different words.

const queue = quickQueue();
let world: World;
afterEach(() => world.remove());

const COUNT = scaled(8, 60);
const FAULTS_EACH = scaled(2, 10);
const SOURCE = largeExport(COUNT);
const CHANGED: SmallExport = {
  ...SOURCE,
  products: SOURCE.products.map((one) => ({ ...one, name: `${one.name} (new)` })),
};

/** Short waits, so that a read-back does not make the test slow. */
const HASTY = {
  settlingDelayMs: { reset: 50, timeout: 200 },
  retry: { attemptsMax: 20, backoff: { baseMs: 20, capMs: 200 } },
};
/** The answer of Envoy if the server behind it has received the request and then closed the connection. */
const ENVOY = 'upstream connect error or disconnect/reset before headers. reset reason: connection termination';
const GATEWAYS = {
  503: { kind: 'status', status: 503, effect: 'done', body: ENVOY, retryAfterSeconds: 0 },
  504: { kind: 'status', status: 504, effect: 'done' },
} as const satisfies Record<number, Omit<Extract<FaultRule, { kind: 'status' }>, 'operation'>>;

async function given(sandbox: SandboxOptions = {}): Promise<void> {
  world = await createWorld({
    queue: queue(),
    config: { sources: SMALL_SOURCES },
    files: smallFiles(SOURCE),
    sandbox: { idempotency: 'ignored', ...sandbox },
    profile: HASTY,
  });
}

const sync = () => world.sync({ waitMs: WAIT_MS });

function use(source: SmallExport): void {
  world.writeAll(smallFiles(source));
}

const sorted = (values: unknown[]) => values.map(text).toSorted();
const numbered = (prefix: string) => sorted(Array.from({ length: COUNT }, (_, index) => `${prefix}${index + 1}`));

/** Remote ids of a kind in the ledger, by key. */
function boundIds(kind: 'product' | 'material'): Map<string, unknown> {
  const db = new Database(join(world.folder, 'data/ledger.db'), { readonly: true });
  const rows = db
    .prepare<[string], [string, string]>('SELECT key, remote_id FROM items WHERE kind = ?')
    .raw()
    .all(kind);
  db.close();
  return new Map(rows.map(([key, id]) => [key, JSON.parse(id)]));
}

/**
 * Checks that the platform has each product and material once, bound to its own id, and each BOM item once or listed as
 * unconfirmed.
 */
function expectWhole(report: SyncReport, unconfirmedBomItems: number, source = SOURCE): void {
  const { products, materials, bomItems } = world.contents();
  expect(report.fault).toBeNull();
  expect(sorted(products.map(({ sku }) => sku))).toEqual(numbered('SKU-P'));
  expect(sorted(products.map(({ name }) => name))).toEqual(sorted(source.products.map(({ name }) => name)));
  expect(sorted(materials.map(({ code }) => code))).toEqual(numbered('M'));
  expect(boundIds('product')).toEqual(new Map(products.map(({ sku, id }) => [text(sku).slice('SKU-'.length), id])));
  expect(boundIds('material')).toEqual(new Map(materials.map(({ code, id }) => [code, id])));
  // Each BOM item links the product and the material of its number.
  const skuOf = new Map(products.map(({ id, sku }) => [id, text(sku)]));
  const codeOf = new Map(materials.map(({ id, code }) => [id, text(code)]));
  const lines = bomItems.map(({ product, material }) => [skuOf.get(product ?? null), codeOf.get(material ?? null)]);
  expect(lines.map(String).toSorted()).toEqual(
    SOURCE.lines.map((line) => [`SKU-${line.product}`, line.material].join(',')).toSorted(),
  );
  const delivered = COUNT - unconfirmedBomItems;
  expect(report.items).toMatchObject({ product: { delivered: COUNT }, material: { delivered: COUNT } });
  expect(report.items.bom_item).toEqual({
    delivered,
    ...(unconfirmedBomItems > 0 && { in_doubt: unconfirmedBomItems }),
  });
  expect(exitCodeOf(report)).toBe(unconfirmedBomItems > 0 ? 4 : 0);
  expect(violations(evidenceOf(world, { source, bomItems: 'or_unconfirmed' }))).toEqual([]);
  expect(world.sandbox.faults.unused()).toEqual([]);
}

describe('an answer of a gateway after the effect', () => {
  it.each([503, 504] as const)(
    'a gateway that answers with %i after the effect doubles and loses nothing: creates are read back, BOM items are left to a person',
    covers(['answer-lost', 'server-error'], ...ORACLE),
    async (status) => {
      await given();
      for (const operation of ['product.create', 'material.create', 'bom_item.create'] as const)
        world.sandbox.faults.add({ ...GATEWAYS[status], operation, count: FAULTS_EACH });
      expectWhole(await sync(), FAULTS_EACH);
      // An import is sent again, because a second import of the same products changes nothing.
      use(CHANGED);
      world.sandbox.faults.add({ ...GATEWAYS[status], operation: 'product.import', count: 1 });
      world.requests();
      expectWhole(await sync(), FAULTS_EACH, CHANGED);
      // The first import of changes has one product as the proof, and its answer was lost.
      expect(world.requests()['product.import']).toBe(3);
    },
  );
});

describe('the answer of another request', () => {
  it(
    'creates that get the answer of another request are bound each to its own id, and BOM items are left to a person',
    covers('answer-lost', ...ORACLE),
    async () => {
      await given();
      for (const operation of ['product.create', 'material.create', 'bom_item.create'] as const)
        world.sandbox.faults.add({ kind: 'crossed', operation, count: FAULTS_EACH });
      expectWhole(await sync(), FAULTS_EACH);
    },
  );

  it(
    'an import that gets the answer of another request is read back, and every product is as it was sent',
    covers('answer-lost', ...ORACLE),
    async () => {
      await given();
      expectWhole(await sync(), 0);
      use({ ...SOURCE, products: CHANGED.products.map((one, at) => (at > 0 ? (SOURCE.products[at] ?? one) : one)) });
      expect(exitCodeOf(await sync())).toBe(0);
      use(CHANGED);
      world.sandbox.faults.add({ kind: 'crossed', operation: 'product.import', count: 1 });
      expectWhole(await sync(), 0, CHANGED);
    },
  );
});

describe('an import that is answered in plain text', () => {
  it('an import answered in plain text is read back and not repeated', covers('answer-lost', ...ORACLE), async () => {
    await given();
    expectWhole(await sync(), 0);
    use(CHANGED);
    world.sandbox.faults.add({
      operation: 'product.import',
      kind: 'status',
      status: 200,
      effect: 'done',
      body: 'Import finished.',
    });
    world.requests();
    expectWhole(await sync(), 0, CHANGED);
    // The proof with one product, and the others.
    expect(world.requests()['product.import']).toBe(2);
  });
});

describe('a create that is refused because the item exists', () => {
  it.each([
    [400, 'Nope.'],
    [409, 'Artikel bereits vorhanden'],
  ] as const)(
    'a create that is refused with %i and the words %j because the item exists is bound to what is there, and made no second time',
    covers('answer-lost', ...ORACLE),
    async (status, detail) => {
      await given({ duplicates: { status, detail } });
      // Another installation, with another ledger, creates the items first.
      await sync();
      const before = world.contents();
      world.write('dpp-sync.yaml', readFileSync(world.configFile, 'utf8').replace('ledger.db', 'other.db'));
      world.requests();
      const report = await sync();
      expect(world.contents().products.map(({ id }) => id)).toEqual(before.products.map(({ id }) => id));
      expect(report.items).toMatchObject({ product: { delivered: COUNT }, material: { delivered: COUNT } });
      // One read of the list is enough for all products.
      expect(world.requests()['product.list'] ?? 0).toBeLessThanOrEqual(4);
    },
  );
});
