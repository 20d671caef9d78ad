import { mkdirSync, readFileSync, renameSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { parse, stringify } from 'yaml';
import type { Daemon } from '../../../src/daemon/daemon.ts';
import { findPackage } from '../../../src/lib/package.ts';
import { runHere } from '../../support/cli/cli-here.ts';
import { textOf } from '../../support/connectors/connector-reader.ts';
import { WAIT_MS } from '../../support/runner/limits.ts';
import { PRODUCTS, startDaemon, WEB_TOKEN } from '../../support/worlds/daemon-world.ts';
import type { RecordingLog } from '../../support/worlds/recording-log.ts';
import { createWorld, type World } from '../../support/worlds/world.ts';

const COUNT = 3000;
const rows = Array.from({ length: COUNT }, (_, at) => `S-${String(at).padStart(4, '0')},Item ${at},10`);

describe('a reload of the config', () => {
  let world: World;
  let daemon: Daemon;
  let log: RecordingLog;
  let url: string;

  beforeEach(async () => {
    world = await createWorld({
      config: { web: { port: 0, token: '${file:./token}' }, sources: [PRODUCTS.source] },
      target: { apiKey: '${file:./key}' },
      files: { ...PRODUCTS.files, token: WEB_TOKEN, key: 'dpp_test0123456789abcdefghij' },
      profile: { imports: { creates: 'off' } },
    });
    ({ daemon, log, url } = await startDaemon(world));
  });
  afterEach(async () => {
    await daemon.stop();
    await world.remove();
  });

  interface Settings {
    target: Record<string, unknown>;
    sources: { id: string; mappings: { fields: Record<string, string> }[] }[];
    [name: string]: unknown;
  }
  function change(edit: (config: Settings) => void): void {
    const config = parse(readFileSync(world.configFile, 'utf8')) as Settings;
    edit(config);
    world.write('dpp-sync.yaml', stringify(config));
  }
  const products = () =>
    Object.fromEntries(
      world.contents().products.map(({ sku, name, status }) => [textOf(sku), [name, status].map(textOf).join(' ')]),
    );
  const keysRead = () =>
    log.lines.flatMap(({ fields }) =>
      'event' in fields && fields.event === 'api.key.read' && 'key' in fields ? [fields.key] : [],
    );
  const reloads = () => log.lines.filter(({ message }) => message.startsWith('The config was'));

  it('a reload maps again what the changed mapping changes, and takes up a new source', async () => {
    await daemon.startRun('erp', 'cli');
    await expect.poll(products).toEqual({ 'A-1': 'Kettle DRAFT' });
    world.write('status.csv', PRODUCTS.fixed['status.csv']);
    world.write('more.csv', 'SKU,NAME\nM-1,Mixer\n');
    change(({ sources }) => {
      const [erp] = sources;
      if (erp?.mappings[0]) erp.mappings[0].fields['name'] = '"New " + row.NAME';
      sources.push({
        id: 'pim',
        connector: 'csv',
        options: { path: './more.csv', key: ['SKU'] },
        mappings: [
          { to: 'product', key: 'row.SKU', fields: { sku: 'row.SKU', name: 'row.NAME', country_of_origin: '"DE"' } },
        ],
      } as never);
    });
    const { ok, changed } = await daemon.reload('person');
    expect({ ok, changed }).toEqual({ ok: true, changed: ['sources.erp', 'sources.pim'] });
    await expect.poll(products).toEqual({ 'A-1': 'New Kettle DRAFT', 'A-2': 'New Toaster ARCHIVED' });
    await daemon.startRun('pim', 'cli');
    await expect.poll(() => products()['M-1']).toBe('Mixer DRAFT');
  });

  it('a reload by the command names what has changed and what is refused', async () => {
    // A command connects only to a daemon of the same version.
    await daemon.stop();
    ({ daemon } = await startDaemon(world, { version: findPackage().version }));
    const { care } = daemon.runtime;
    if (care === null) throw new Error('A daemon has no care.');
    const reloadNow = care.reload.bind(care);
    const asked = vi.spyOn(care, 'reload');
    /** Writes the change when the command reaches the daemon. On a slow machine the daemon notices an earlier change by itself. */
    const reloadWith = (edit: ((config: Settings) => void) | null) => {
      asked.mockImplementationOnce((cause) => {
        if (edit !== null) change(edit);
        return reloadNow(cause);
      });
      return runHere(['reload', '-c', world.configFile]);
    };
    expect(await reloadWith(null)).toMatchObject({ exitCode: 0, stdout: 'Nothing has changed.\n' });
    const reloaded = await reloadWith((config) => {
      config.target['maxRate'] = 3;
      config['backups'] = { folder: './backups', schedule: '0 3 * * *' };
    });
    expect(reloaded).toMatchObject({ exitCode: 0, stdout: 'Changed: target.maxRate, backups.\n' });
    expect(daemon.runtime.config).toMatchObject({ backups: { schedule: '0 3 * * *' } });
    const refused = await reloadWith((config) => {
      config['web'] = { port: 47_123, token: '${file:./token}' };
    });
    expect(refused).toMatchObject({ exitCode: 2 });
    expect(refused.stderr).toContain('The daemon refuses the config, and keeps the former settings:');
    expect(refused.stderr).toMatch(/^ {2}web\S*: .*Restart the daemon, or undo this change\.$/m);
  });

  it('a reload puts scheduled backups and a ceiling of the rate into use at once', async () => {
    const many = Array.from({ length: 40 }, (_, at) => `R-${at},Item ${at},10`);
    world.write('products.csv', `SKU,NAME,STATE\n${many.join('\n')}\n`);
    expect(daemon.runtime.care?.backups.nextAt()).toBeNull();
    change((config) => {
      config.target['maxRate'] = 10;
      config['backups'] = { folder: './backups', schedule: '0 3 * * *' };
    });
    expect(await daemon.reload('person')).toMatchObject({ ok: true, changed: ['target.maxRate', 'backups'] });
    expect(daemon.runtime.care?.backups.nextAt()).toBeGreaterThan(Date.now());
    const beganAt = performance.now();
    await daemon.startRun('erp', 'cli');
    await expect.poll(() => Object.keys(products()).length, { interval: 20 }).toBe(many.length);
    // Without the limit of the rate this takes a fraction of a second.
    expect(performance.now() - beganAt).toBeGreaterThan(3000);
  });

  it('a reload refuses an invalid config as a whole, keeps the former one, and reports that until the config is right', async () => {
    change((config) => {
      config.sources[0]?.mappings.push({ fields: {} });
      config['passports'] = { init: 'when-complete', publish: 'manual' };
    });
    const refused = await daemon.reload('person');
    expect(refused.ok).toBe(false);
    expect(refused.errors.join('\n')).toContain('sources[0].mappings[1]');
    expect(daemon.runtime.config.passports).toBeNull();
    expect(daemon.runtime.care?.lastReload()).toMatchObject({ ok: false });
    expect(await daemon.runtime.reads.daemonNote('reload')).toMatchObject({ ok: false, errors: refused.errors });
    const health = async () => (await (await fetch(`${url}/healthz`)).json()) as object;
    await expect.poll(health).toMatchObject({ status: 'ok', config: 'refused' });
    await daemon.startRun('erp', 'cli');
    await expect.poll(products).toEqual({ 'A-1': 'Kettle DRAFT' });

    change((config) => config.sources[0]?.mappings.pop());
    expect(await daemon.reload('person')).toMatchObject({ ok: true, changed: ['passports'] });
    expect(await health()).not.toHaveProperty('config');
    await expect.poll(() => daemon.runtime.reads.passportCounts({})).toMatchObject({ initialized: 1 });
  });

  it('a reload refuses settings that need a restart, with a sentence for each', async () => {
    change((config) => {
      config['ledger'] = './data/other.db';
      config.target['baseUrl'] = 'https://elsewhere.example.com';
      config.target['maxRate'] = 5;
    });
    const { ok, errors } = await daemon.reload('person');
    expect(ok).toBe(false);
    expect(errors).toEqual([
      expect.stringMatching(/^ledger: .*Restart the daemon, or undo this change\.$/),
      expect.stringMatching(/^target\.baseUrl: .*Restart the daemon, or undo this change\.$/),
    ]);
    expect(daemon.runtime.config.target.maxRate).toBeNull();
  });

  it('a daemon notices a config file that an editor or a mounted ConfigMap replaces, once the file stays as it is', async () => {
    const text = readFileSync(world.configFile, 'utf8');
    const replaced = `${world.configFile}.tmp`;
    writeFileSync(replaced, text.replace('row.NAME', '\'"Edited"\''));
    renameSync(replaced, world.configFile);
    await expect.poll(reloads).toMatchObject([{ level: 'info' }]);

    // A ConfigMap is a link to a link to a folder, and the link in the middle is replaced.
    for (const version of ['one', 'two']) mkdirSync(join(world.folder, version));
    writeFileSync(join(world.folder, 'one', 'dpp-sync.yaml'), readFileSync(world.configFile));
    writeFileSync(join(world.folder, 'two', 'dpp-sync.yaml'), text);
    symlinkSync('one', join(world.folder, '..data'));
    symlinkSync('..data/dpp-sync.yaml', replaced);
    renameSync(replaced, world.configFile);
    symlinkSync('two', join(world.folder, '..data_tmp'));
    renameSync(join(world.folder, '..data_tmp'), join(world.folder, '..data'));
    await expect.poll(reloads).toHaveLength(2);
    expect(reloads()[1]?.message).toBe('The config was reloaded. Changed: sources.erp.');
  });

  it('a daemon uses another API key from its file with the next request', async () => {
    await daemon.startRun('erp', 'cli');
    await expect.poll(products).toEqual({ 'A-1': 'Kettle DRAFT' });
    world.sandbox.ensureKey({
      organization: 'acme',
      name: 'new',
      scopes: ['read', 'write', 'publish'],
      key: 'dpp_new0123456789abcdefghij',
    });
    world.write('key', 'dpp_new0123456789abcdefghij');
    await expect.poll(reloads).toHaveLength(1);
    expect(reloads()[0]?.message).toBe('The config was reloaded. Changed: target.apiKey.');
    expect(keysRead().at(-1)).toBe('dpp_new0…');
    expect(JSON.stringify(log.lines)).not.toContain('dpp_new0123456789');
  });

  it('a run under load ends with the mapping that it began with, and the reload then maps all records again', async () => {
    world.write('products.csv', `SKU,NAME,STATE\n${rows.join('\n')}\n`);
    world.sandbox.faults.add({ kind: 'latency', operation: 'product.create', ms: 200 });
    await daemon.startRun('erp', 'cli');
    await expect.poll(() => daemon.runtime.pulling()).toEqual(['erp']);
    change(({ sources }) => {
      if (sources[0]?.mappings[0]) sources[0].mappings[0].fields['name'] = '"New " + row.NAME';
    });
    // What the change does is counted first only where a person asks.
    const { after } = await daemon.reload('signal');
    expect(after).toEqual(['erp']);
    world.endLatency();
    await expect
      .poll(() => Object.values(products()).filter((text) => text.startsWith('New Item')).length, {
        timeout: WAIT_MS,
      })
      .toBe(COUNT);
    const [run] = await daemon.runtime.reads.lastRuns({ source: 'erp', limit: 1 });
    expect(run).toMatchObject({ result: 'complete', streams: [{ read: COUNT, changed: COUNT }] });
    const { writes } = world.sandbox.inspect();
    expect(writes.filter(({ count }) => count !== 1)).toEqual([]);
  });
});
