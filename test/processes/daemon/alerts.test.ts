import { readFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Daemon, DaemonOptions } from '../../../src/daemon/daemon.ts';
import { findPackage } from '../../../src/lib/package.ts';
import { webForms } from '../../support/browser/web-forms.ts';
import { runHere } from '../../support/cli/cli-here.ts';
import { WAIT_MS } from '../../support/runner/limits.ts';
import { listenLocally } from '../../support/servers/local-server.ts';
import { PRODUCTS, runSource, startDaemon, WEB_TOKEN } from '../../support/worlds/daemon-world.ts';
import { createWorld, type World } from '../../support/worlds/world.ts';

const SOON = { timeout: WAIT_MS };
const HOOK_TOKEN = 'T0PSECRETxHOOKxPATHx42';

/** A service that receives notices. */
interface Receiver {
  url: string;
  notices: { alert: string; status: string; message: string }[];
  /** The status of its further answers. */
  status: number;
  close(): Promise<unknown>;
}

async function receive(): Promise<Receiver> {
  const receiver: Receiver = {
    url: '',
    notices: [],
    status: 200,
    close: () => new Promise((resolve) => server.close(resolve)),
  };
  const server: Server = createServer((request, response) => {
    let body = '';
    request.on('data', (chunk) => {
      body += String(chunk);
    });
    request.on('end', () => {
      if (receiver.status === 200) receiver.notices.push(JSON.parse(body) as Receiver['notices'][number]);
      response.writeHead(receiver.status).end();
    });
  });
  receiver.url = `${await listenLocally(server)}/hook/${HOOK_TOKEN}`;
  return receiver;
}

