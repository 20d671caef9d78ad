import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { runHere } from '../../support/cli/cli-here.ts';
import { fixtureFolder } from '../../support/connectors/connector-reader.ts';
import { loadText, REPOSITORY } from '../../support/worlds/config-folder.ts';
import { API_KEY, createWorld, type World } from '../../support/worlds/world.ts';

let world: World | undefined;
afterEach(async () => {
  await world?.remove();
  world = undefined;
});

const fixture = (id: string, name: string) => readFileSync(join(fixtureFolder(id), name));

const PRESETS = [
  {
    preset: 'bmecat-2005',
    files: { 'exports/catalog-2005.xml': fixture('bmecat', 'catalog-2005.xml') },
    items: { products: 2, materials: 0, bomItems: 2 },
    product: { sku: 'TW-0100', name: 'Rohrventilator 100 mm', gtin: '04006381333931', country_of_origin: 'DE' },
  },
  {
    preset: 'bmecat-1.2',
    files: { 'exports/catalog-1.2.xml': fixture('bmecat', 'catalog-1.2.xml') },
    items: { products: 2, materials: 0, bomItems: 2 },
    product: { sku: 'TW-0100', name: 'Rohrventilator 100 mm', gtin: '04006381333931' },
  },
  {
    preset: 'gdsn',
    files: { 'inbox/notification.xml': fixture('gdsn', 'notification.xml') },
    items: { products: 1, materials: 0, bomItems: 0 },
    product: { sku: '04006381333931', name: 'Rohrventilator 100 mm', country_of_origin: 'DE' },
  },
  {
    preset: 'sap-idoc',
    files: {
      'idocs/matmas-1.xml': fixture('sap-idoc', 'matmas.xml'),
      'idocs/bommat-1.xml': fixture('sap-idoc', 'bommat.xml'),
    },
    items: { products: 1, materials: 1, bomItems: 2 },
    product: { sku: '000000000000000100', name: 'Rohrventilator 100 mm', gtin: '04006381333931' },
  },
];

describe.each(PRESETS)('the preset $preset', ({ preset, files, items, product }) => {
  const text = readFileSync(join(REPOSITORY, `config/presets/${preset}.yaml`), 'utf8');

  it('each XML preset is a whole config without a problem', async () => {
    const env = { DPP_BASE_URL: 'https://dpp.example.com', DPP_API_KEY: API_KEY };
    const { sources } = await loadText(text, { env });
    expect(sources).toHaveLength(1);
  });

  it('each XML preset previews and syncs its fixtures without an issue', async () => {
    const { sources } = parse(text) as { sources: { id: string }[] };
    world = await createWorld({ config: { sources }, files });
    const preview = await runHere(['preview', sources[0]?.id ?? '', '-c', world.configFile, '--json']);
    expect(preview.exitCode).toBe(0);
    expect(preview.stdout).not.toContain('"issues":[{');
    const report = await world.sync();
    for (const run of report.runs) expect(run).toMatchObject({ quarantined: 0, missing: 0 });
    const contents = world.contents();
    expect({
      products: contents.products.length,
      materials: contents.materials.length,
      bomItems: contents.bomItems.length,
    }).toEqual(items);
    expect(contents.products).toContainEqual(expect.objectContaining(product));
    world.requests();
    await world.sync();
    expect(world.requests()).toEqual({});
  });
});
