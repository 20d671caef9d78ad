import { appendFileSync, existsSync, mkdirSync, realpathSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { createChannelClient } from '../../../src/admin/channel-client.ts';
import { ALIVE_MS } from '../../../src/admin/wire.ts';
import { loadRuntimeConfig } from '../../../src/daemon/load.ts';
import { systemClock } from '../../../src/lib/clock.ts';
import { createSecretStore } from '../../../src/lib/logging/secrets.ts';
import { reportList } from '../../../src/operations/platform.ts';
import { cli, startCli } from '../../support/cli/cli.ts';
import { runHere } from '../../support/cli/cli-here.ts';
import { type DaemonProcess, startDaemonProcess } from '../../support/cli/daemon-process.ts';
import { covers } from '../../support/docs/reliability.ts';
import { text } from '../../support/ledger/items.ts';
import { WAIT_MS } from '../../support/runner/limits.ts';
import { quickQueue } from '../../support/servers/quick-queue.ts';
import { PRODUCTS, startDaemon } from '../../support/worlds/daemon-world.ts';
import { SMALL, SMALL_SOURCES, smallFiles } from '../../support/worlds/small-export.ts';
import { createWorld, type World, type WorldOptions } from '../../support/worlds/world.ts';

const SOON = { timeout: WAIT_MS };

const queue = quickQueue();

let world: World;
let daemon: DaemonProcess | null = null;
let closing: (() => Promise<void>) | null = null;

afterEach(async () => {
  await closing?.();
  closing = null;
  daemon?.signal('SIGKILL');
  await daemon?.exited;
  daemon = null;
  await world.remove();
});

async function worldWith(options: WorldOptions): Promise<void> {
  world = await createWorld({ queue: queue(), ...options });
}

const run = (...args: string[]) => runHere([...args, '-c', world.configFile]);
const published = () =>
  world
    .contents()
    .publications.filter(({ status }) => status === 'published')
    .map(({ sku }) => text(sku))
    .sort();
const once = () => world.sandbox.inspect().writes.filter(({ count }) => count !== 1);

describe('a command beside a daemon', () => {
  /** Starts a daemon. A business rule blocks the passport of P3, and a row of P2 has no usable quantity. */
  async function started(options: Partial<WorldOptions> = {}): Promise<void> {
    const lines = SMALL.lines.map((line) => (line.id === '3' ? { ...line, quantity: 'much' } : line));
    await worldWith({
      config: { sources: SMALL_SOURCES },
      files: smallFiles({ ...SMALL, lines }),
      sandbox: { gates: { materialData: { enabled: false }, review: { enabled: true, match: 'SKU-P3' } } },
      ...options,
    });
    daemon = await startDaemonProcess(world.configFile);
  }

  it('a command beside a daemon syncs, replays, publishes and unpublishes with the results that it has without one', async () => {
    await started();
    const synced = await run('sync', '--json');
    expect(synced.exitCode).toBe(4);
    expect(synced.json()).toMatchObject({
      ok: false,
      runs: [
        { source: 'erp', stream: 'products', read: 3, changed: 3 },
        { source: 'erp', stream: 'materials', read: 2, changed: 2 },
        { source: 'erp', stream: 'boms', read: 4, changed: 3, quarantined: 1 },
      ],
      items: { product: { delivered: 3 }, material: { delivered: 2 }, bom_item: { delivered: 3 } },
    });
    const again = await run('sync');
    expect(again.stdout).toMatch(/0 requests in .* Finished, with something left to look at/);

    const dry = await run('replay', '--state', 'quarantined', '--dry-run', '--json');
    expect(dry).toMatchObject({ exitCode: 0 });
    expect(dry.json()).toEqual(expect.objectContaining({ ok: true, dryRun: true, records: 1, passing: 0 }));

    const one = await run('publish', 'SKU-P1', 'P2', '--json');
    expect(one.exitCode).toBe(4);
    expect(one.json()).toMatchObject({
      passports: [
        { asked: 'SKU-P1', state: 'published', holds: [] },
        { asked: 'P2', state: 'none', holds: [expect.stringContaining('bom.csv:4')] },
      ],
    });
    expect(published()).toEqual(['SKU-P1']);
    expect((await run('publish', 'SKU-P')).exitCode).toBe(2);

    const withdrawn = await run('unpublish', 'SKU-P1');
    expect(withdrawn).toMatchObject({ exitCode: 0, stdout: '✓ SKU-P1 is not public any more.\n' });
    expect(published()).toEqual([]);
    await expect.poll(() => daemon?.stderr()).toContain('A person has started the command publish.');
    expect(daemon?.stderr()).toContain('The source erp is being pulled.');
    expect(once()).toEqual([]);
  });

  it('a command beside a daemon publishes all that is complete and that no person has withdrawn, and lists the rest', async () => {
    await started();
    await run('sync');
    await run('publish', 'P1');
    await run('unpublish', 'P1');
    // A person has to confirm this with `--yes`.
    const asked = await run('publish', '--all', '--json');
    expect(asked.exitCode).toBe(2);
    expect(asked.json()).toMatchObject({
      error: { message: expect.stringContaining('1 passport would be published') },
    });
    expect((await run('publish', '--all', 'P1')).exitCode).toBe(2);
    expect((await run('publish', '--yes', 'P1')).exitCode).toBe(2);

    const shut = await run('publish', '--all', '--yes', '--json');
    expect(shut.exitCode).toBe(4);
    expect(shut.json()).toMatchObject({
      ok: false,
      published: 0,
      notPublished: 1,
      incomplete: 1,
      withdrawn: 1,
      passports: [{ asked: 'P3', state: 'blocked', reason: { code: 'gate' } }],
      incompleteProducts: [{ key: 'P2', sku: 'SKU-P2', holds: [expect.stringContaining('bom.csv:4')] }],
    });

    world.sandbox.approvePassport('acme', 'SKU-P3');
    world.write('exports/bom.csv', smallFiles(SMALL)['exports/bom.csv'] ?? '');
    await run('sync');
    const open = await run('publish', '--all', '--yes');
    expect(open.stdout).toContain('✓ 2 passports are published.');
    expect(open.stdout).toContain('1 passport withdrawn by hand: left as it is.');
    expect(open.exitCode).toBe(0);
    expect(published()).toEqual(['SKU-P2', 'SKU-P3']);
    const rest = await run('publish', '--all', '--yes', '--json');
    expect(rest).toMatchObject({ exitCode: 0 });
    expect(rest.json()).toMatchObject({ ok: true, published: 0, notPublished: 0, incomplete: 0, withdrawn: 1 });
  });

  it('a command beside a daemon accepts an export that the guard holds', async () => {
    const rows = Array.from({ length: 100 }, (_, at) => `S-${at},Item ${at},10`);
    const export_ = (count: number) => `SKU,NAME,STATE\n${rows.slice(0, count).join('\n')}\n`;
    await worldWith({
      config: { sources: [PRODUCTS.source] },
      files: { ...PRODUCTS.files, 'products.csv': export_(100) },
    });
    daemon = await startDaemonProcess(world.configFile);
    expect((await run('sync')).exitCode).toBe(0);
    world.write('products.csv', export_(10));
    const held = await run('sync', '--json');
    expect(held.exitCode).toBe(4);
    expect(held.json()).toMatchObject({ guarded: [{ source: 'erp' }] });
    await expect
      .poll(() => daemon?.stderr())
      .toContain('accept it, and what it lacks counts as missing: `dpp-sync sync --accept erp`');
    const accepted = await run('sync', '--accept', 'erp', '--json');
    expect(accepted.json()).toMatchObject({ guarded: [], accepted: { guarded: [{ source: 'erp' }] } });
  });

  it('a command beside a daemon works over the embedded queue, and warns of a config change that needs a restart', async () => {
    await started({ queue: 'embedded' });
    appendFileSync(world.configFile, 'web: { port: 0, token: web-token-0123456789 }\n');
    const { stderr, stdout } = await run('sync');
    expect(stdout).toContain('erp/products');
    expect(world.contents().products).toHaveLength(3);
    expect(stderr).toContain('warning: The config has changed, and the daemon still works with the former one.');
    expect(stderr.match(/whether the daemon has refused the change/g)).toHaveLength(1);
  });

  it.each(['reload', 'sync'])(
    '%s does not warn of a config change that it has made the daemon use',
    async (command) => {
      await started({ queue: 'embedded' });
      appendFileSync(world.configFile, 'history: { keepDays: 400 }\n');
      expect((await run(command)).stderr).not.toContain('The config has changed');
    },
  );
});

describe('work that is under way beside a command', () => {
  const COUNT = 200;
  const rows = Array.from({ length: COUNT }, (_, at) => `S-${String(at).padStart(4, '0')},Item ${at},10`);
  const arrived = () => world.contents().products.length;

  async function started(latencyMs = 1500): Promise<void> {
    await worldWith({
      config: { sources: [PRODUCTS.source] },
      // Each product is sent in a separate request.
      profile: { imports: { creates: 'off' } },
      files: { ...PRODUCTS.files, 'products.csv': `SKU,NAME,STATE\n${rows.join('\n')}\n` },
      sandbox: { faults: [{ kind: 'latency', operation: 'product.create', ms: latencyMs }] },
    });
    daemon = await startDaemonProcess(world.configFile);
  }
  const underWay = () =>
    expect.poll(() => world.sandbox.inspect().faults[0]?.used ?? 0, SOON).toBeGreaterThanOrEqual(10);

  it(
    'the work for a command is not lost when its daemon is killed, and the command reports that',
    covers('process-killed', 'I5', 'I6', 'I8'),
    async () => {
      await started();
      const command = startCli(['sync', '--json', '-c', world.configFile]);
      await underWay();
      daemon?.signal('SIGKILL');
      const { exitCode, json } = await command.ended;
      expect(exitCode).toBe(3);
      expect(json()).toMatchObject({
        ok: false,
        error: { code: 'daemon.lost', message: expect.stringContaining('run `dpp-sync sync` again') },
      });
      expect(existsSync(`${realpathSync(join(world.folder, 'data/ledger.db'))}.sock`)).toBe(true);
      world.sandbox.faults.clear();
      // The next command works without a daemon, although the socket still exists.
      const after = await cli(['sync', '--json', '-c', world.configFile]);
      expect(after.json()).toMatchObject({ ok: true, items: { product: { delivered: COUNT } } });
      expect(arrived()).toBe(COUNT);
      expect(once()).toEqual([]);
    },
  );

  it('the work for a command continues in the daemon when the command is stopped', async () => {
    await started(60_000);
    const command = startCli(['sync', '--json', '-c', world.configFile]);
    await underWay();
    command.signal('SIGINT');
    const { exitCode, json } = await command.ended;
    expect(exitCode).toBe(1);
    expect(json()).toMatchObject({
      error: { code: 'interrupted', message: expect.stringContaining('The daemon finishes the command.') },
    });
    expect(arrived()).toBe(0);
    world.endLatency();
    await expect.poll(arrived, SOON).toBe(COUNT);
  });

  it('the work for a command is handed back by a daemon that is stopped, and the command reports why it ended', async () => {
    await started();
    const command = startCli(['sync', '--json', '-c', world.configFile]);
    await underWay();
    daemon?.signal('SIGTERM');
    const { exitCode, json } = await command.ended;
    expect(exitCode).toBe(3);
    expect(json()).toMatchObject({ ok: false, error: { code: 'daemon.stopped' } });
    // The report is made at the end, when no request is in flight any more.
    const delivered = arrived();
    expect(json()['items']).toMatchObject({ product: { delivered, due: COUNT - delivered } });
    expect(await daemon?.exited).toBe(0);
    world.sandbox.faults.clear();
    const report = await world.sync();
    expect(report.items.product).toEqual({ delivered: COUNT });
    expect(once()).toEqual([]);
  });
});

describe('a daemon whose process is stopped', () => {
  it('a command reports a daemon whose process is stopped as one that sends nothing', async () => {
    await worldWith({ config: { sources: [PRODUCTS.source] }, files: PRODUCTS.files });
    daemon = await startDaemonProcess(world.configFile);
    const config = await loadRuntimeConfig(world.configFile, createSecretStore());
    const { signal } = new AbortController();
    const means = { config, version: '0.1.0', command: 'report list', signal, onOtherConfig: () => {}, silentMs: 200 };
    daemon.signal('SIGSTOP');
    const run = createChannelClient(means).run(reportList, {});
    await expect(run).rejects.toMatchObject({ code: 'daemon.lost', exitCode: 3 });
    daemon.signal('SIGCONT');
    const goesOn = createChannelClient({ ...means, silentMs: 30_000 });
    expect(await goesOn.run(reportList, {}, { onBytes: async () => {} })).toMatchObject({ complete: true });
  });
});

describe('a command whose process is stopped', () => {
  it('a command whose process was stopped for long reads what its daemon has sent meanwhile', async () => {
    await worldWith({ config: { sources: [PRODUCTS.source] }, files: PRODUCTS.files });
    daemon = await startDaemonProcess(world.configFile);
    const config = await loadRuntimeConfig(world.configFile, createSecretStore());
    const { signal } = new AbortController();
    world.sandbox.faults.add({ operation: 'report.list', kind: 'latency', ms: ALIVE_MS });
    const means = { config, version: '0.1.0', command: 'report list', signal, onOtherConfig: () => {} };
    const client = createChannelClient({ ...means, silentMs: 1.5 * ALIVE_MS });
    const run = client.run(reportList, {}, { onBytes: async () => {} });
    await expect.poll(() => world.sandbox.faults.list()[0]?.used).toBe(1);
    // Stops this process, in which the command runs. The daemon sends a frame every few seconds meanwhile.
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 2 * ALIVE_MS);
    expect(await run).toMatchObject({ complete: true });
  });
});

