import { expect } from 'vitest';
import type { SyncReport } from '../../../src/operations/runtime.ts';
import type { SandboxOptions } from '../../../src/sandbox/settings/settings.ts';
import { loseAnswers } from '../ledger/deliveries.ts';
import { bomItem, items, material, product, text } from '../ledger/items.ts';
import { pullAndMap, row } from '../ledger/records.ts';
import { withLedger } from '../ledger/world-ledger.ts';
import { changed, SMALL, SMALL_SOURCES, smallFiles } from './small-export.ts';
import { API_KEY, createWorld, type World } from './world.ts';

const KINDS = { P1: product('P1'), M1: material('M1'), B1: bomItem('B1', 'P1', 'M1') };

/** The body that creates the product P1 of `stageLostAnswers`. */
export const PRODUCT_P1 = { sku: 'SKU-P1', name: 'Product P1', status: 'DRAFT', country_of_origin: 'DE' };
/** The body that creates the material M1 of `stageLostAnswers`. */
export const MATERIAL_M1 = { code: 'M-M1', name: 'Material M1' };

/** A world of the small export, whose sandbox has no business rules for publishing. */
export function createSettleWorld(queue: string, sandbox: SandboxOptions = {}): Promise<World> {
  const off = { enabled: false };
  return createWorld({
    queue,
    config: { sources: SMALL_SOURCES, passports: { init: 'when-complete', publish: 'manual' } },
    files: smallFiles(SMALL),
    sandbox: { gates: { productComplete: off, bomPresent: off, materialData: off }, ...sandbox },
  });
}

/**
 * Delivers the small export, and then changes the quantities of the BOM items 3 and 4. The API has no write for such a
 * change, so both are blocked.
 */
export async function syncThenBlock(world: World): Promise<SyncReport> {
  await world.sync();
  const lines = changed('lines', '3', { quantity: '7' }).lines.map((line) =>
    line.id === '4' ? { ...line, quantity: '8' } : line,
  );
  world.writeAll(smallFiles({ ...SMALL, lines }));
  const report = await world.sync();
  expect(report.items.bom_item).toEqual({ delivered: 2, blocked: 2 });
  return report;
}

/**
 * Stages the items with these keys: the product P1, the material M1 and their BOM item B1. The answers to the creates
 * of P1 and M1 are lost, and B1 waits for both.
 */
export function stageLostAnswers(world: World, keys: readonly (keyof typeof KINDS)[]): Promise<void> {
  return withLedger(world, async (ledger) => {
    await pullAndMap(
      ledger,
      keys.map((key) => row(key)),
      ({ id }) => items(KINDS[text(id) as keyof typeof KINDS]),
    );
    await loseAnswers(ledger);
  });
}

/** Creates an item on the platform without the ledger. Returns its remote id. */
export async function createAtPlatform(
  { baseUrl }: World,
  kind: 'products' | 'materials',
  body: object,
): Promise<unknown> {
  const headers = { 'x-api-key': API_KEY, 'content-type': 'application/json' };
  const answer = await fetch(`${baseUrl}/api/${kind}/`, { method: 'POST', headers, body: JSON.stringify(body) });
  expect(answer.status).toBe(201);
  return ((await answer.json()) as { id: unknown }).id;
}
