import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { exitCodeOf } from '../../src/daemon/sync.ts';
import type { SandboxOptions } from '../../src/sandbox/settings.ts';
import { SMALL, SMALL_SOURCES, type SmallExport, smallFiles } from '../support/small-export.ts';
import { createWorld, type World, type WorldOptions } from '../support/world.ts';

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
    config: { sources: SMALL_SOURCES, passports: { init: 'when-complete', publish: 'auto' } },
    files: smallFiles(EXPORT),
    sandbox: { duplicateKeys: 'taken', gates: GATES_OFF, ...sandbox },
    profile: { settlingDelayMs: { reset: 20, timeout: 20 } },
    ...options,
  });
}

/** The workspace holds it all, published, and nobody knows of that any more. */
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
  const runtime = await world.open();
  try {
    return await work(runtime.ledger);
  } finally {
    await runtime.close();
  }
}

const STYLES: [string, SandboxOptions][] = [
  ['as Django REST Framework does', {}],
  ['with cursors, ids as texts and 200', { paging: 'cursor', ids: 'uuid', successCodes: 'ok', envelope: 'data' }],
  ['with a Link header and ids elsewhere', { paging: 'link-header', idAt: 'uuid', successCodes: 'accepted' }],
  ['with bare lists', { paging: 'none', idAt: 'pk', errors: 'problem' }],
];

describe('a workspace that holds everything already, and a new ledger', () => {
  it.each(STYLES)('is not doubled where the platform answers %s', async (_, style) => {
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
