import { join } from 'node:path';
import { expect } from 'vitest';
import type { JsonObject } from '../../../src/lib/json.ts';
import type { SyncReport } from '../../../src/operations/runtime.ts';
import { violations } from '../../support/ledger/invariants.ts';
import { text } from '../../support/ledger/items.ts';
import { SMALL, SMALL_SOURCES, type SmallExport, smallFiles } from '../../support/worlds/small-export.ts';
import { API_KEY, createWorld, type World } from '../../support/worlds/world.ts';

const ROOT = join(import.meta.dirname, '../../..');
const LEDGER_FILES = ['', '-wal', '-shm', '-journal', '.lock', '.lock-journal', '.mark'];

/** A world whose sync is interrupted at some point, with a check of the final state. */
export interface CutWorld extends World {
  /** The folder of the ledger. */
  data: string;
  /** The files that the ledger may write, and their folder. strace traces them. */
  paths: string[];
  /** The arguments of Node for `dpp-sync sync`. */
  syncCommand: string[];
  /** Syncs until nothing is left, and compares the sandbox with the source. */
  finish: () => Promise<void>;
}

/**
 * With `honoured` the API and the profile have idempotency keys. Without it, the API ignores the keys, and the profile
 * is the default one.
 */
export async function createCutWorld(options: {
  honoured: boolean;
  queue: string;
  export?: SmallExport;
}): Promise<CutWorld> {
  const { honoured, queue } = options;
  const source = options.export ?? SMALL;
  const world = await createWorld({
    config: { sources: SMALL_SOURCES, passports: { init: 'when-complete', publish: 'auto' } },
    files: smallFiles(source),
    queue,
    sandbox: {
      idempotency: honoured ? 'honoured' : 'ignored',
      gates: { productComplete: { enabled: false }, bomPresent: { enabled: false }, materialData: { enabled: false } },
    },
    profile: {
      list: { lagMs: 0 },
      settlingDelayMs: { reset: 20, timeout: 20 },
      ...(honoured ? { idempotency: 'honoured' } : {}),
    },
  });
  const data = join(world.folder, 'data');
  return {
    ...world,
    data,
    paths: [world.folder, data, ...LEDGER_FILES.map((suffix) => join(data, `ledger.db${suffix}`))],
    syncCommand: [join(ROOT, 'src/launcher.mjs'), 'sync', '--json', '-c', world.configFile],
    async finish() {
      const report = await world.sync();
      // Only the test decides whether a queue that cannot be reached is an error.
      if (report.fault?.code === 'queue.unreachable') throw report.fault;
      expect(report.fault).toBeNull();
      expectNothingLostOrDoubled({ world, source, report, honoured });
      const platform = world.sandbox.inspect();
      const bomItems = honoured ? 'delivered' : 'or_unconfirmed';
      const evidence = { ledgerFile: join(data, 'ledger.db'), platform, source, bomItems, secrets: [API_KEY] } as const;
      // The comparison above has shown which passports have to be published.
      const published = world.contents().publications.map(({ sku }) => text(sku));
      expect(violations({ ...evidence, published })).toEqual([]);
    },
  };
}

interface Ending {
  world: World;
  source: SmallExport;
  report: SyncReport;
  honoured: boolean;
}

function expectNothingLostOrDoubled({ world, source, report, honoured }: Ending): void {
  const { products, materials, bomItems, passports, publications } = world.contents();
  const unconfirmed = report.items.bom_item?.in_doubt ?? 0;
  if (honoured) expect(unconfirmed).toBe(0);
  expect(report.items).toEqual({
    product: { delivered: source.products.length },
    material: { delivered: source.materials.length },
    bom_item: compact({ delivered: source.lines.length - unconfirmed, in_doubt: unconfirmed }),
  });
  expect(sorted(products, 'name')).toEqual(source.products.map(({ name }) => name).toSorted());
  expect(sorted(products, 'sku')).toEqual(source.products.map(({ id }) => `SKU-${id}`).toSorted());
  expect(sorted(materials, 'code')).toEqual(source.materials.map(({ id }) => id).toSorted());
  // A BOM item that may be on the platform is listed as unconfirmed. No BOM item is there twice.
  expect(bomItems.length).toBeLessThanOrEqual(source.lines.length);
  expect(bomItems.length).toBeGreaterThanOrEqual(source.lines.length - unconfirmed);
  expect(new Set(bomItems.map(({ product, quantity }) => JSON.stringify([product, quantity]))).size).toBe(
    bomItems.length,
  );
  // A product with an unconfirmed BOM item is incomplete. Each other product is published once.
  const { published = 0, ...open } = report.passports;
  expect(open).toEqual(compact({ incomplete: source.products.length - published }));
  expect(source.products.length - published).toBeLessThanOrEqual(unconfirmed);
  expect(passports).toHaveLength(published);
  expect(new Set(publications.map(({ sku }) => sku)).size).toBe(publications.length);
  expect(publications).toHaveLength(published);
}

function compact<T extends Record<string, number>>(counts: T): Partial<T> {
  return Object.fromEntries(Object.entries(counts).filter(([, count]) => count !== 0)) as Partial<T>;
}

function sorted(rows: readonly JsonObject[], field: string): string[] {
  return rows.map((row) => text(row[field])).toSorted();
}
