import { afterEach, describe, expect, it } from 'vitest';
import { runHere } from '../../support/cli/cli-here.ts';
import { createWorld, type World } from '../../support/worlds/world.ts';

let world: World;

afterEach(() => world.remove());

const PRODUCTS = 'sku;name;country\nA1;Pump;DE\nA2;Seal;DE\nA3;Motor;DE\n';

async function begin(source: Record<string, unknown> = {}): Promise<void> {
  const fields = { sku: 'row.sku', name: 'row.name', country_of_origin: 'country(row.country)' };
  const options = { path: './p.csv', delimiter: ';', key: ['sku'] };
  const mapping = { to: 'product', when: 'row.name != ""', key: 'row.sku', fields };
  const guard = { maxMissing: '100%', maxMissingCount: 100, maxDrop: '100%' };
  const erp = { id: 'erp', connector: 'csv', options, mappings: [mapping], guard, ...source };
  world = await createWorld({ config: { sources: [erp] }, files: { 'p.csv': PRODUCTS } });
  expect((await run('sync')).exitCode).toBe(0);
}
const run = (...args: string[]) => runHere([...args, '-c', world.configFile]);
const missing = async (): Promise<number> => {
  const { stdout } = await run('status', '--json');
  return (JSON.parse(stdout) as { missing: { product?: number } }).missing.product ?? 0;
};

describe('a complete read whose rows are all refused', () => {
  it.each([
    [
      'the connector',
      'sku;name;country\nB1;Pump\nB2;Seal\n',
      'p.csv:2: Line 2 has 2 values, but 3 columns are expected.',
    ],
    ['the mapping', 'sku;name;country\nB1;Pump;Mars\nB2;Seal;Mars\n', 'p.csv:2: '],
    ['both', 'sku;name;country\nB1;Pump\nB2;Seal;Mars\n', 'p.csv:2: '],
  ])('a read whose rows are all refused by %s has failed, and no item is missing', async (_, content, reason) => {
    await begin();
    world.write('p.csv', content);
    // The rows are unchanged in the second read.
    for (const time of [1, 2]) {
      const { exitCode, stderr } = await run('sync');
      expect(exitCode, `${time}`).toBe(4);
      expect(stderr).toContain(
        `erp/default: all 2 rows of this export cannot be used, so no record counts as missing. The first one is ${reason}`,
      );
      expect(await missing()).toBe(0);
    }
    expect((await run('status')).stdout).toContain('The last run of erp failed: erp/default: all 2 rows');
    world.write('p.csv', PRODUCTS);
    expect((await run('sync')).exitCode).toBe(0);
  });

  it('a read whose rows are all refused leaves the files where they are', async () => {
    await begin({ options: { path: './p.csv', delimiter: ';', key: ['sku'], after: 'archive', archive: './read' } });
    world.write('p.csv', 'sku;name;country\nB1;Pump\n');
    expect((await run('sync')).stderr).toContain('the only row of this export cannot be used');
    expect((await run('sync')).stderr).toContain('the only row of this export cannot be used');
  });

  it.each([
    ['no row', 'sku;name;country\n', {}, 3],
    ['only excluded rows', 'sku;name;country\nB1;;\n', {}, 3],
    ['one row that can be used', 'sku;name;country\nA1;Pump;DE\nB2;Seal\n', {}, 2],
  ])('a read with %s has not failed', async (_, content, source, gone) => {
    await begin(source);
    world.write('p.csv', content);
    await run('sync');
    expect((await run('status')).stdout).not.toContain('failed');
    expect(await missing()).toBe(gone);
  });

  it('a read whose rows only conflict with other rows has not failed', async () => {
    await begin();
    world.write('p.csv', 'sku;name;country\nA1;Pump;DE\nA1;Other;DE\n');
    expect((await run('sync')).stderr).not.toContain('cannot be used');
  });

  it('a stream without a key has failed too where each row is refused', async () => {
    await begin({ options: { path: './p.csv', delimiter: ';' } });
    world.write('p.csv', 'sku;name;country\nB1;Pump\nB2;Seal\n');
    expect((await run('sync')).stderr).toContain('all 2 rows of this export cannot be used');
    expect(await missing()).toBe(0);
  });
});
