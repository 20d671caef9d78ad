import { afterEach, describe, expect, it } from 'vitest';
import { runHere } from '../../support/cli/cli-here.ts';
import { createWorld, type World } from '../../support/worlds/world.ts';

let world: World;
afterEach(() => world.remove());

/** What `quarantine` prints after a sync of this file. */
async function listed(file: string, key: string[] = ['SKU']): Promise<string> {
  const mapping = {
    stream: 'cups',
    to: 'product',
    key: 'row.SKU',
    fields: { sku: 'row.SKU', name: 'row.NAME', gtin: 'gtin(row.EAN)' },
  };
  const source = {
    id: 'shop',
    connector: 'csv',
    options: { delimiter: ';' },
    streams: { cups: { path: './cups.csv', ...(key.length > 0 ? { key } : {}) } },
    mappings: [mapping],
  };
  world = await createWorld({ config: { sources: [source] }, files: { 'cups.csv': file } });
  await runHere(['sync', '-c', world.configFile]);
  const { stdout } = await runHere(['quarantine', '-c', world.configFile]);
  return stdout;
}

describe('the list of quarantined rows', () => {
  it.each([
    ['an empty key', ['SKU'], ';Cup;Enamel;12;\n', 'no key: Cup, Enamel, 12\n'],
    ['an empty key and more values', ['SKU'], ';Cup;Enamel;12;NL\n', 'no key: Cup, Enamel, 12, …\n'],
    ['an empty key, twice', ['SKU'], ';Cup;;;\n;Cup;;;\n', 'cups.csv:3  shop/cups  no key: Cup\n'],
    ['more values than the header', ['SKU'], 'C1;Cup;;;;1;2\n', 'cups.csv:2  shop/cups  C1\n'],
    ['a key', ['SKU'], 'C1;Cup;;1;\n', 'cups.csv:2  shop/cups  C1\n'],
    ['a stream without keys', [], 'C1;Cup;;1;\n', 'no key: C1, Cup, 1\n'],
  ])('the list of quarantined rows names a row by its key or its first values: %s', async (_, key, row, name) => {
    expect(await listed(`SKU;NAME;MATERIAL;EAN;LAND\n${row}`, key)).toContain(name);
  });
});
