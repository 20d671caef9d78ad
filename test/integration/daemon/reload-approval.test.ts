import { readFileSync } from 'node:fs';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { parse, stringify } from 'yaml';
import { findPackage } from '../../../src/lib/package.ts';
import { runHere } from '../../support/cli/cli-here.ts';
import { runSource, type ServedWorld, startDaemon, WEB_TOKEN } from '../../support/worlds/daemon-world.ts';
import { createWorld, type World } from '../../support/worlds/world.ts';

const ROWS = 'SKU,NAME\nA-1,Kettle\nA-2,Toaster\nA-3,Mixer\n';

let world: World;
let served: ServedWorld;

beforeEach(async () => {
  world = await createWorld({
    config: {
      web: { port: 0, token: WEB_TOKEN },
      sources: [
        {
          id: 'erp',
          connector: 'csv',
          options: { path: './products.csv', key: ['SKU'], delimiter: ',' },
          mappings: [
            { to: 'product', key: 'row.SKU', fields: { sku: 'row.SKU', name: 'row.NAME', country_of_origin: '"DE"' } },
          ],
        },
      ],
    },
    files: { 'products.csv': ROWS },
  });
  served = await startDaemon(world, { version: findPackage().version });
  await runSource(served.daemon, 'erp');
  await expect.poll(() => world.productNames()).toEqual(['Kettle', 'Mixer', 'Toaster']);
});
afterEach(() => served.remove());

interface Settings {
  sources: { approve?: object; mappings: { fields: Record<string, string> }[] }[];
}

/** Changes the mapping of the names, and what a change may do without a person. */
function change(name: string, approve: object | undefined): void {
  const config = parse(readFileSync(world.configFile, 'utf8')) as Settings;
  const [erp] = config.sources;
  if (erp?.mappings[0] === undefined) throw new Error('The config has no mapping.');
  erp.mappings[0].fields['name'] = name;
  erp.approve = approve ?? {};
  if (approve === undefined) delete erp.approve;
  world.write('dpp-sync.yaml', stringify(config));
}

const reload = (...flags: string[]) => runHere(['reload', ...flags, '-c', world.configFile]);

describe('a reload that changes stored rows', () => {
  it('says first what it changes', async () => {
    change('row.SKU == "A-1" ? "Electric kettle" : row.NAME', undefined);
    const { ok, effects } = await served.daemon.reload('person');
    expect([ok, effects]).toEqual([true, { erp: { creates: 0, changes: 1, publish: 0, unpublish: 0 } }]);
    await expect.poll(() => world.productNames()).toEqual(['Electric kettle', 'Mixer', 'Toaster']);
  });

  it('beyond the bounds the former settings stay in use until a person approves that change', async () => {
    change('"New " + row.NAME', { changes: 1 });
    const held = await reload();
    expect(held.exitCode).toBe(4);
    expect(held.stdout).toContain('From the stored rows it would make:\n  erp: 3 changed items\n');
    expect(held.stdout).toContain('3 changed items (erp allows 1) from the stored rows, so it waits for a person.');
    expect((await runHere(['status', '-c', world.configFile])).stdout).toContain(
      'The changed config waits for a decision since',
    );
    // Rows are still mapped as before.
    world.write('products.csv', `${ROWS}A-4,Blender\n`);
    await runSource(served.daemon, 'erp');
    await expect.poll(() => world.productNames()).toEqual(['Blender', 'Kettle', 'Mixer', 'Toaster']);

    // Another change than the one that was shown is shown first.
    change('"Newer " + row.NAME', { changes: 1 });
    expect((await reload('--accept')).exitCode).toBe(4);
    expect(world.productNames()).toEqual(['Blender', 'Kettle', 'Mixer', 'Toaster']);
    expect((await reload('--accept')).exitCode).toBe(0);
    await expect
      .poll(() => world.productNames())
      .toEqual(['Newer Blender', 'Newer Kettle', 'Newer Mixer', 'Newer Toaster']);
  });

  it('within the bounds it is used at once', async () => {
    change('row.SKU == "A-1" ? "Electric kettle" : row.NAME', { changes: 1 });
    expect(await served.daemon.reload('person')).toMatchObject({ ok: true, changed: ['sources.erp'] });
    await expect.poll(() => world.productNames()).toEqual(['Electric kettle', 'Mixer', 'Toaster']);
  });

  it('does not begin to use what has changed before the start of the daemon', async () => {
    await served.daemon.stop();
    change('"New " + row.NAME', { changes: 1 });
    served = await startDaemon(world, { version: findPackage().version });
    expect((await reload()).exitCode).toBe(0);
    await runSource(served.daemon, 'erp');
    expect((await runHere(['status', '-c', world.configFile])).stdout).toContain('A run of erp is held.');
    expect(world.productNames()).toEqual(['Kettle', 'Mixer', 'Toaster']);
  });

  it('another change of a lookup file than the one that was shown is shown first', async () => {
    const config = parse(readFileSync(world.configFile, 'utf8')) as { sources: object[] };
    const lookups = { words: { file: './words.csv', key: 'NAME', value: 'WORD' } };
    config.sources = config.sources.map((source) => ({ ...source, lookups }));
    world.write('words.csv', 'NAME,WORD\nKettle,Kettle\nToaster,Toaster\nMixer,Mixer\n');
    world.write('dpp-sync.yaml', stringify(config));
    change('lookup("words", row.NAME)', { changes: 1 });
    expect((await reload()).exitCode).toBe(0);
    await expect.poll(() => served.daemon.runtime.mapping.busy()).toBe(false);

    world.write('words.csv', 'NAME,WORD\nKettle,Pot\nToaster,Grill\nMixer,Whisk\n');
    expect((await reload()).exitCode).toBe(4);
    world.write('words.csv', 'NAME,WORD\nKettle,Can\nToaster,Oven\nMixer,Spoon\n');
    expect((await reload('--accept')).exitCode).toBe(4);
    expect(world.productNames()).toEqual(['Kettle', 'Mixer', 'Toaster']);
    expect((await reload('--accept')).exitCode).toBe(0);
    await expect.poll(() => world.productNames()).toEqual(['Can', 'Oven', 'Spoon']);
  });

  it('rules for passports that publish more than the bounds allow wait for a person', async () => {
    change('row.NAME', { publish: 1 });
    expect((await reload()).exitCode).toBe(0);
    const config = parse(readFileSync(world.configFile, 'utf8')) as object;
    const passports = { init: 'when-complete', publish: 'auto' };
    world.write('dpp-sync.yaml', stringify({ ...config, passports }));
    const held = await reload();
    expect([held.exitCode, held.stdout]).toEqual([4, expect.stringContaining('3 passports to publish (erp allows 1)')]);
    expect(world.contents().publications).toEqual([]);
  });
});
