import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { type Clock, systemClock } from '../../../src/lib/clock.ts';
import type { SyncReport } from '../../../src/operations/runtime.ts';
import type { JsonObject } from '../../../src/sdk/index.ts';
import { text } from '../ledger/items.ts';
import { scaled } from '../runner/chaos.ts';
import { REPOSITORY } from '../worlds/config-folder.ts';
import { createWorld, type World } from '../worlds/world.ts';
import type { RestServer } from './rest-server.ts';

export interface PresetWorldOptions {
  /** The values of the variables in the preset. */
  env: Record<string, string>;
  /** How many rows a page has, in place of the size in the preset. */
  size?: number;
  /** Changes the sources of the preset. */
  change?: (sources: PresetSource[]) => void;
  /** How much later than the clock of the machine it is for dpp-sync, in milliseconds. */
  laterMs?: () => number;
}

export function textOfPreset(preset: string): string {
  return readFileSync(join(REPOSITORY, `config/presets/${preset}.yaml`), 'utf8');
}

export interface PresetSource {
  options: JsonObject;
  guard: JsonObject;
  streams: Record<string, JsonObject & { page: JsonObject }>;
}

/** The sources of a preset for a server of the test. */
function sourcesOfPreset(
  preset: string,
  { env, size, change }: Pick<PresetWorldOptions, 'env' | 'size' | 'change'>,
): PresetSource[] {
  const sources = sourcesIn(textOfPreset(preset), { env, size });
  change?.(sources);
  return sources;
}

/** The sources in the text of a config, with small pages, and as fast as the server answers. */
export function sourcesIn(
  text: string,
  { env, size }: { env: Record<string, string>; size?: number | undefined },
): PresetSource[] {
  const filled = text.replaceAll(
    /\$\{(\w+)(?::-([^}]*))?\}/g,
    (whole, name: string, otherwise?: string) => env[name] ?? otherwise ?? whole,
  );
  const { sources } = parse(filled) as { sources: PresetSource[] };
  for (const { options, streams } of sources) {
    options['limits'] = { ...(options['limits'] as JsonObject), perSecond: 1000 };
    for (const { page } of Object.values(streams)) if ('size' in page && size !== undefined) page['size'] = size;
  }
  return sources;
}

/** A world with the sources of a preset, which publishes passports as soon as they are complete. */
export function createPresetWorld(preset: string, options: PresetWorldOptions): Promise<World> {
  const { laterMs = () => 0 } = options;
  const clock: Clock = { ...systemClock, now: () => systemClock.now() + laterMs() };
  return createWorld({
    clock,
    config: {
      sources: sourcesOfPreset(preset, options),
      passports: { init: 'when-complete', publish: 'auto' },
    },
    sandbox: {
      gates: { productComplete: { enabled: false }, bomPresent: { enabled: false }, materialData: { enabled: false } },
    },
  });
}

/** Every third request in the usual test run, and every request with `DPP_SYNC_TEST_CHAOS=full`. */
const STEP = scaled(3, 1);

/**
 * Stops a sync while a request is answered: at the first request, then in a new world at a later one, and so on until a sync ends
 * before. After each stop the sync runs again.
 *
 * @param check gets the world after that
 * @returns how many requests a whole sync sends
 */
export async function stopAtEachRequest(
  server: Pick<RestServer, 'calls' | 'onCall'>,
  begin: () => Promise<World>,
  check: (world: World) => void,
): Promise<number> {
  for (let number = 1; ; number += STEP) {
    const world = await begin();
    try {
      const abort = new AbortController();
      const before = server.calls.length;
      server.onCall = (at) => at === before + number && abort.abort();
      await world.sync({ abort: abort.signal });
      server.onCall = null;
      if (!abort.signal.aborted) return server.calls.length - before;
      await world.sync();
      check(world);
    } finally {
      await world.remove();
    }
  }
}

/** What the run of a stream has counted. */
export function runOf({ runs }: SyncReport, stream: string) {
  return runs.find((run) => run.stream === stream);
}

/** The content of the platform: one text for each item, and the SKUs with a published passport. */
export function deliveredTo(world: World) {
  const { products, materials, bomItems, publications } = world.contents();
  const skuOf = (id: unknown) => text(products.find((one) => one['id'] === id)?.['sku']);
  const codeOf = (id: unknown) => text(materials.find((one) => one['id'] === id)?.['code']);
  const published = publications.filter(({ status }) => status === 'published');
  return {
    products: products.map(({ sku, name }) => `${text(sku)} ${text(name)}`).toSorted(),
    materials: materials.map(({ code, name }) => `${text(code)} ${text(name)}`).toSorted(),
    bomItems: bomItems
      .map(({ product, component, material, quantity, unit }) => {
        const part = component === null ? codeOf(material) : skuOf(component);
        return `${skuOf(product)} ← ${text(quantity)} ${text(unit)} ${part}`;
      })
      .toSorted(),
    published: published.map(({ sku }) => text(sku)).toSorted(),
  };
}
