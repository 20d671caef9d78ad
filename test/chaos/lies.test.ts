import { afterEach, expect, it } from 'vitest';
import { exitCodeOf } from '../../src/observe/standing.ts';
import type { SyncReport } from '../../src/operations/runtime.ts';
import { LIE_NAMES, type LieName } from '../../src/sandbox/lies/lies.ts';
import type { SandboxOptions } from '../../src/sandbox/settings/settings.ts';
import { covers } from '../support/docs/reliability.ts';
import { text } from '../support/ledger/items.ts';
import { chaosSeed, IS_FULL, seededRandom } from '../support/runner/chaos.ts';
import { quickQueue } from '../support/servers/quick-queue.ts';
import { largeExport, SMALL_SOURCES, type SmallExport, smallFiles } from '../support/worlds/small-export.ts';
import { API_KEY, createWorld, type World } from '../support/worlds/world.ts';

// Each lie of the sandbox, over real HTTP. The model plays many scripts over them (`model/lying-platform.test.ts`); this
// test shows that the exit code of `sync` agrees with the platform.

const queue = quickQueue();
let world: World;
afterEach(() => world.remove());

const COUNT = 9;
/** Imports of more than one product, more than once. */
const IMPORTS = { createsMin: 3, membersMax: 4, settlesWithinMs: 100 };
const SOURCE = largeExport(COUNT);
/** More products, which are sent in imports once the first import has proven itself, and other names of the old ones. */
const LATER: SmallExport = renamed(largeExport(COUNT + 6), COUNT);

function renamed({ products, materials, lines }: SmallExport, count: number): SmallExport {
  const rename = <T extends { name: string }>(one: T, at: number): T =>
    at < count ? { ...one, name: `${one.name} (new)` } : one;
  return { products: products.map(rename), materials: materials.map(rename), lines };
}

async function given(lie: LieName, sandbox: SandboxOptions): Promise<void> {
  world = await createWorld({
    queue: queue(),
    config: { sources: SMALL_SOURCES, passports: { init: 'when-complete', publish: 'auto' } },
    files: smallFiles(SOURCE),
    sandbox: { gates: { materialData: { enabled: false } }, ...sandbox },
    profile: {
      settlingDelayMs: { reset: 50, timeout: 200 },
      retry: { attemptsMax: 3, backoff: { baseMs: 20, capMs: 100 } },
      list: { lagMs: 0 },
      imports: IMPORTS,
    },
  });
  // Other people have items too, whose ids the platform may name by mistake.
  await create('/api/products/', { sku: 'FOREIGN', name: 'Foreign' });
  await create('/api/materials/', { code: 'FOREIGN', name: 'Foreign' });
  world.sandbox.setLies([lie]);
}

async function create(path: string, body: object): Promise<void> {
  const headers = { 'X-API-Key': API_KEY, 'Content-Type': 'application/json' };
  const { status } = await fetch(world.baseUrl + path, { method: 'POST', headers, body: JSON.stringify(body) });
  expect(status).toBe(201);
}

const sorted = (values: unknown[]) => values.map(text).toSorted();

/** What the platform has although nobody has asked for it. */
function wrongs(): string[] {
  const { products, materials, bomItems, passports, publications } = world.contents();
  const skuOf = new Map(products.map(({ id, sku }) => [id, text(sku)]));
  const codeOf = new Map(materials.map(({ id, code }) => [id, text(code)]));
  const lines = bomItems.map(({ product, material }) => [skuOf.get(product ?? null), codeOf.get(material ?? null)]);
  const foreign = [...passports, ...publications].filter(({ sku }) => sku === 'FOREIGN');
  return [
    ...lines.filter(([sku, code]) => sku !== `SKU-P${text(code).slice(1)}`).map((line) => `BOM item ${line.join(' ')}`),
    ...foreign.map(() => 'a passport of a foreign product'),
    ...(new Set(lines.map(String)).size < lines.length ? ['a BOM item twice'] : []),
  ];
}

/** How many products have the SKU of another one. */
function doubled(): number {
  const skus = world.contents().products.map(({ sku }) => sku);
  return skus.length - new Set(skus).size;
}

/** A lie that doubles has doubled something before a proof shows it. */
const DOUBLES_MAX: Partial<Record<LieName, number>> = {
  'product.import:doubles-known': 1,
  'product.import:doubles-from-two': IMPORTS.membersMax,
};

/** Nothing shows these lies: no list has BOM items, and the answer is as bare as those of an honest platform may be. */
const UNSEEN: ReadonlySet<LieName> = new Set(['bom_item.create:ignored']);

/** Checks that the platform has the source, if the sync has said so. */
function expectTruth(report: SyncReport, lie: LieName, source: SmallExport): void {
  expect(wrongs()).toEqual([]);
  expect(doubled()).toBeLessThanOrEqual(DOUBLES_MAX[lie] ?? 0);
  if (exitCodeOf(report) !== 0 || UNSEEN.has(lie)) return;
  expect(doubled(), 'doubled, with exit 0').toBe(0);
  const { products, materials, bomItems, publications } = world.contents();
  const own = <T extends { sku?: unknown; code?: unknown }>(list: T[]) =>
    list.filter(({ sku, code }) => (sku ?? code) !== 'FOREIGN');
  expect(sorted(own(products).map(({ sku }) => sku))).toEqual(sorted(source.products.map(({ id }) => `SKU-${id}`)));
  expect(sorted(own(products).map(({ name }) => name))).toEqual(sorted(source.products.map(({ name }) => name)));
  expect(sorted(own(materials).map(({ name }) => name))).toEqual(sorted(source.materials.map(({ name }) => name)));
  expect(bomItems).toHaveLength(source.lines.length);
  expect(sorted(publications.map(({ sku }) => sku))).toEqual(sorted(source.products.map(({ id }) => `SKU-${id}`)));
}

/** The number of lies that the quick run tells. */
const TOLD = 5;
const IDS = ['numeric', 'uuid'] as const;
const cases = LIE_NAMES.flatMap((lie) => IDS.map((ids) => [lie, ids] as const));
const random = seededRandom(chaosSeed());
const drawn = cases.map((one) => ({ one, order: random() })).toSorted((a, b) => a.order - b.order);
/** The quick run tells a few lies of all. */
const told = IS_FULL ? cases : drawn.slice(0, TOLD).map(({ one }) => one);

it.each(told)(
  'a sync ends, and with 0 only if the platform has everything, under the lie %s with %s ids',
  covers(['platform-lies'], 'I4', 'I6'),
  async (lie, ids) => {
    await given(lie, { ids });
    expectTruth(await world.sync({ waitMs: 5000 }), lie, SOURCE);
    world.writeAll(smallFiles(LATER));
    expectTruth(await world.sync({ waitMs: 5000 }), lie, LATER);
  },
);
