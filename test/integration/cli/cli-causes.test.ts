import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { exitCodeOf } from '../../../src/observe/standing.ts';
import { cli } from '../../support/cli/cli.ts';
import { runHere } from '../../support/cli/cli-here.ts';
import { quickQueue } from '../../support/servers/quick-queue.ts';
import { EXPORT_SOURCES, FLAWED_FILES, GOOD_FILES } from '../../support/worlds/cli-export.ts';
import { createWorld, type World } from '../../support/worlds/world.ts';

const queue = quickQueue();
let world: World;
afterEach(() => world.remove());

/** The small export with its materials in a source of their own. */
function twoSources(): Record<string, unknown>[] {
  return EXPORT_SOURCES.flatMap(({ streams: { materials, ...streams }, mappings, ...source }) => [
    { ...source, streams, mappings: mappings.filter(({ stream }) => stream !== 'materials') },
    { ...source, id: 'pim', streams: { materials }, mappings: mappings.filter(({ stream }) => stream === 'materials') },
  ]);
}

const run = (...args: string[]) => cli([...args, '-c', world.configFile]);
/** Runs a command that only reads, in this process. */
const look = (...args: string[]) => runHere([...args, '-c', world.configFile]);

describe('why a command ends with 4', () => {
  it('a sync of an unchanged night says why it ends with 4, with counts and the commands that show it', async () => {
    world = await createWorld({ queue: queue(), config: { sources: EXPORT_SOURCES }, files: FLAWED_FILES });
    await world.sync();
    const { exitCode, json } = await run('sync', '--json');
    expect(exitCode).toBe(4);
    const causes = [
      { cause: 'waiting', count: 1, command: 'dpp-sync items --state waiting' },
      { cause: 'quarantined', count: 2, command: 'dpp-sync quarantine' },
    ];
    expect(json()).toMatchObject({ ok: false, requests: { sent: 0 }, causes });
    expect((await look('status', '--json')).json()).toMatchObject({ ok: false, causes });
  });

  it('status ends with 4 and names the error of a failed last run until the source is read again', async () => {
    world = await createWorld({ queue: queue(), config: { sources: twoSources() }, files: GOOD_FILES });
    expect(exitCodeOf(await world.sync())).toBe(0);
    rmSync(join(world.folder, 'materials.csv'));
    expect(exitCodeOf(await world.sync())).toBe(3);

    const { exitCode, json } = await look('status', '--json');
    expect(exitCode).toBe(4);
    expect(json()).toMatchObject({
      ok: false,
      causes: [{ cause: 'failed_run', count: 1, command: 'dpp-sync sync pim' }],
      sources: [
        { source: 'erp', lastRun: { result: 'complete' } },
        { source: 'pim', lastRun: { result: 'failed', error: expect.stringContaining('materials.csv') } },
      ],
    });
    const told = await look('status');
    expect(told.stdout).toMatch(/The last run of pim failed: .*materials\.csv/);
    expect(told.stdout).toMatch(/^ *pim +[\d-]+ [\d:]+ +failed {2,}on demand$/m);

    // Only the sources that are selected count.
    const other = await run('sync', 'erp', '--json');
    expect(other.exitCode).toBe(0);
    expect(other.json()).toMatchObject({ ok: true, causes: [] });
    world.write('materials.csv', GOOD_FILES['materials.csv']);
    expect((await run('sync', 'pim')).exitCode).toBe(0);
    expect((await look('status')).exitCode).toBe(0);
  });

  it('a command that ends with 4 names nothing of sources that are not selected', async () => {
    world = await createWorld({ queue: queue(), config: { sources: twoSources() }, files: FLAWED_FILES });
    await world.sync();
    const { exitCode, stdout } = await run('sync', 'pim');
    expect(exitCode).toBe(0);
    expect(stdout).toContain('All is delivered.');
    expect(stdout).not.toMatch(/quarantined,|waits for/);
  });
});

describe('what is missing from its source', () => {
  const without = (id: string): string =>
    GOOD_FILES['products.csv']
      .split('\n')
      .filter((line) => !line.startsWith(`${id},`))
      .join('\n');

  it('a missing item is shown each time until a person accepts it, and again when it goes missing again', async () => {
    const guard = { maxMissing: '100%', maxDrop: '100%' };
    world = await createWorld({
      queue: queue(),
      config: { sources: [{ ...EXPORT_SOURCES[0], guard }] },
      files: GOOD_FILES,
    });
    await world.sync();
    world.write('products.csv', without('2'));
    for (let night = 0; night < 2; night += 1) {
      const { exitCode, json } = await run('sync', '--json');
      expect(exitCode).toBe(0);
      expect(json()).toMatchObject({ ok: true, missing: { product: 1 } });
    }
    const status = await look('status');
    expect(status.exitCode).toBe(0);
    expect(status.stdout).toContain('Missing from their sources, and kept at the platform: 1 product.');
    expect((await run('sync', '--quiet')).stdout).toContain(' items --state missing');
    expect((await look('items', '--state', 'missing', '--json')).stdout).toContain('"key":"2"');

    const accepted = await look('settle', '2', '--kind', 'product', '--ignore', '--json');
    expect(accepted.json()).toMatchObject({ ok: true, kind: 'product', key: '2', operation: null, state: 'delivered' });
    expect((await look('status', '--json')).json()).toMatchObject({ ok: true, missing: {} });
    expect((await look('items', '--state', 'missing', '--json')).stdout).toBe('');
    expect((await look('show', 'product', '2')).stdout).toContain(
      'missing from its source, whose row is gone, which a person has accepted',
    );

    world.write('products.csv', GOOD_FILES['products.csv']);
    await world.sync();
    world.write('products.csv', without('2'));
    expect((await run('sync', '--json')).json()).toMatchObject({ missing: { product: 1 } });
  });

  it('a missing item is not counted where the config ignores missing items', async () => {
    const source = { ...EXPORT_SOURCES[0], guard: { maxMissing: '100%', maxDrop: '100%' }, onMissing: 'ignore' };
    world = await createWorld({ queue: queue(), config: { sources: [source] }, files: GOOD_FILES });
    await world.sync();
    world.write('products.csv', without('2'));
    expect((await run('sync', '--json')).json()).toMatchObject({ runs: [{ missing: 1 }, {}, {}], missing: {} });
  });
});