describe('a daemon without a socket, as one that starts or stops', () => {
  it('a command reaches a daemon without a socket by no other means, and says what to do', async () => {
    await worldWith({ config: { sources: [PRODUCTS.source] }, files: PRODUCTS.files });
    daemon = await startDaemonProcess(world.configFile);
    rmSync(`${realpathSync(join(world.folder, 'data/ledger.db'))}.sock`);
    const { exitCode, json } = await run('sync', '--json');
    expect(exitCode).toBe(3);
    expect(json()).toMatchObject({
      error: {
        code: 'ledger.held',
        message: expect.stringMatching(/dpp-sync start.* run the command again in a moment/),
      },
    });
  });
});

describe('runs of sources beside each other', () => {
  const source = (id: string, to: 'product' | 'material') => ({
    id,
    connector: 'csv',
    options: { path: `./${id}.csv`, key: ['ID'] },
    mappings: [
      {
        to,
        key: 'row.ID',
        fields:
          to === 'product'
            ? { sku: 'row.ID', name: 'row.NAME', status: '"DRAFT"', country_of_origin: '"DE"' }
            : { code: 'row.ID', name: 'row.NAME' },
      },
    ],
  });
  /** The daemon needs a quarter of a minute to send them. */
  const MATERIALS = 600;
  const export_ = (prefix: string, count: number) =>
    `ID,NAME\n${Array.from({ length: count }, (_, at) => `${prefix}-${at},Name ${at}`).join('\n')}\n`;

  it('two runs of one source never run at once', async () => {
    await worldWith({ config: { sources: [source('erp', 'product')] }, files: { 'erp.csv': export_('P', 5) } });
    const runtime = await world.open();
    const { signal } = new AbortController();
    const pulls = (['schedule', 'cli', 'cli'] as const).map((trigger) => runtime.pull('erp', { trigger }, signal));
    const stopped = new AbortController();
    const waiting = expect(runtime.pull('erp', { trigger: 'cli' }, stopped.signal)).rejects.toMatchObject({
      code: 'interrupted',
    });
    stopped.abort();
    await waiting;
    expect((await Promise.all(pulls)).map(({ result }) => result)).toEqual(['complete', 'complete', 'complete']);
    expect(runtime.pulling()).toEqual([]);
    // Each run has found the records that the run before it has stored.
    const counts = (await runtime.reads.lastRuns({ source: 'erp', limit: 5 })).map(({ streams }) => streams[0]);
    expect(counts.map((stream) => stream?.changed)).toEqual([0, 0, 5]);
    await runtime.close();
  });

  it('a run of one source by hand ends while the daemon is busy with another source', async () => {
    await worldWith({
      config: { sources: [source('erp', 'product'), source('pim', 'material')] },
      files: { 'erp.csv': export_('P', 5), 'pim.csv': export_('M', MATERIALS) },
      sandbox: { faults: [{ kind: 'latency', operation: 'material.create', ms: 5000 }] },
      target: { maxRate: 40 },
    });
    const { daemon: here, log } = await startDaemon(world, { version: '0.1.0' });
    closing = () => here.stop();
    await here.startRun('pim', 'schedule');
    await expect.poll(() => world.sandbox.inspect().faults[0]?.used ?? 0, SOON).toBeGreaterThan(0);
    const { exitCode, json } = await run('sync', 'erp', '--json');
    expect(json()).toMatchObject({ ok: true, items: { product: { delivered: 5 }, material: {} } });
    expect(exitCode).toBe(0);
    expect(world.contents().materials.length).toBeLessThan(MATERIALS);
    expect(log.lines.some(({ message }) => message === 'The command sync is done.')).toBe(true);
  });
});

