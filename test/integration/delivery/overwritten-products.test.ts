import { afterEach, describe, expect, it } from 'vitest';
import type { Reads } from '../../../src/domain/ports/ledger/reads.ts';
import type { SandboxOptions } from '../../../src/sandbox/settings/settings.ts';
import { text } from '../../support/ledger/items.ts';
import { largeExport, SMALL_SOURCES, smallFiles } from '../../support/worlds/small-export.ts';
import { API_KEY, createWorld, type World } from '../../support/worlds/world.ts';
import { PROVEN } from './delivery-world.ts';

let world: World;
afterEach(() => world.remove());

const OPEN_GATES = {
  productComplete: { enabled: false },
  bomPresent: { enabled: false },
  materialData: { enabled: false },
};
const QUICK = {
  list: { lagMs: 0 },
  settlingDelayMs: { reset: 20, timeout: 20 },
  retry: { attemptsMax: 3, backoff: { baseMs: 5, capMs: 20 } },
  imports: { createsMin: 5 },
};

async function post(path: string, body?: object): Promise<{ id: number }> {
  const answer = await fetch(`${world.baseUrl}${path}`, {
    method: 'POST',
    headers: {
      'x-api-key': API_KEY,
      'idempotency-key': crypto.randomUUID(),
      ...(body && { 'content-type': 'application/json' }),
    },
    ...(body && { body: JSON.stringify(body) }),
  });
  expect(answer.status).toBeLessThan(300);
  return (await answer.json()) as { id: number };
}

/** Makes a product by hand, with one BOM item, and takes its passport through these steps. */
async function byHand(name: string, steps: readonly ('init' | 'publish' | 'unpublish')[]): Promise<void> {
  const { id } = await post('/api/products/', { sku: `SKU-${name}`, name: 'By hand', status: 'DRAFT' });
  const { id: material } = await post('/api/materials/', { code: `H-${name}`, name: 'By hand' });
  await post('/api/bom-items/', { product: id, material, quantity: '1' });
  for (const step of steps) await post(`/api/dpp/${id}/${step}/`);
}

async function viewed<T>(look: (reads: Reads) => Promise<T>): Promise<T> {
  await using runtime = await world.open();
  return await look(runtime.reads);
}

function load(count: number): void {
  world.writeAll(smallFiles(largeExport(count)));
}

/** Syncs ten products, then makes four of the next ones by hand, and syncs these too. */
async function given({ sandbox = {}, target = {}, creates = 'auto' }: Options): Promise<void> {
  world = await createWorld({
    config: { sources: SMALL_SOURCES, passports: { init: 'when-complete', publish: 'auto' } },
    files: smallFiles(largeExport(10)),
    sandbox: { gates: OPEN_GATES, ...sandbox },
    profile: { ...QUICK, imports: { ...QUICK.imports, creates } },
    target,
  });
  await world.sync();
  const runtime = await world.open();
  await runtime.ledger.storeImportProof('creates', PROVEN);
  await runtime.close();
  await byHand('P11', ['init', 'publish']);
  await byHand('P12', ['init', 'publish', 'unpublish']);
  await byHand('P13', ['init']);
  await byHand('P14', []);
  load(18);
  world.requests();
  await world.sync();
}

interface Options {
  sandbox?: SandboxOptions;
  target?: Record<string, unknown>;
  creates?: 'auto' | 'off';
}

/** The number of BOM items that each product has at the platform. */
function partCounts(): Record<string, number> {
  const { products, bomItems } = world.contents();
  return Object.fromEntries(
    products.map(({ id, sku }) => [text(sku), bomItems.filter(({ product }) => product === id).length]),
  );
}

const publications = (): string[] =>
  world
    .contents()
    .publications.map(({ sku, status }) => `${status === 'published' ? '' : '-'}${text(sku)}`)
    .toSorted();
const MADE_BY_HAND = ['11', '12', '13', '14'];
const ofHand = (published: string[]) => published.filter((sku) => MADE_BY_HAND.some((one) => sku.endsWith(`P${one}`)));

/** A person has found the BOM items at the platform. Returns the requests of the next sync. */
async function settleParts(): Promise<Record<string, number>> {
  const runtime = await world.open();
  await runtime.ledger.answerParts({ products: null, present: true });
  await runtime.close();
  world.requests();
  await world.sync();
  return world.requests();
}

describe('products that an import of new products has changed', () => {
  it.each([
    ['per-row', 'list'],
    ['summary', 'list'],
    ['per-row', 'assume-empty'],
  ] as const)(
    'the BOM items of products that an import has changed wait for a person: %s, firstContact: %s',
    async (answer, firstContact) => {
      await given({ sandbox: { import: { answer } }, target: { firstContact } });
      expect(world.requests()['product.import']).toBeGreaterThan(0);
      expect(world.contents().products).toHaveLength(18);
      const names = world.contents().products.filter(({ name }) => name === 'By hand');
      expect(names).toEqual([]);
      expect(Object.entries(partCounts()).filter(([, count]) => count > 1)).toEqual([]);
      for (const line of MADE_BY_HAND) {
        const item = await viewed((views) => views.item('bom_item', line));
        expect([line, item?.state, item?.reason?.code]).toEqual([line, 'blocked', 'adopted_bom']);
      }
      expect(ofHand(publications())).toEqual(['-SKU-P12', 'SKU-P11']);
    },
  );

  it.each(['per-row', 'summary'] as const)(
    'the publications of products that an import has changed stay as a person left them: %s',
    async (answer) => {
      await given({ sandbox: { import: { answer } } });
      const sent = await settleParts();
      expect(sent['bom_item.create']).toBeUndefined();
      expect(Object.entries(partCounts()).filter(([, count]) => count > 1)).toEqual([]);
      expect(ofHand(publications())).toEqual(['-SKU-P12', 'SKU-P11', 'SKU-P13', 'SKU-P14']);
    },
  );
});

describe('products whose single create says that they were there before', () => {
  it.each([
    ['product.create:updates-known', 'Product 11', null],
    ['product.create:says-exists', 'By hand', 'adopted'],
  ] as const)(
    'a product whose create says that it was there is adopted, with its BOM items and publication: %s',
    async (lie, name, reason) => {
      await given({ sandbox: { lies: [lie] }, creates: 'off' });
      expect(world.requests()).toMatchObject({ 'product.create': 8, 'bom_item.create': 4 });
      expect(world.contents().products.find(({ sku }) => sku === 'SKU-P11')).toMatchObject({ name });
      const product = await viewed((views) => views.item('product', 'P11'));
      expect([product?.remoteId, product?.reason?.code ?? null]).toEqual([expect.any(Number), reason]);
      expect(product?.timeline.map(({ what }) => what)).toContain('adopted');
      for (const line of MADE_BY_HAND) {
        const item = await viewed((views) => views.item('bom_item', line));
        expect([line, item?.reason?.code]).toEqual([line, 'adopted_bom']);
      }
      expect(ofHand(publications())).toEqual(['-SKU-P12', 'SKU-P11']);
    },
  );
});