describe('the alerts of a daemon', () => {
  let receiver: Receiver;
  let world: World;
  let stop: (() => Promise<void>)[];

  beforeEach(async () => {
    stop = [];
    receiver = await receive();
    world = await createWorld({
      config: {
        web: { port: 0, token: WEB_TOKEN },
        sources: [PRODUCTS.source],
        alerts: { channels: [{ id: 'team', webhook: { url: receiver.url } }] },
      },
      files: { ...PRODUCTS.files, ...PRODUCTS.fixed },
    });
  });
  afterEach(async () => {
    for (const end of stop.reverse()) await end();
    await world.remove();
    await receiver.close();
  });

  async function start(options: Partial<DaemonOptions> = {}) {
    const started = await startDaemon(world, { version: findPackage().version, ...options });
    stop.push(() => started.daemon.stop());
    return started;
  }
  const run = (daemon: Daemon) => runSource(daemon, 'erp');
  const reported = () => receiver.notices.map(({ alert, status }) => `${alert} ${status}`);
  const alerts = (...args: string[]) => runHere(['alerts', ...args, '-c', world.configFile, '--json']);

  it('a daemon reports a failed run once, knows that after a restart, and reports its end once', async () => {
    world.write('products.csv', 'SKU;NAME\nA-1');
    const first = await start();
    await run(first.daemon);
    await expect.poll(reported, SOON).toEqual(['run_failed/erp firing']);
    expect(receiver.notices[0]?.message).toMatch(/^The last run of erp failed: .*: `dpp-sync sync erp`\.$/s);
    // The run fails again, so the status of the alert does not change.
    await run(first.daemon);
    await stop.pop()?.();

    const second = await start();
    await run(second.daemon);
    expect(second.daemon.runtime.alerts?.list()).toMatchObject([
      { id: 'run_failed/erp', firing: true, notices: [{ channel: 'team', state: 'sent', error: null }] },
    ]);
    expect(reported()).toEqual(['run_failed/erp firing']);
    world.write('products.csv', PRODUCTS.files['products.csv']);
    await run(second.daemon);
    await expect.poll(reported, SOON).toEqual(['run_failed/erp firing', 'run_failed/erp resolved']);
    expect(receiver.notices[1]?.message).toContain('This alert is over.');
    expect(JSON.stringify([first.log.lines, second.log.lines])).not.toContain(HOOK_TOKEN);
  });

  it('a daemon reports a run that is held, with what it would do and the next steps, and its end when it is refused', async () => {
    await world.remove();
    world = await createWorld({
      config: {
        web: { port: 0, token: WEB_TOKEN },
        sources: [{ ...PRODUCTS.source, approve: { creates: 1 } }],
        alerts: { channels: [{ id: 'team', webhook: { url: receiver.url } }] },
      },
      files: { ...PRODUCTS.files, ...PRODUCTS.fixed },
    });
    const { daemon, url } = await start();
    await run(daemon);
    await expect.poll(reported, SOON).toEqual(['run_held/erp firing']);
    expect(receiver.notices[0]?.message).toBe(
      'Run 1 of erp is held: it would make 2 new items (erp allows 1). Nothing of it is stored. ' +
        'See what it would do: `dpp-sync plan erp`. If it is right, approve it: `dpp-sync sync --accept erp`. ' +
        'If it is wrong, correct the export or the mapping, and read it again: `dpp-sync sync erp`. ' +
        'If nobody is to be asked until a run would do something else, refuse it: `dpp-sync refuse erp`.',
    );
    const web = webForms(url);
    await web.press((await web.get('/runs/accept?source=erp')).text, { action: '/runs/refuse' });
    await expect.poll(reported, SOON).toEqual(['run_held/erp firing', 'run_held/erp resolved']);
    expect(world.contents().products).toEqual([]);
  });

  it('alerts do not hold up the sync while a channel is away, and arrive when it is back', async () => {
    receiver.status = 503;
    world.write('products.csv', 'SKU,NAME,STATE\nA-1,Kettle,10\nA-2,,10\n');
    const { daemon, log } = await start();
    await run(daemon);
    await expect.poll(() => world.contents().products.length, SOON).toBe(1);
    const failures = () =>
      log.lines.filter(({ message }) => message.startsWith('The channel team could not be reached'));
    await expect.poll(() => failures().length, SOON).toBe(1);
    expect(failures()[0]?.fields).toMatchObject({
      alert: 'quarantine/erp',
      channel: 'team',
      error: expect.stringMatching(/^127\.0\.0\.1:\d+ answered 503\.$/),
    });
    const listed = (await alerts('list')).json();
    expect(listed).toMatchObject({
      channels: [{ id: 'team', type: 'webhook' }],
      alerts: [{ id: 'quarantine/erp', firing: true, notices: [{ state: 'waiting', error: expect.any(String) }] }],
    });
    expect(JSON.stringify(listed)).not.toContain(HOOK_TOKEN);
    receiver.status = 200;
    await expect.poll(reported, SOON).toEqual(['quarantine/erp firing']);
  });

  it('a person mutes, unmutes and tries alerts on the page of the settings', async () => {
    world.write('products.csv', 'SKU,NAME,STATE\nA-1,Kettle,10\nA-2,,10\n');
    const { daemon, url } = await start();
    const web = webForms(url);
    await run(daemon);
    await expect.poll(reported, SOON).toEqual(['quarantine/erp firing']);
    const id = 'quarantine/erp';
    expect((await web.get('/settings')).text).toContain(`aria-label="Mute ${id}"`);
    await web.post('/settings/alerts/mute', { id, for: '3600000' });
    expect((await web.get('/settings')).text).toContain(`aria-label="Unmute ${id}"`);
    const mutedUntil = daemon.runtime.alerts?.list()[0]?.mutedUntil ?? 0;
    expect(mutedUntil).toBeGreaterThan(Date.now());
    expect(mutedUntil).toBeLessThanOrEqual(Date.now() + 3_600_000);
    await web.post('/settings/alerts/mute', { id, for: '' });
    expect(daemon.runtime.alerts?.list()).toMatchObject([{ id, mutedUntil: null }]);

    await web.post('/settings/alerts/test');
    await expect.poll(reported, SOON).toEqual(['quarantine/erp firing', 'test test']);
    const actions = (await daemon.runtime.reads.actions({ limit: 3 })).rows.map(({ action }) => action);
    expect(actions).toEqual(['alert.test', 'alert.mute', 'alert.mute']);
  });

  it.each(['1e300', '9007199254740991', '-5', '1.5', 'long'])(
    'alerts are not muted for a time that the page of the settings does not offer: %s',
    async (length) => {
      world.write('products.csv', 'SKU,NAME,STATE\nA-1,Kettle,10\nA-2,,10\n');
      const { daemon, url } = await start();
      const web = webForms(url);
      await run(daemon);
      await expect.poll(reported, SOON).toEqual(['quarantine/erp firing']);
      const { status } = await web.post('/settings/alerts/mute', { id: 'quarantine/erp', for: length });
      expect(status).toBe(400);
      expect(daemon.runtime.alerts?.list()).toMatchObject([{ mutedUntil: null }]);
      expect((await web.get('/settings')).status).toBe(200);
    },
  );

  it('alerts are muted beside the daemon and without one, and reported when the mute ends', async () => {
    world.write('products.csv', 'SKU,NAME,STATE\nA-1,Kettle,10\nA-2,,10\n');
    receiver.status = 503;
    const first = await start();
    await run(first.daemon);
    await expect.poll(() => first.daemon.runtime.alerts?.list().length, SOON).toBe(1);
    expect((await alerts('mute', 'quarantine/erp', '--for', '1h')).json()).toMatchObject({ ok: true });
    expect(first.daemon.runtime.alerts?.list()[0]?.mutedUntil).toBeGreaterThan(Date.now() + 3_500_000);
    expect((await alerts('mute', 'nothing/there')).json()).toMatchObject({
      error: { code: 'usage', message: expect.stringContaining('There is no alert nothing/there.') },
    });
    await stop.pop()?.();
    receiver.status = 200;

    // The next daemon finds the mute in the ledger, and sends no notice.
    const second = await start();
    await run(second.daemon);
    expect(reported()).toEqual([]);
    await stop.pop()?.();
    expect((await alerts('unmute', 'quarantine/erp')).json()).toEqual({
      ok: true,
      id: 'quarantine/erp',
      mutedUntil: null,
    });
    await start();
    await expect.poll(reported, SOON).toEqual(['quarantine/erp firing']);
  });

  it('a daemon reports a refused key by an alert, and later that the key is accepted', async () => {
    world.sandbox.faults.add({ operation: 'product.create', kind: 'status', status: 401 });
    world.sandbox.faults.add({ operation: 'product.list', kind: 'status', status: 401 });
    const { daemon } = await start({ probeMs: 200 });
    await run(daemon);
    await expect.poll(reported, SOON).toEqual(['key_refused firing']);
    world.sandbox.faults.clear();
    await expect.poll(reported, SOON).toEqual(['key_refused firing', 'key_refused resolved']);
  });

  it('alerts follow a reload: the new channel gets the alerts that fire, and the former one gets nothing more', async () => {
    world.write('products.csv', 'SKU,NAME,STATE\nA-1,Kettle,10\nA-2,,10\n');
    const { daemon } = await start();
    await run(daemon);
    await expect.poll(reported, SOON).toEqual(['quarantine/erp firing']);
    const other = await receive();
    stop.push(async () => void (await other.close()));
    const config = readFileSync(world.configFile, 'utf8');
    world.write('dpp-sync.yaml', config.replace(receiver.url, other.url).replace('id: team', 'id: others'));
    expect(await daemon.runtime.care?.reload('person')).toMatchObject({ ok: true });
    await expect
      .poll(() => other.notices.map(({ alert, status }) => `${alert} ${status}`), SOON)
      .toEqual(['quarantine/erp firing']);
    // A config with errors causes an alert. It is sent by the former settings, which stay in use.
    world.write('dpp-sync.yaml', config.replace('queue: embedded', 'queue: nonsense'));
    expect(await daemon.runtime.care?.reload('person')).toMatchObject({ ok: false });
    await expect.poll(() => other.notices.at(-1), SOON).toMatchObject({ alert: 'config_refused', status: 'firing' });
    expect(reported()).toEqual(['quarantine/erp firing']);
  });

  it('alert channels can be tried by a message to each, and checked without one', async () => {
    const tried = await alerts('test');
    expect(tried.exitCode).toBe(0);
    expect(tried.json()).toEqual({ ok: true, channels: [{ channel: 'team', type: 'webhook', ok: true, error: null }] });
    expect(receiver.notices).toMatchObject([{ alert: 'test', status: 'test' }]);
    const checked = await runHere(['check', '-c', world.configFile, '--json']);
    expect(checked.json()).toMatchObject({
      ok: true,
      alerts: [{ channel: 'team', type: 'webhook', ok: true, error: null }],
    });
    expect(receiver.notices).toHaveLength(1);
    receiver.status = 404;
    const failed = await alerts('test');
    expect(failed.exitCode).toBe(3);
    expect(failed.json()).toMatchObject({
      ok: false,
      channels: [{ ok: false, error: expect.stringContaining('404') }],
    });
    expect(JSON.stringify([tried, failed])).not.toContain(HOOK_TOKEN);
  });
});
