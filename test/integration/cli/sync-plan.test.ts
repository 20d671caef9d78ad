import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { stringify } from 'yaml';
import { runHere } from '../../support/cli/cli-here.ts';
import { API_KEY, createWorld, type World } from '../../support/worlds/world.ts';

const PRODUCTS = 'SKU,NAME,STATE\nA-1,Pump,1\nA-2,Valve,1\nA-3,Filter,2\n';
const STATES = 'code,word\n1,ACTIVE\n2,DRAFT\n';

const MAPPING = {
  stream: 'default',
  to: 'product',
  key: 'row.SKU',
  fields: { sku: 'row.SKU', name: 'row.NAME', status: 'lookup("states", row.STATE)' },
};

function sources(mapping: object = MAPPING) {
  return [
    {
      id: 'erp',
      connector: 'csv',
      options: { delimiter: ',' },
      lookups: { states: { file: './states.csv', key: 'code', value: 'word' } },
      streams: { default: { path: './products.csv', key: ['SKU'] } },
      mappings: [mapping],
    },
  ];
}

let world: World;
let file: string;

beforeEach(async () => {
  world = await createWorld({
    config: { sources: sources() },
    files: { 'products.csv': PRODUCTS, 'states.csv': STATES },
  });
  file = join(world.folder, 'plan.jsonl');
});
afterEach(() => world.remove());

const dpp = (...args: string[]) => runHere([...args, '-c', world.configFile]);

async function planned(): Promise<void> {
  const { exitCode: code, stderr } = await dpp('plan', '--out', file);
  expect([code, stderr]).toEqual([0, expect.not.stringContaining('error')]);
}

async function refused(): Promise<string> {
  const before = world.contents();
  const ledger = readdirSync(join(world.folder, 'data'));
  const { exitCode: code, stdout } = await dpp('sync', '--plan', file, '--json');
  const { error } = JSON.parse(stdout) as { error: { code: string; message: string } };
  expect([code, error.code]).toEqual([2, 'plan.stale']);
  expect(world.contents()).toEqual(before);
  expect(readdirSync(join(world.folder, 'data')).filter((name) => !ledger.includes(name))).toEqual([]);
  return error.message;
}

/** Changes settings of the config. */
function configured(change: object): void {
  const config = { target: { baseUrl: world.baseUrl, apiKey: API_KEY }, queue: 'embedded', ledger: './data/ledger.db' };
  world.write('dpp-sync.yaml', stringify({ ...config, sources: sources(), ...change }));
}

