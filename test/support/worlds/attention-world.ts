// A world whose rows are stuck for the causes that people work on: a state that the lookup table lacks, a country that
// the mapping does not know, and products that the platform refuses.

import iconv from 'iconv-lite';
import type { SandboxOptions } from '../../../src/sandbox/settings/settings.ts';
import { refuseCreates, WEB_TOKEN } from './daemon-world.ts';
import { createWorld, type World } from './world.ts';

const SOURCE = {
  id: 'erp',
  connector: 'csv',
  options: { path: './products.csv', key: ['SKU'], delimiter: ';', encoding: 'windows-1252' },
  lookups: { states: { file: './states.csv', key: 'key', value: 'value' } },
  mappings: [
    {
      to: 'product',
      key: 'row.SKU',
      fields: {
        sku: 'row.SKU',
        name: 'row.NAME',
        status: 'lookup("states", row.STATE)',
        country_of_origin: 'country(lookup("countries.csv", row.LAND, row.LAND))',
      },
    },
  ],
  guard: { maxMissing: '20%', maxDrop: '20%' },
};

/** The file of the source with these rows. */
export function attentionExport(rows: readonly string[]): Buffer {
  return iconv.encode(`SKU;NAME;STATE;LAND\r\n${rows.join('\r\n')}\r\n`, 'windows-1252');
}

export interface AttentionOptions {
  rows: readonly string[];
  /** Further sections of the config. */
  config?: Record<string, unknown>;
  sandbox?: SandboxOptions;
}

/** Creates a world that has synced these rows once. The platform refuses the products whose key begins with B-. */
export async function createAttentionWorld({ rows, config, sandbox = {} }: AttentionOptions): Promise<World> {
  const world = await createWorld({
    config: { web: { port: 0, token: WEB_TOKEN }, sources: [SOURCE], ...config },
    files: {
      'products.csv': attentionExport(rows),
      'states.csv': 'key,value\n10,DRAFT\n20,ARCHIVED\n',
      'countries.csv': 'key,value\nDeutschland,DE\n',
    },
    sandbox,
  });
  refuseCreates(world, 'B-');
  await world.sync();
  return world;
}
