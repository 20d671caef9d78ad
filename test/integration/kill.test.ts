import { afterEach, describe, expect, it } from 'vitest';
import type { JsonObject } from '../../src/lib/json.ts';
import { cli, startCli } from '../support/cli.ts';
import { text } from '../support/ledger.ts';
import { describeRedis, type RedisServer, startRedis } from '../support/redis.ts';
import { largeExport, SMALL_SOURCES, smallFiles } from '../support/small-export.ts';
import { createWorld, type World } from '../support/world.ts';

const COUNT = 120;
/** After how many accepted writes the process is killed: in the products, in the materials, in the BOM items. */
const KILLS = [15, 140, 260, 330];

let world: World;
let redis: RedisServer | null = null;
afterEach(async () => {
  await world.remove();
  await redis?.stop();
  redis = null;
});

function accepted(): number {
  const { products, materials, bomItems } = world.contents();
  return products.length + materials.length + bomItems.length;
}

/** Starts a sync and kills it with SIGKILL once the sandbox has accepted this many writes in all. */
async function killAfter(writes: number): Promise<void> {
  const sync = startCli(['sync', '-c', world.configFile, '--json']);
  const watch = setInterval(() => {
    if (accepted() >= writes) sync.signal('SIGKILL');
  }, 2);
  const { signal } = await sync.ended;
  clearInterval(watch);
  expect(signal).toBe('SIGKILL');
}

function occurrences(rows: JsonObject[], field: string): Map<string, number> {
  const counts = new Map<string, number>();
  for (const row of rows) counts.set(text(row[field]), (counts.get(text(row[field])) ?? 0) + 1);
  return counts;
}

interface SyncOutput {
  items: Record<string, Record<string, number>>;
}

async function syncAgain(): Promise<{ code: number | null; output: SyncOutput }> {
  const { exitCode, stdout } = await cli(['sync', '-c', world.configFile, '--json']);
  return { code: exitCode, output: JSON.parse(stdout) as SyncOutput };
}

function suite(queue: 'embedded' | 'redis'): void {
  async function given(honoured: boolean): Promise<void> {
    redis = queue === 'redis' ? await startRedis({ appendonly: true }) : null;
    world = await createWorld({
      config: { sources: SMALL_SOURCES },
      files: smallFiles(largeExport(COUNT)),
      queue: redis?.url ?? 'embedded',
      sandbox: {
        idempotency: honoured ? 'honoured' : 'publish-only',
        // Slow enough that requests are in the air when the process is killed.
        faults: [{ operation: '*', kind: 'latency', ms: 15 }],
      },
      profile: { settlingDelayMs: { reset: 100, timeout: 100 }, ...(honoured ? { idempotency: 'honoured' } : {}) },
    });
  }

  it('has each product, material and BOM item once where keys are honoured', async () => {
    await given(true);
    for (const writes of KILLS) await killAfter(writes);
    const { code, output } = await syncAgain();
    expect(code).toBe(0);
    expect(output.items).toEqual({
      product: { delivered: COUNT },
      material: { delivered: COUNT },
      bom_item: { delivered: COUNT },
    });
    const { products, materials, bomItems } = world.contents();
    expect([...occurrences(products, 'sku').values()]).toEqual(Array(COUNT).fill(1));
    expect([...occurrences(materials, 'code').values()]).toEqual(Array(COUNT).fill(1));
    expect(bomItems).toHaveLength(COUNT);
    expect(new Set(bomItems.map(({ product }) => product)).size).toBe(COUNT);
  }, 180_000);

  it('has each product and material once under the default profile, and lists interrupted BOM items', async () => {
    await given(false);
    for (const writes of KILLS) await killAfter(writes);
    const { code, output } = await syncAgain();
    const doubted = output.items['bom_item']?.['in_doubt'] ?? 0;
    expect(code).toBe(doubted > 0 ? 4 : 0);
    expect(output.items).toMatchObject({ product: { delivered: COUNT }, material: { delivered: COUNT } });
    expect((output.items['bom_item']?.['delivered'] ?? 0) + doubted).toBe(COUNT);
    const { products, materials, bomItems } = world.contents();
    expect([...occurrences(products, 'sku').values()]).toEqual(Array(COUNT).fill(1));
    expect([...occurrences(materials, 'code').values()]).toEqual(Array(COUNT).fill(1));
    // Nothing is doubled, and nothing is lost but what the ledger says it does not know.
    expect(new Set(bomItems.map(({ product }) => product)).size).toBe(bomItems.length);
    expect(bomItems.length).toBeGreaterThanOrEqual(COUNT - doubted);
  }, 180_000);
}

describe('after kill -9 in the middle of a sync', () => {
  describe('with the embedded queue', () => suite('embedded'));
  describeRedis('with Redis', () => suite('redis'));
});