describe('sync --plan', () => {
  it('a plan is applied as it was shown, and nothing is left to plan', async () => {
    await planned();
    expect((await dpp('sync', '--plan', file)).exitCode).toBe(0);
    expect(world.productNames()).toEqual(['Filter', 'Pump', 'Valve']);
    expect((await dpp('plan', '--exit-code')).exitCode).toBe(0);

    world.write('products.csv', PRODUCTS.replace('Pump', 'Steel pump'));
    expect((await dpp('plan', '--exit-code', '--out', file)).exitCode).toBe(4);
    expect((await dpp('sync', '--plan', file)).exitCode).toBe(0);
    expect(world.productNames()).toEqual(['Filter', 'Steel pump', 'Valve']);
  });

  it('a row that changes while a plan is applied is not sent', async () => {
    await dpp('sync');
    world.write('products.csv', PRODUCTS.replace('Pump', 'Steel pump'));
    await planned();
    const runtime = await world.open();
    try {
      const prepared = await runtime.preparePlanned(file, new AbortController().signal, 10_000);
      world.write('products.csv', PRODUCTS.replace('Pump', 'Copper pump').replace('Valve', 'Copper valve'));
      const { sync } = await import('../../../src/daemon/sync.ts');
      const { systemClock } = await import('../../../src/lib/clock.ts');
      const applying = { ...runtime, preparePlanned: () => Promise.resolve(prepared) };
      await sync(
        applying,
        { sources: [], plan: file, waitMs: 10_000, abort: new AbortController().signal },
        systemClock,
      );
    } finally {
      await runtime.close();
    }
    expect(world.productNames()).toEqual(['Filter', 'Steel pump', 'Valve']);
    await dpp('sync');
    expect(world.productNames()).toEqual(['Copper pump', 'Copper valve', 'Filter']);
  });

  const CHANGES: [what: string, change: () => Promise<unknown> | void, named: string][] = [
    [
      'rows',
      () => world.write('products.csv', PRODUCTS.replace('Valve', 'Valve 2')),
      'the rows of erp/default have changed',
    ],
    [
      'rows that make the same items',
      () => world.write('products.csv', 'SKU,NAME,STATE,NOTE\nA-1,Steel pump,1,x\nA-2,Valve,1,\nA-3,Filter,2,\n'),
      'the rows of erp/default have changed',
    ],
    [
      'the mapping',
      () => configured({ sources: sources({ ...MAPPING, fields: { ...MAPPING.fields, name: '"The " + row.NAME' } }) }),
      'the mapping of erp has changed',
    ],
    [
      'a lookup file',
      () => world.write('states.csv', STATES.replace('DRAFT', 'RETIRED')),
      'the lookup table erp/states has changed',
    ],
    [
      'the profile',
      () => {
        world.write('profile.yaml', stringify({ extends: 'default', productUpdate: 'none' }));
        configured({ target: { baseUrl: world.baseUrl, apiKey: API_KEY, profile: './profile.yaml' } });
      },
      'the profile has changed',
    ],
    [
      'a rule of the config',
      () => configured({ sources: sources().map((source) => ({ ...source, onMissing: 'ignore' })) }),
      "the config's rules for sources or passports have changed",
    ],
    ['an item, by another sync', () => dpp('sync'), 'nothing is left to send for product A-1'],
  ];

  it.each(CHANGES)('a plan is refused if this has changed since: %s', async (_, change, named) => {
    await dpp('sync');
    world.write('products.csv', PRODUCTS.replace('Pump', 'Steel pump'));
    await planned();
    await change();
    expect(await refused()).toContain(named);
  });

  it('a plan of another platform is refused', async () => {
    await dpp('sync');
    world.write('products.csv', PRODUCTS.replace('Pump', 'Steel pump'));
    await planned();
    const text = readFileSync(file, 'utf8');
    writeFileSync(file, text.replaceAll(world.baseUrl, 'https://dpp.example.com'));
    expect(await refused()).toContain('the platform has changed');
  });

  it('a plan of a source that the config has no more is refused', async () => {
    await dpp('sync');
    await planned();
    configured({ sources: sources().map((source) => ({ ...source, id: 'other' })) });
    expect(await refused()).toContain('no source erp');
  });

  const BROKEN: [what: string, broken: (text: string) => string, message: RegExp][] = [
    ['is empty', () => '', /empty/],
    ['is no JSON', (text) => text.replace('{"type":"item"', '{type:'), /line 2: this is no JSON object/],
    ['was cut', (text) => text.split('\n').slice(0, 2).join('\n'), /was not written to its end/],
    ['lacks an item', (text) => text.split('\n').toSpliced(1, 1).join('\n'), /the file was changed/],
    ['has another value', (text) => text.replace('"new":"Pump"', '"new":"Pumps"'), /the file was changed/],
    ['has a line behind its end', (text) => `${text}{"type":"item"}\n`, /behind the summary/],
    ['shows what a config changes', (text) => text.replace('"of":"sync"', '"of":"config"'), /cannot be applied/],
    ['has an unknown action', (text) => text.replace('"action":"create', '"action":"creat'), /line 2: action/],
  ];

  it.each(BROKEN)('a file is refused that %s', async (_, broken, message) => {
    await planned();
    writeFileSync(file, broken(readFileSync(file, 'utf8')));
    const { exitCode: code, stderr } = await dpp('sync', '--plan', file);
    expect([code, stderr]).toEqual([2, expect.stringMatching(message)]);
    expect(world.productNames()).toEqual([]);
  });

  it('a plan takes no other sources, and a missing file is named', async () => {
    await planned();
    expect((await dpp('sync', 'erp', '--plan', file)).stderr).toContain('--plan names its sources itself');
    expect((await dpp('sync', '--accept', 'erp', '--plan', file)).exitCode).toBe(2);
    const { exitCode: code, stderr } = await dpp('sync', '--plan', join(world.folder, 'none.jsonl'));
    expect([code, stderr]).toEqual([2, expect.stringContaining('none.jsonl cannot be read')]);
  });
});
