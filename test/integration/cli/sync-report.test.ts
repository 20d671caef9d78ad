import { readFileSync } from 'node:fs';
import { afterEach, describe, expect, it } from 'vitest';
import { parse, stringify } from 'yaml';
import { runHere } from '../../support/cli/cli-here.ts';
import { API_KEY, createWorld, type World } from '../../support/worlds/world.ts';

const HEADER = 'SKU;NAME;COUNTRY\n';
const GOOD_ROW = 'C1;Cup;DE\n';
const WRONG_ROW = 'C2;Mug;XX\n';

let world: World;
afterEach(() => world.remove());

async function begin(rows: string, config: Record<string, unknown> = {}): Promise<void> {
  const source = {
    id: 'shop',
    connector: 'csv',
    options: { delimiter: ';' },
    streams: { cups: { path: './cups.csv', key: ['SKU'] } },
    mappings: [
      {
        stream: 'cups',
        to: 'product',
        key: 'row.SKU',
        fields: { sku: 'row.SKU', name: 'row.NAME', country_of_origin: 'country(row.COUNTRY)' },
      },
    ],
  };
  world = await createWorld({ config: { sources: [source], ...config }, files: { 'cups.csv': HEADER + rows } });
}

const sync = () => runHere(['sync', '-c', world.configFile]);

/** The counts of the only stream in the table of a sync, by their titles. */
function countsIn(text: string): Record<string, string | undefined> {
  const [titles = [], values = []] = text.split('\n').map((line) => line.trim().split(/ {2,}| (?=\d)/));
  return Object.fromEntries(titles.map((title, at) => [title, values[at]?.trim()]));
}

describe('the report of a sync', () => {
  it('the report of a sync says of a removed row that no item is missing if the row made none', async () => {
    await begin(GOOD_ROW + WRONG_ROW);
    await sync();
    world.write('cups.csv', HEADER + GOOD_ROW);
    const { exitCode, stdout } = await sync();
    expect(countsIn(stdout)).toMatchObject({ read: '1', missing: '1' });
    expect(stdout).toContain('1 row of an earlier run is missing or has another key now. No item is missing.');
    expect(stdout).toContain('All is delivered.');
    expect(exitCode).toBe(0);
  });

  it('the report of a sync says how many rows have an error besides those that the table counts', async () => {
    await begin(GOOD_ROW + WRONG_ROW);
    const now = 'an error. The column counts';
    expect((await sync()).stdout).not.toContain(now);
    const { exitCode, stdout } = await sync();
    expect(countsIn(stdout)).toMatchObject({ unchanged: '2', 'with an error': '0' });
    expect(stdout).toContain(`  1 further row has ${now} only rows that are new or changed.`);
    expect(exitCode).toBe(4);
  });

  it('the report of a sync says that the mapping has changed, so that all rows count as changed', async () => {
    await begin(`${GOOD_ROW}C3;Jug;DE\n`);
    const remapped = 'The mapping of shop has changed, so its 2 stored rows were mapped again.';
    expect((await sync()).stdout).not.toContain(remapped);
    const config = readFileSync(world.configFile, 'utf8');
    world.write('dpp-sync.yaml', config.replace('row.NAME', `'row.NAME == "Jug" ? "Big jug" : row.NAME'`));
    world.requests();
    const { stdout } = await sync();
    expect(countsIn(stdout)).toMatchObject({ unchanged: '0', changed: '2' });
    expect(stdout).toContain(`  ${remapped} Only items that became different are sent.`);
    // The list shows that the first import of a change has updated the product.
    expect(world.requests()).toEqual({ 'product.import': 1, 'product.list': 1 });
    expect((await sync()).stdout).not.toContain('mapped again');
  });

  it('the report of a sync names each source that was not read completely, also if the platform refuses to write', async () => {
    await begin(GOOD_ROW);
    const { sources } = parse(readFileSync(world.configFile, 'utf8')) as { sources: Record<string, unknown>[] };
    const others = ['mugs', 'jugs'].map((id) => ({
      ...sources[0],
      id,
      streams: { cups: { path: `./${id}.csv`, key: ['SKU'] } },
    }));
    world.write('dpp-sync.yaml', `${readFileSync(world.configFile, 'utf8')}${stringify(others).replace(/^/gm, '  ')}`);
    const both = await sync();
    expect(both.exitCode, both.stderr).toBe(3);
    expect(both.stderr).toContain('mugs.csv');
    expect(both.stdout).toMatch(/jugs was not read completely: .*jugs\.csv/);

    world.sandbox.ensureKey({ organization: 'acme', name: 'test', scopes: ['read'], key: API_KEY });
    world.write('cups.csv', `${HEADER}${GOOD_ROW}C4;Bowl;DE\n`);
    const refused = await sync();
    expect(refused.exitCode).toBe(3);
    expect(refused.stderr).toContain('does not have the scope "write"');
    for (const id of ['mugs', 'jugs'])
      expect(refused.stdout).toMatch(new RegExp(`${id} was not read completely: .*${id}\\.csv`));
  });

  it('with publish: manual, sync and status name the passports that a person has to publish', async () => {
    await begin(GOOD_ROW, { passports: { init: 'when-complete', publish: 'manual' } });
    const status = () => runHere(['status', '-c', world.configFile]);
    const named = /^1 passport is prepared and not public\. .* publish --all\n$/m;
    for (const { stdout } of [await sync(), await status()]) expect(stdout).toMatch(named);
    await runHere(['publish', '--all', '--yes', '-c', world.configFile]);
    expect((await status()).stdout).not.toContain('not published');
  });

  it('without the section passports, sync and status say how passports come to be', async () => {
    await begin(GOOD_ROW);
    const status = () => runHere(['status', '-c', world.configFile]);
    const named = /^1 product has no passport\. To publish if its product is complete: .* publish --all\n$/m;
    for (const { stdout } of [await sync(), await status()]) expect(stdout).toMatch(named);
  });

  it('with publish: auto, sync asks no person to publish a passport that the key may not publish', async () => {
    await begin(GOOD_ROW, { passports: { init: 'when-complete', publish: 'auto' } });
    const { key } = world.sandbox.issueKey({ organization: 'acme', name: 'writer', scopes: ['read', 'write'] });
    world.write('dpp-sync.yaml', readFileSync(world.configFile, 'utf8').replace(API_KEY, key));
    const { stdout } = await sync();
    expect(stdout).toContain('prepared, not public');
    expect(stdout).not.toContain('not published');
  });
});