describe('an API that is not there', () => {
  it('a command waits for an API that cannot be reached from its own start, however long the daemon has waited', async () => {
    await worldWith({
      config: { sources: [PRODUCTS.source] },
      files: PRODUCTS.files,
      target: { baseUrl: 'http://127.0.0.1:1' },
    });
    const { daemon: here } = await startDaemon(world, { version: '0.1.0' });
    closing = () => here.stop();
    await here.startRun('erp', 'schedule');
    await expect.poll(() => here.runtime.api.unreachableSince(), SOON).not.toBeNull();
    const since = here.runtime.api.unreachableSince() ?? 0;
    await expect.poll(() => systemClock.ticks() - since, SOON).toBeGreaterThan(1500);
    const begin = systemClock.ticks();
    const { exitCode, json } = await run('sync', '--wait', '1.5', '--json');
    expect(systemClock.ticks() - begin).toBeGreaterThanOrEqual(1500);
    expect(exitCode).toBe(3);
    expect(json()).toMatchObject({ error: { code: 'api.unreachable' } });
  });

  it('a command asks the API again where the daemon knows only that the former key was refused', async () => {
    await worldWith({
      config: { sources: [PRODUCTS.source] },
      files: { ...PRODUCTS.files, ...PRODUCTS.fixed },
    });
    world.sandbox.setPlan('acme', 'standard' as never);
    const { daemon: here } = await startDaemon(world, { version: '0.1.0' });
    closing = () => here.stop();
    const refused = await run('sync', '--json');
    expect(refused.json()).toMatchObject({ ok: false, error: { code: 'api.plan' } });
    world.sandbox.setPlan('acme', 'enterprise');
    const taken = await run('sync', '--json');
    expect(taken.json()).toMatchObject({ ok: true, items: { product: { delivered: 2 } } });
  });
});

describe('a ledger whose path is too long for a socket', () => {
  it('a ledger whose path is too long for a socket has a daemon, and both sides say why commands cannot run beside it', async () => {
    const deep = `./${'deep'.repeat(30)}`;
    await worldWith({ config: { sources: [PRODUCTS.source], ledger: `${deep}/ledger.db` }, files: PRODUCTS.files });
    mkdirSync(join(world.folder, deep));
    daemon = await startDaemonProcess(world.configFile);
    await expect.poll(() => daemon?.stderr()).toMatch(/admin socket has \d+ bytes, and the system allows at most 107/);
    const { exitCode, json } = await run('sync', '--json');
    expect(exitCode).toBe(3);
    expect(json()).toMatchObject({
      error: { code: 'ledger.held', message: expect.stringMatching(/dpp-sync start.*at most 107.*shorter path/) },
    });
  });
});
