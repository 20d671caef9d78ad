import { afterEach, describe, expect, it } from 'vitest';
import { runHere } from '../../support/cli/cli-here.ts';
import { EXPORT_SOURCES, GOOD_FILES } from '../../support/worlds/cli-export.ts';
import { createWorld, type World } from '../../support/worlds/world.ts';

let world: World;

afterEach(() => world.remove());

const ROWS = 26_452;
const renamed = `ID,SKU_2,NAME,COUNTRY\n${Array.from({ length: ROWS }, (_, at) => `${at},A-${at},Pump,DE\n`).join('')}`;

async function begin(files: Record<string, string>, sources: unknown[] = EXPORT_SOURCES): Promise<void> {
  world = await createWorld({ config: { sources }, files: { ...GOOD_FILES, ...files } });
}
const run = (...args: string[]) => runHere([...args, '-c', world.configFile]);
const MESSAGE = 'products.csv: the column SKU is missing; did you mean SKU_2?';

describe('an export whose column was renamed', () => {
  it('an export whose column was renamed stops the run with one sentence, and no row is in quarantine or missing', async () => {
    await begin({});
    expect((await run('sync')).exitCode).toBe(0);
    world.write('products.csv', renamed);
    const { exitCode, stderr } = await run('sync');
    expect(exitCode).toBe(3);
    expect(stderr).toContain(MESSAGE);
    expect(stderr).toContain('sources[0].mappings[0].fields.sku');
    expect((await run('quarantine', '--json')).stdout).toBe('');
    const items = (await run('items', '--json')).stdout;
    expect(items).toContain('"kind":"product"');
    expect(items).not.toMatch(/"missing":true|"flagged":true/);
  });

  it('an export whose column was renamed is found by check and by preview', async () => {
    await begin({ 'products.csv': renamed });
    const { exitCode, stdout } = await run('check');
    expect(exitCode).toBe(3);
    expect(stdout).toContain('erp/products: the column SKU is missing; did you mean SKU_2?');
    const preview = await run('preview', 'erp');
    expect(preview.exitCode).toBe(3);
    expect(preview.stderr).toContain(MESSAGE);
  });

  it('an export whose column was renamed is read where the expression asks whether the column is there', async () => {
    const [source] = EXPORT_SOURCES;
    const [products, ...others] = source?.mappings ?? [];
    const fields = { ...products?.fields, sku: 'has(row.SKU) ? row.SKU : row.SKU_2' };
    const small = renamed.split('\n').slice(0, 4).join('\n');
    await begin({ 'products.csv': small }, [{ ...source, mappings: [{ ...products, fields }, ...others] }]);
    expect((await run('sync')).stderr).not.toContain('missing');
    expect((await run('check')).exitCode).toBe(0);
  });
});
