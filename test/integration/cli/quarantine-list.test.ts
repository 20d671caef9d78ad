import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { runHere } from '../../support/cli/cli-here.ts';
import { createWorld, type World } from '../../support/worlds/world.ts';

let world: World;
afterEach(() => world.remove());

/** Makes a world with this file, and syncs it. */
async function synced(
  file: string,
  { key = ['SKU'], fields = {} }: { key?: string[]; fields?: Record<string, string> },
) {
  const source = {
    id: 'shop',
    connector: 'csv',
    options: { delimiter: ';' },
    streams: { cups: { path: './cups.csv', ...(key.length > 0 ? { key } : {}) } },
    mappings: [
      { stream: 'cups', to: 'product', key: 'row.SKU', fields: { sku: 'row.SKU', name: 'row.NAME', ...fields } },
    ],
  };
  world = await createWorld({ config: { sources: [source] }, files: { 'cups.csv': file } });
  await runHere(['sync', '-c', world.configFile]);
}

const quarantine = (...args: string[]) => runHere(['quarantine', '-c', world.configFile, ...args]);

describe('the list of quarantined rows', () => {
  it.each([
    ['an empty key', ['SKU'], ';Cup;Enamel;12;\n', 'no key: Cup, Enamel, 12\n'],
    ['an empty key and more values', ['SKU'], ';Cup;Enamel;12;NL\n', 'no key: Cup, Enamel, 12, …\n'],
    ['an empty key, twice', ['SKU'], ';Cup;;;\n;Cup;;;\n', 'cups.csv:3  shop/cups  no key: Cup\n'],
    ['more values than the header', ['SKU'], 'C1;Cup;;;;1;2\n', 'cups.csv:2  shop/cups  C1\n'],
    ['a key', ['SKU'], 'C1;Cup;;1;\n', 'cups.csv:2  shop/cups  C1\n'],
    ['the key of a mapping', [], 'C1;Cup;;1;\n', 'cups.csv:2  shop/cups  C1\n'],
  ])('the list of quarantined rows names a row by its key or its first values: %s', async (_, key, row, name) => {
    await synced(`SKU;NAME;MATERIAL;EAN;LAND\n${row}`, { key, fields: { gtin: 'gtin(row.EAN)' } });
    expect((await quarantine()).stdout).toContain(name);
  });

  it('a row with an error has what to do about it wherever it is shown, also where the item and not an expression is wrong', async () => {
    const key = 'C'.repeat(600);
    await synced(`SKU;NAME\n${key};Cup\n`, {});
    const cure = 'Use fewer columns for the key.';
    expect((await quarantine()).stdout).toContain(`[key.long]\n    ${cure}\n`);
    const file = join(world.folder, 'rows.csv');
    await quarantine('--out', file);
    expect(readFileSync(file, 'utf8')).toContain(cure);
    expect((await quarantine('--json')).stdout).toContain(`"cure":"${cure}"`);
    expect((await runHere(['preview', 'shop', '-c', world.configFile])).stdout).toContain(cure);
  });

  const NAME = 'Enamelled bucket with a lid and a handle of beech wood, 10 l, dark green';

  it('the list of quarantined rows shows the wrong value of an expression that uses several columns', async () => {
    const fields = { description: 'row.NAME + ", " + decimal(row["Weight kg"], ".")' };
    await synced(`SKU;NAME;Weight kg\nC1;${NAME};1,4 kg\n`, { fields });
    const { stdout } = await quarantine();
    expect(stdout).toContain(' Found: Weight kg: 1,4 kg ');
    expect(stdout).not.toContain('bucket');
    const why = await runHere(['why', 'C1', '-c', world.configFile]);
    expect(why.stdout).toContain('found Weight kg: 1,4 kg,');
  });

  it('the list of quarantined rows cuts each long value that no message quotes, and the file has all of it', async () => {
    await synced(`SKU;NAME;N\nC1;${NAME};0\n`, { fields: { description: 'row.NAME + string(1 / int(row.N))' } });
    expect((await quarantine()).stdout).toContain(` Found: NAME: ${NAME.slice(0, 59)}…, N: 0 `);
    const file = join(world.folder, 'rows.csv');
    await quarantine('--out', file);
    expect(readFileSync(file, 'utf8')).toContain(`Found: NAME: ${NAME}, N: 0 `);
  });
});
