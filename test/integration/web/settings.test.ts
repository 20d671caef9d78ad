import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { parse, stringify } from 'yaml';
import type { Daemon } from '../../../src/daemon/daemon.ts';
import { type WebForms, webForms } from '../../support/browser/web-forms.ts';
import { PRODUCTS, startDaemon, WEB_TOKEN } from '../../support/worlds/daemon-world.ts';
import { API_KEY, createWorld, type World } from '../../support/worlds/world.ts';
import { dailyFarFromNow } from '../daemon/far-schedule.ts';

const PLANTED = 'planted-secret-of-a-header-0123456789';

let world: World;
let daemon: Daemon;
let web: WebForms;

afterEach(async () => {
  await daemon.stop();
  await world.remove();
});

async function started(config: Record<string, unknown> = {}): Promise<void> {
  const { options } = PRODUCTS.source;
  const access = { https: { token: PLANTED, headers: { 'x-key': PLANTED } } };
  world = await createWorld({
    config: {
      web: { port: 0, token: WEB_TOKEN },
      sources: [{ ...PRODUCTS.source, options: { ...options, access } }],
      ...config,
    },
    files: PRODUCTS.files,
  });
  const opened = await startDaemon(world);
  daemon = opened.daemon;
  web = webForms(opened.url);
}

describe('the settings', () => {
  it('the page of the settings shows each value of the config with its origin, and at most 8 characters of a secret', async () => {
    await started();
    const { status, text } = await web.get('/settings');
    expect(status).toBe(200);
    expect(text).toMatch(/sources\[0\]\.options\.path[\s\S]*?\.\/products\.csv[\s\S]*?file, line \d+/);
    expect(text).toMatch(/sources\[0\]\.options\.delimiter<[\s\S]*?default/);
    expect(text).toMatch(/target\.firstContact<[\s\S]*?list[\s\S]*?default/);
    expect(text).toContain(API_KEY.slice(0, 8));
    for (const secret of [API_KEY, WEB_TOKEN, PLANTED]) expect(text).not.toContain(secret.slice(0, 9));
  });

  it('the page of the settings shows versions, who may log in, and that there are no backups', async () => {
    await started();
    const { text } = await web.get('/settings');
    expect(text).toContain('1.2.3');
    expect(text).toContain(process.version);
    expect(text).toMatch(/SQLite<\/dt><dd>3\./);
    expect(text).toContain('A person who logs in with the token is an operator.');
    expect(text).toContain('The config has no <code>backups</code>');
  });

  it('the page of the settings shows which proxies are trusted, and with what', async () => {
    const trusted = { port: 0, token: WEB_TOKEN, trustedProxies: ['127.0.9.1', '10.1.0.0/16'] };
    const users = [{ name: 'kim@example.com', role: 'editor' }];
    await started({ web: { ...trusted, userHeader: 'X-Forwarded-Email', users } });
    const { text } = await web.get('/settings');
    expect(text).toContain('<dd><code>127.0.9.1</code>, <code>10.1.0.0/16</code></dd>');
    expect(text).toContain('<dt>Names the person (web.userHeader)</dt><dd><code>X-Forwarded-Email</code></dd>');
    expect(text).toContain('So every program at these addresses can be each of the users.');
    expect(text).toMatch(/kim@example\.com[^]*?editor[^]*?>proxy</);
    const reload = async (proxies: object) => {
      const config = parse(readFileSync(world.configFile, 'utf8'));
      world.write('dpp-sync.yaml', stringify({ ...config, web: { port: 0, token: WEB_TOKEN, ...proxies } }));
      await web.post('/settings/reload');
      return (await web.get('/settings')).text;
    };
    expect(await reload({ trustedProxies: ['10.1.2.3'] })).toContain('They name no person: people log in at the form.');
    expect(await reload({})).toContain('No proxy is trusted:');
  });

  it('the page of the settings checks the sources, the queue and the API on demand', async () => {
    await started();
    const { to } = await web.post('/settings/check');
    const task = await web.taskPage(to);
    expect(task).toMatch(/erp\/default<\/b>: <span class="good">.*columns SKU, NAME, STATE/);
    expect(task).toContain('embedded, in the process');
    expect(task).toContain(`<code>${API_KEY.slice(0, 8)}…</code>`);
    expect(task).toMatch(/<li>publish: /);
    expect(task).not.toContain(API_KEY.slice(0, 9));
  });

  it('the page of the settings makes a backup on demand, which it and the audit log name', async () => {
    await started({ backups: { folder: './backups', schedule: dailyFarFromNow() } });
    expect((await web.get('/settings')).text).toContain('Make a backup now');
    const { to } = await web.post('/settings/backup');
    const task = await web.taskPage(to);
    expect(task).toContain('The backup was made and verified:');
    const [file = ''] = readdirSync(join(world.folder, 'backups'));
    expect(task).toContain(file);
    expect((await web.get('/settings')).text).toContain(file);
    const [action] = (await daemon.runtime.reads.actions({ limit: 1 })).rows;
    expect(action).toMatchObject({ action: 'ledger.backup', outcome: expect.stringContaining(file) });
  });

  it('the page of the settings reads the config again, and reports why a broken one is refused', async () => {
    await started();
    expect(await web.post('/settings/reload')).toMatchObject({ status: 303, to: '/settings' });
    world.write('dpp-sync.yaml', 'target: [');
    await web.post('/settings/reload');
    const { text } = await web.get('/settings');
    expect(text).toContain('The former settings stay in use.');
    expect(text).toContain('The file cannot be read as a config.');
    expect(await web.post('/settings/backup')).toMatchObject({ status: 303 });
  });

  it('the page of the settings sends no test notice where the config has no channel any more, and says so', async () => {
    await started({ alerts: { channels: [{ id: 'chat', webhook: { url: 'http://127.0.0.1:9/' } }] } });
    const { text } = await web.get('/settings');
    const file = world.configFile;
    writeFileSync(file, readFileSync(file, 'utf8').replace(/^alerts:\n(?: .*\n)+/m, ''));
    await web.post('/settings/reload');
    await web.press(text, { action: '/settings/alerts/test' });
    const [action] = (await daemon.runtime.reads.actions({ limit: 1 })).rows;
    expect(action?.outcome).toBe('The config has no channel for alerts, so no test notice was sent.');
  });
});
