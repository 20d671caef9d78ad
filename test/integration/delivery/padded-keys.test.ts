import Database from 'better-sqlite3';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { stringify } from 'yaml';
import { PADDING } from '../../../src/ledger/items/content.ts';
import { runHere } from '../../support/cli/cli-here.ts';
import { createWorld, type World } from '../../support/worlds/world.ts';

const MARK = '\ufeff';
const rows = (...products: [sku: string, name: string][]): string =>
  `sku;name\n${products.map((one) => one.join(';')).join('\n')}\n`;

let world: World;
beforeEach(async () => {
  world = await createWorld({
    config: {
      sources: [
        {
          id: 'erp',
          connector: 'csv',
          options: { path: './a.csv', delimiter: ';', key: ['sku'] },
          mappings: [{ to: 'product', key: 'row.sku', fields: { sku: 'row.sku', name: 'row.name' } }],
        },
      ],
    },
    // Under another natural key, the SKU is sent as it is written.
    profile: { naturalKeys: { product: ['name'] } },
    files: { 'a.csv': rows([`${MARK}A1`, 'Pump'], ['A2   ', 'Seal'], ['A3', 'Valve']) },
  });
  await world.sync();
  makeOld();
  world.requests();
});
afterEach(() => world.remove());

/** Changes the ledger and the profile as if a release had made the items in which padding was a part of keys. */
function makeOld(): void {
  world.write('profile.yaml', stringify({ extends: 'default' }));
  const db = new Database(`${world.folder}/data/ledger.db`);
  db.exec("UPDATE items SET natural_key = desired ->> '$.sku' WHERE kind = 'product'");
  db.close();
}

const products = () => Object.fromEntries(world.contents().products.map(({ sku, name }) => [sku as string, name]));
const run = async (...args: string[]) => (await runHere([...args, '-c', world.configFile])).stdout;

describe('a ledger of a release that sent white space and byte order marks around SKUs', () => {
  it('the next run finds every record and sends nothing, and the history says which key the platform has', async () => {
    const report = await world.sync();
    expect(report.runs).toMatchObject([{ read: 3, missing: 0, quarantined: 0 }]);
    expect(world.requests()).toEqual({});
    expect(await run('show', 'product', 'A1')).toContain(
      'kept key: The platform knows this product as "\\ufeffA1", with characters around its key that nobody can see.',
    );
    expect(await run('show', 'product', 'A3')).not.toContain('kept key');
  });

  it('sync and status say once how many items have their former key at the platform, until a person has changed it', async () => {
    const said = '2 products have their former key at the platform, with white space or a byte order mark around it.';
    for (const command of ['sync', 'status']) {
      const text = await run(command);
      expect(text.split(said)).toHaveLength(2);
      expect(text).toMatch(/show product A1\n/);
      expect(JSON.parse(await run(command, '--json'))).toMatchObject({
        ok: true,
        paddedKeys: [{ kind: 'product', count: 2, example: 'A1' }],
      });
    }
    for (const key of ['A1', 'A2']) {
      await run('replay', '--key', key);
      await run('settle', '--delivered', key);
    }
    expect(await run('sync')).not.toContain('former key');
  });

  it('a later export without the padding changes the same products, and makes no second one', async () => {
    world.write('a.csv', rows(['A1', 'Pump 2'], ['A2', 'Seal 2'], ['A3', 'Valve']));
    const report = await world.sync();
    expect(report.runs).toMatchObject([{ missing: 0, quarantined: 0 }]);
    expect(report.items).toMatchObject({ product: { delivered: 3 } });
    expect(products()).toEqual({ [`${MARK}A1`]: 'Pump 2', 'A2   ': 'Seal 2', A3: 'Valve' });
  });

  it('a person who has changed the key at the platform names the item, and sees both keys', async () => {
    await world.sync();
    await run('replay', '--key', 'A1');
    expect(await run('show', 'product', 'A1')).toContain('"A1" in place of "\\ufeffA1"');
    expect(await run('show', 'product', 'A2')).toContain('delivered');
    await run('settle', '--delivered', 'A1');
    expect((await world.sync()).items).toMatchObject({ product: { delivered: 3 } });
    expect(world.requests()).toEqual({});
  });
});

it('the ledger takes the same characters for padding as the mapping', () => {
  const codes = Array.from({ length: 0x10000 }, (_, code) => code);
  expect(codes.filter((code) => String.fromCharCode(code).trim() === '')).toEqual(PADDING);
});
