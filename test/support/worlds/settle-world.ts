import { expect } from 'vitest';
import type { SyncReport } from '../../../src/daemon/sync.ts';
import type { Reason } from '../../../src/domain/reason.ts';
import type { SqliteLedger } from '../../../src/ledger/sqlite-ledger.ts';
import type { SandboxOptions } from '../../../src/sandbox/settings/settings.ts';
import {
  bomItem,
  claimOne,
  items,
  mapRows,
  material,
  product,
  pullRows,
  row,
  settleOne,
  text,
} from '../ledger/ledger.ts';
import { withLedger } from '../ledger/world-ledger.ts';
import { changed, SMALL, SMALL_SOURCES, smallFiles } from './small-export.ts';
import { API_KEY, createWorld, type World } from './world.ts';

const KINDS = { P1: product('P1'), M1: material('M1'), B1: bomItem('B1', 'P1', 'M1') };

export const LOST: Reason = { code: 'reset', message: 'The connection was reset.' };

/** What creates the product P1 of `stageLostAnswers` at the platform. */
export const PRODUCT_P1 = { sku: 'SKU-P1', name: 'Product P1', status: 'DRAFT', country_of_origin: 'DE' };
/** What creates the material M1 of `stageLostAnswers` at the platform. */
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
 * Delivers the small export, and then changes the quantities of the BOM items 3 and 4, which the API has no write for.
 * Both are blocked after that.
 */
export async function syncThenBlock(world: World): Promise<SyncReport> {
  await world.sync();
  const lines = changed('lines', '3', { quantity: '7' }).lines.map((line) =>
    line.id === '4' ? { ...line, quantity: '8' } : line,
  );
  for (const [path, content] of Object.entries(smallFiles({ ...SMALL, lines }))) world.write(path, content);
  const report = await world.sync();
  expect(report.items.bom_item).toEqual({ delivered: 2, blocked: 2 });
  return report;
}

/**
 * Stages what is named of the product P1, the material M1 and the BOM item B1 of both. The answers to the creates of
 * product and material are lost; the BOM item waits for them.
 */
export function stageLostAnswers(world: World, keys: readonly (keyof typeof KINDS)[]): Promise<void> {
  return withLedger(world, async (ledger) => {
    await pullRows(ledger, { rows: keys.map((key) => row(key)) });
    await mapRows(ledger, ({ id }) => items(KINDS[text(id) as keyof typeof KINDS]));
    await loseAnswers(ledger);
  });
}

/** Claims what is due, and leaves it unconfirmed. Nothing looks for it at the platform by itself. */
export async function loseAnswers(ledger: SqliteLedger): Promise<void> {
  for (const { id } of await ledger.dueDeliveries({ afterId: 0, limit: 100 })) {
    await claimOne(ledger, id);
    const decision = { kind: 'unconfirmed', nextLookAt: null, spend: true, reason: LOST } as const;
    await settleOne(ledger, { id, decision });
  }
}

/** Creates an item at the platform, past the ledger. Returns the id that the platform gives it. */
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
