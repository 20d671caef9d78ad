import { readFileSync } from 'node:fs';
import { expect, vi } from 'vitest';
import { parse, stringify } from 'yaml';
import type { JsonObject } from '../../../src/sdk/index.ts';
import { runHere } from '../../support/cli/cli-here.ts';
import { filesOfPage } from '../../support/docs/page-files.ts';
import { API_KEY, createWorld, type World } from '../../support/worlds/world.ts';

/** The content of the platform after a sync: one text for each item. A BOM item has the form `A-1 ← 2 KGM A-2`. */
export interface Delivered {
  products: string[];
  materials: string[];
  bomItems: string[];
}

export interface ExampleSetup {
  /** Replaces the options of the source, if the source of the example is a server. */
  options?: JsonObject;
  /** Called with the folder and the files of the page, before the config is checked. */
  prepare?: (folder: string, files: Record<string, string | Uint8Array>) => void | Promise<void>;
}

/** Writes the files that a page of docs/connectors shows into a folder, checks its config, and syncs with the sandbox. */
export async function syncExample(page: string, { options, prepare }: ExampleSetup = {}): Promise<Delivered> {
  const world = await createWorld({ config: {} });
  try {
    const files = filesOfPage(page);
    world.writeAll(files);
    if (options !== undefined) replaceOptions(world, options);
    await prepare?.(world.folder, files);
    vi.stubEnv('DPP_BASE_URL', world.baseUrl);
    vi.stubEnv('DPP_API_KEY', API_KEY);
    const checked = (await runHere(['check', '-c', world.configFile, '--json'])).json();
    expect(checked['error']).toBeUndefined();
    expect(checked).toMatchObject({ ok: true, config: { warnings: [] } });
    expect(await world.sync()).toMatchObject({ failedRuns: [], quarantined: 0, left: 0 });
    return delivered(world);
  } finally {
    vi.unstubAllEnvs();
    await world.remove();
  }
}

function replaceOptions(world: World, options: JsonObject): void {
  const config = parse(readFileSync(world.configFile, 'utf8')) as { sources: [JsonObject] };
  config.sources[0]['options'] = options;
  world.write('dpp-sync.yaml', stringify(config));
}

function delivered(world: World): Delivered {
  const { products, materials, bomItems } = world.contents();
  const skuOf = (id: unknown) => listed(products.find((one) => one['id'] === id)?.['sku']);
  const codeOf = (id: unknown) => listed(materials.find((one) => one['id'] === id)?.['code']);
  return {
    products: products.map((one) => listed(one['sku'], one['name'], one['country_of_origin'], one['gtin'])),
    materials: materials.map((one) => listed(one['code'], one['name'])),
    // BOM items are created at the same time, in any order.
    bomItems: bomItems
      .map(({ product, component, material, quantity, unit }) => {
        const part = component === null ? codeOf(material) : skuOf(component);
        return `${skuOf(product)} ← ${textsOf(quantity, unit).join(' ')} ${part}`;
      })
      .toSorted(),
  };
}

function listed(...values: unknown[]): string {
  return textsOf(...values).join(', ');
}

function textsOf(...values: unknown[]): string[] {
  return values.filter((value) => typeof value === 'string');
}
