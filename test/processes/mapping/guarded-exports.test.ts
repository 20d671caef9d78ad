import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { exitCodeOf } from '../../../src/observe/standing.ts';
import { cli } from '../../support/cli/cli.ts';
import { runHere } from '../../support/cli/cli-here.ts';
import { quickQueue } from '../../support/servers/quick-queue.ts';
import { EXPORT_SOURCES } from '../../support/worlds/cli-export.ts';
import { runSource, startDaemon, WEB_TOKEN } from '../../support/worlds/daemon-world.ts';
import { createWorld, type World } from '../../support/worlds/world.ts';

const queue = quickQueue();
let world: World;

const ids = (count: number): string[] => Array.from({ length: count }, (_, index) => String(index + 1));
const products = (count: number): string =>
  `ID,SKU,NAME,COUNTRY\n${ids(count)
    .map((id) => `${id},A-${id},Pump ${id},DE\n`)
    .join('')}`;

/** Delivers six products, and then leaves only three of them in the export. The guard treats this as a broken export. */
beforeEach(async () => {
  const sources = EXPORT_SOURCES.map(({ streams, mappings, ...source }) => ({
    ...source,
    streams: { products: streams.products },
    mappings: mappings.filter(({ stream }) => stream === 'products'),
  }));
  world = await createWorld({
    queue: queue(),
    config: {
      sources,
      web: { host: '127.0.0.1', port: 0, token: WEB_TOKEN },
    },
    files: { 'products.csv': products(6) },
  });
  expect(exitCodeOf(await world.sync())).toBe(0);
  world.write('products.csv', products(3));
});
afterEach(() => world.remove());

const run = (...args: string[]) => cli([...args, '-c', world.configFile]);
/** Runs a command that only reads, in this process. */
const look = (...args: string[]) => runHere([...args, '-c', world.configFile]);

const GUARDED = {
  source: 'erp',
  stream: 'products',
  missing: 3,
  read: 3,
  message: expect.stringContaining('3 of 6 records with items are missing'),
};

describe('a guard that held a run', () => {
  it('a guard that held a run ends the sync with 4 and names the stream and why, in JSON and in text, quiet or not', async () => {
    const { exitCode, json } = await run('sync', '--json');
    expect(exitCode).toBe(4);
    expect(json()).toMatchObject({
      ok: false,
      guarded: [GUARDED],
      causes: [{ cause: 'guarded', count: 1, command: 'dpp-sync status' }],
      runs: [{ missing: 3 }],
    });
    const synced = await run('sync');
    expect(synced.exitCode).toBe(4);
    expect(synced.stdout).not.toContain('All is delivered');
    for (const { stdout } of [synced, await run('sync', '--quiet')]) {
      expect(stdout).toContain('erp/products: 3 of 6 records with items are missing');
      expect(stdout).toContain(' sync --accept erp');
      expect(stdout).toContain(' refuse erp\n');
    }
  });

  it('a guard that held a run is in status until the next whole export, also after a run that failed', async () => {
    await world.sync();
    const status = await look('status', '--json');
    expect(status.exitCode).toBe(4);
    expect(status.json()).toMatchObject({ ok: false, guarded: [GUARDED], causes: [{ cause: 'guarded' }] });
    expect((await look('status')).stdout).toContain('erp/products: 3 of 6 records with items are missing');

    rmSync(join(world.folder, 'products.csv'));
    expect(exitCodeOf(await world.sync())).toBe(3);
    expect((await look('status', '--json')).json()).toMatchObject({ guarded: [{ stream: 'products' }] });

    world.write('products.csv', products(6));
    expect(exitCodeOf(await world.sync())).toBe(0);
    expect((await look('status', '--json')).json()).toMatchObject({ ok: true, guarded: [], causes: [] });
  });

  it('an export that the guard holds is accepted with its figures: its missing records are marked then, and the guard holds a worse export again', async () => {
    await world.sync();
    world.write('products.csv', products(2));
    const worse = await run('sync', '--accept', 'erp', '--json');
    expect(worse.exitCode).toBe(4);
    expect(worse.json()).toMatchObject({
      accepted: { guarded: [{ source: 'erp', stream: 'products', missing: 3, read: 3 }], adopted: [] },
      guarded: [{ missing: 4, read: 2 }],
      missing: {},
    });

    world.write('products.csv', products(3));
    const better = await run('sync', '--accept', 'erp', '--json');
    expect(better.exitCode).toBe(0);
    expect(better.json()).toMatchObject({ ok: true, guarded: [], runs: [{ missing: 3 }], missing: { product: 3 } });
    expect((await look('status', '--json')).json()).toMatchObject({ ok: true, guarded: [], missing: { product: 3 } });
    // The acceptance was for those figures and is used up. From here on the guard compares with the smaller export.
    world.write('products.csv', products(1));
    expect((await run('sync', '--json')).json()).toMatchObject({ ok: false, guarded: [{ missing: 2, read: 1 }] });
  });

  it('a held export is accepted in words that do not contradict what the run then does', async () => {
    await world.sync();
    const { exitCode, stdout } = await run('sync', '--accept', 'erp');
    expect(exitCode).toBe(0);
    expect(stdout).toContain('Accepted of erp/products: an export with 3 rows in which 3 records are missing.');
    expect(stdout).not.toContain('none of them was marked');
  });

  it('accept takes a source by its id alone, and says where no export of it was held', async () => {
    const unknown = await run('sync', '--accept', 'epr');
    expect(unknown.exitCode).toBe(2);
    expect(unknown.stderr).toContain('Did you mean erp?');
    world.write('products.csv', products(6));
    const { exitCode, stdout } = await run('sync', '--accept', 'erp');
    expect(exitCode).toBe(0);
    expect(stdout).toContain('No export, no run and no change of erp waits for a decision, so nothing was accepted.');
  });

  it('a guard that held a run is a warning in the log of the daemon, on its page and in its metrics, until a whole export', async () => {
    const { daemon, log, url } = await startDaemon(world);
    const fetched = async (path: string): Promise<string> =>
      (await fetch(`${url}${path}`, { headers: { authorization: `Bearer ${WEB_TOKEN}` } })).text();
    try {
      await runSource(daemon, 'erp');
      await expect
        .poll(() => log.lines.filter(({ message }) => message.includes('The guard holds')))
        .toMatchObject([
          {
            level: 'warn',
            fields: { source: 'erp', stream: 'products' },
            message: expect.stringContaining('3 of 6'),
          },
        ]);
      await expect.poll(() => fetched('/metrics')).toContain('dpp_sync_guard_held{source="erp",stream="products"} 1');
      expect(await fetched('/')).toContain('The export of erp/products has only 3 rows and lacks 3.');

      world.write('products.csv', products(6));
      await runSource(daemon, 'erp');
      await expect.poll(() => fetched('/metrics')).toContain('dpp_sync_guard_held{source="erp",stream="products"} 0');
      expect(await fetched('/')).not.toContain('The export of erp/products has only');
    } finally {
      await daemon.stop();
    }
  });
});
