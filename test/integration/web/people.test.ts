import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { openWeb } from '../../../src/web/web-server.ts';
import { type GuardedWeb, openGuardedWeb, PASSWORDS } from '../../support/browser/guarded-web.ts';
import { quickHash } from '../../support/browser/quick-hash.ts';
import { askWeb, visitWeb } from '../../support/browser/web-visitor.ts';
import { WAIT_MS } from '../../support/runner/limits.ts';
import { WEB_TOKEN } from '../../support/worlds/daemon-world.ts';

describe('people of the dashboard', () => {
  let web: GuardedWeb;
  beforeAll(async () => {
    web = await openGuardedWeb();
  });
  afterAll(() => web.remove());

  const logIn = (name: string, password: string, more: { from?: string; headers?: Record<string, string> } = {}) =>
    askWeb(web.url, '/login', {
      form: { name, password },
      headers: { origin: web.url, accept: 'text/html', ...more.headers },
      ...(more.from === undefined ? {} : { from: more.from }),
    });
  const actions = async () => (await web.daemon.runtime.reads.actions({ limit: 500 })).rows;

  it('people see their name, their role and the pages that their role may see', async () => {
    const { viewer, operator } = web.people;
    const menu = ({ body }: { body: string }) => /<header[^]*<\/header>/.exec(body)?.[0] ?? '';
    const seen = menu(await viewer.get('/'));
    expect(seen).toContain('<a href="/account">the-viewer</a> <span class="quiet">(viewer)</span>');
    expect(seen).toContain('<a href="/items">');
    expect(seen).not.toContain('<a href="/queues">');
    expect(menu(await operator.get('/'))).toContain('<a href="/queues">');
  });

  it('people are held up by name wherever the guesses come from, and neither others nor the token are', async () => {
    const guess = (number: number) => logIn('the-editor', `guess-${number}`, { from: `127.0.2.${number}` });
    // Ten guesses are free, and one each half minute.
    let guesses = 0;
    while ((await guess(guesses)).status === 401) guesses += 1;
    expect(guesses).toBeGreaterThanOrEqual(10);
    const held = await logIn('the-editor', PASSWORDS.editor, { from: '127.0.3.1' });
    expect([held.status, Number(held.headers['retry-after']) > 0]).toEqual([429, true]);
    expect(held.body).toContain('Too many wrong attempts. Try again in');
    expect((await logIn('the-viewer', PASSWORDS.viewer, { from: '127.0.3.1' })).status).toBe(303);
    expect((await logIn('', WEB_TOKEN, { from: '127.0.2.1' })).status).toBe(303);
    // Here the editor has logged in before.
    expect((await logIn('the-editor', PASSWORDS.editor)).status).toBe(303);
    expect(web.log.lines).toContainEqual(
      expect.objectContaining({ level: 'warn', message: expect.stringContaining('somebody tries tokens') }),
    );
  });

  it('people learn from a refused login neither whether the name exists nor how the password differs', async () => {
    const wrong = await logIn('the-viewer', 'wrong', { from: '127.0.4.1' });
    const unknown = await logIn('nobody-here', 'wrong', { from: '127.0.4.2' });
    expect([wrong.status, wrong.body]).toEqual([unknown.status, unknown.body]);
  });

  it('people get a cookie that only this host can set, behind HTTPS', async () => {
    const headers = { 'x-forwarded-proto': 'https' };
    const answer = await logIn('the-viewer', PASSWORDS.viewer, { headers });
    const [cookie = ''] = answer.headers['set-cookie'] ?? [];
    expect(cookie).toMatch(
      /^__Host-dpp_sync_session_\d+=[\w-]{43}; Path=\/; HttpOnly; SameSite=Strict; Max-Age=43200; Secure$/,
    );
    const [pair = ''] = cookie.split(';');
    expect((await askWeb(web.url, '/', { headers: { cookie: pair, ...headers } })).status).toBe(200);
    // A cookie without the prefix may have been set by another host of the domain.
    const plain = pair.replace('__Host-', '');
    expect((await askWeb(web.url, '/', { headers: { cookie: plain, ...headers } })).status).toBe(401);
  });

  it('people are named in the audit log with their actions and the results', async () => {
    const { operator } = web.people;
    const before = (await actions()).length;
    const started = await operator.post('/runs/start', { source: 'erp' });
    expect([started.status, started.headers.location]).toEqual([303, expect.stringMatching(/^\/tasks\/[0-9a-f]{32}$/)]);
    await vi.waitUntil(async () => (await actions())[0]?.outcome !== null, { timeout: WAIT_MS });
    expect((await operator.post('/runs/start', { source: 'nowhere' })).status).toBe(400);
    const rows = await actions();
    // The task has no separate entry: it has taken over the entry of the request that started it.
    expect(rows.slice(0, rows.length - before)).toEqual([
      expect.objectContaining({
        who: 'the-operator',
        via: 'web',
        detail: { source: 'nowhere' },
        outcome: 'Failed: The config has no source with this name.',
      }),
      expect.objectContaining({
        who: 'the-operator',
        via: 'web',
        detail: { source: 'erp' },
        outcome: expect.stringContaining(' rows read, '),
      }),
    ]);
    const [run] = (await web.daemon.runtime.reads.runs({ source: 'erp' }, { limit: 1 })).rows;
    expect(run?.askedBy).toBe('the-operator');
    expect((await operator.get('/runs')).body).toContain('data-label="asked for by">the-operator</td>');
    expect((await web.people.viewer.get('/audit')).status).toBe(403);
    const { body } = await operator.get('/audit');
    for (const text of ['the-operator', 'The config has no source with this name.', 'login'])
      expect(body).toContain(text);
  });

  it('people are named in the audit log with what they change on the board of the queues', async () => {
    const { operator } = web.people;
    const token = /^XSRF-TOKEN=([\w-]{43}); Path=\/queues\/board; SameSite=Strict$/.exec(
      (await operator.get('/queues/board/')).headers['set-cookie']?.[0] ?? '',
    )?.[1];
    const headers = { cookie: operator.cookie, origin: web.url, 'x-xsrf-token': token ?? '' };
    const change = async (path: string) =>
      (await askWeb(web.url, `/queues/board/api/queues/map/${path}`, { method: 'PUT', headers })).status;
    const before = (await actions()).length;
    expect([await change('pause'), await change('resume'), await change('no-such-job/retry')]).toEqual([200, 200, 404]);
    expect(await change('obliterate')).toBe(403);
    const rows = await actions();
    expect(rows.slice(0, rows.length - before).reverse()).toMatchObject(
      [
        { action: 'queue.pause', detail: { queue: 'map' }, outcome: 'Done.' },
        { action: 'queue.resume', detail: { queue: 'map' }, outcome: 'Done.' },
        {
          action: 'queue.retry',
          detail: { queue: 'map', job: 'no-such-job' },
          outcome: 'Refused with status 404.',
        },
      ].map((row) => ({ ...row, who: 'the-operator', via: 'web' })),
    );
  });

  it('people may stop their own tasks, and only operators those of others', async () => {
    const { operator, editor } = web.people;
    web.world.sandbox.faults.add({ operation: 'product.create', kind: 'latency', ms: 60_000 });
    web.world.write('products.csv', 'SKU,NAME,STATE\nA-9,Slow,10\n');
    const { location = '' } = (await operator.post('/runs/start', { source: 'erp' })).headers;
    expect((await editor.get(location)).body).not.toContain('Stop this task');
    expect((await editor.post(`${location}/stop`, {})).status).toBe(403);
    expect((await operator.get(location)).body).toContain('Stop this task');
    expect((await operator.post(`${location}/stop`, {})).status).toBe(303);
    // The result of the form is shown once.
    expect((await operator.get(location)).body).toContain('The task is being stopped.');
    expect((await operator.get(location)).body).not.toContain('The task is being stopped.');
    web.world.endLatency();
    await vi.waitUntil(async () => (await operator.get(location)).body.includes('>running<') === false, {
      timeout: WAIT_MS,
    });
    expect((await operator.get(location)).body).toContain('The task was stopped.');
  });

  it('people get an answer that a program can read from the admin API, also where it refuses', async () => {
    const refused = await askWeb(web.url, '/api/v1/items');
    expect([refused.status, refused.headers['content-type']]).toEqual([
      401,
      expect.stringContaining('application/problem+json'),
    ]);
    expect(JSON.parse(refused.body)).toMatchObject({ status: 401, detail: expect.any(String) });
    const missing = await askWeb(web.url, '/api/v1/nothing', { headers: { authorization: `Bearer ${WEB_TOKEN}` } });
    expect([missing.status, missing.headers['content-type']]).toEqual([
      404,
      expect.stringContaining('application/problem+json'),
    ]);
  });
});

describe('a dashboard behind a proxy', () => {
  it('a dashboard behind a trusted proxy counts the guesses of a stranger apart from those of people', async () => {
    const web = await openGuardedWeb();
    const { config } = web.daemon.runtime;
    if (config.web === null) throw new Error('There is no web section.');
    const logIn = async (client: string, name: string, password: string) => {
      const headers = { origin: web.url, accept: 'text/html', 'x-forwarded-for': `198.51.100.1, ${client}` };
      return (await askWeb(web.url, '/login', { form: { name, password }, headers, from: '127.0.9.1' })).status;
    };
    const guess = async (client: string) => {
      for (let number = 0; number < 10; number += 1) await logIn(client, '', 'wrong');
      return await logIn(client, '', 'wrong');
    };
    await web.server.renew({ ...config.web, trustedProxies: ['127.0.9.0/24'] });
    expect(await guess('203.0.113.9')).toBe(429);
    expect(await logIn('203.0.113.8', 'the-viewer', PASSWORDS.viewer)).toBe(303);
    // The header is not believed if the connection comes from elsewhere.
    await web.server.renew({ ...config.web, trustedProxies: ['127.0.8.1'] });
    expect(await guess('203.0.113.7')).toBe(429);
    expect(await logIn('203.0.113.6', 'the-viewer', PASSWORDS.viewer)).toBe(429);
    await web.remove();
  });
});

describe('a dashboard whose proxy names people', () => {
  let web: GuardedWeb;
  beforeAll(async () => {
    web = await openGuardedWeb();
    const { config } = web.daemon.runtime;
    if (config.web === null) throw new Error('There is no web section.');
    await web.server.renew({ ...config.web, userHeader: 'X-Forwarded-User', trustedProxies: ['127.0.9.1'] });
  });
  afterAll(() => web.remove());

  const named = (name: string, headers: Record<string, string> = {}) => ({
    from: '127.0.9.1',
    headers: { accept: 'text/html', origin: web.url, 'x-forwarded-user': name, ...headers },
  });
  const get = (path: string, name: string, headers = {}) => askWeb(web.url, path, named(name, headers));
  const csrfOf = async (name: string) =>
    /name="csrf" value="([\w-]{43})"/.exec((await get('/runs', name)).body)?.[1] ?? '';

  it('a proxy that names a person opens the pages, the API and the board in the name of the person', async () => {
    const { body } = await get('/', 'the-viewer');
    expect(body).toContain('<a href="/account">the-viewer</a> <span class="quiet">(viewer)</span>');
    expect(body).not.toContain('Log out');
    expect((await get('/api/v1/status', 'the-viewer')).status).toBe(200);
    expect((await get('/queues/board/', 'the-viewer')).status).toBe(403);
    expect((await get('/queues/board/', 'the-operator')).status).toBe(200);
    expect((await get('/account', 'the-viewer')).body).toContain('logs you in as the-viewer');
    expect((await get('/login?next=%2Fitems', 'the-viewer')).headers.location).toBe('/items');
    const login = { ...named('the-viewer'), form: { name: 'the-operator', password: PASSWORDS.operator } };
    expect((await askWeb(web.url, '/login', login)).status).toBe(403);
  });

  it('a proxy that names a person makes changes with the CSRF token of this person alone, and the audit log has the name', async () => {
    const post = async (name: string, csrf: string, headers = {}) =>
      (await askWeb(web.url, '/runs/start', { ...named(name, headers), form: { csrf, source: 'erp' } })).status;
    const csrf = await csrfOf('the-operator');
    expect([await post('the-operator', ''), await post('the-operator', await csrfOf('the-viewer'))]).toEqual([
      403, 403,
    ]);
    expect(await post('the-operator', csrf, { origin: 'https://evil.example' })).toBe(403);
    expect(await post('the-viewer', await csrfOf('the-viewer'))).toBe(403);
    expect(await post('the-operator', csrf)).toBe(303);
    expect((await web.daemon.runtime.reads.actions({ limit: 1 })).rows).toMatchObject([
      { who: 'the-operator', action: 'run.start' },
    ]);
    const json = { 'content-type': 'application/json' };
    const byApi = { ...named('the-operator', { ...json, 'x-csrf-token': csrf }), method: 'POST', body: '{}' };
    expect([200, 202]).toContain((await askWeb(web.url, '/api/v1/operations/check-settings', byApi)).status);
  });

  it('a proxy that names a person wins over the session and the token of another person', async () => {
    const { cookie } = web.people.operator;
    for (const headers of [{ cookie }, { authorization: `Bearer ${WEB_TOKEN}` }]) {
      expect((await get('/audit', 'the-viewer', headers)).status).toBe(403);
      expect((await get('/items', 'nobody-here', headers)).status).toBe(403);
    }
  });

  it('a proxy that names an unknown person, or no person, gets a page that says what to do', async () => {
    const unknown = await get('/items', 'carla@example.com');
    expect([unknown.status, unknown.body]).toEqual([
      403,
      expect.stringContaining('{ name: carla@example.com, role: viewer }'),
    ]);
    expect((await get('/api/v1/items', 'carla', { accept: 'application/json' })).headers['content-type']).toContain(
      'application/problem+json',
    );
    for (const odd of ['', 'the-viewer, the-operator', '<script>']) {
      const { status, body } = await get('/items', odd);
      expect([status, body]).toEqual([403, expect.stringContaining('does not send the name of one user')]);
    }
  });

  it('a client that names a person itself is a stranger', async () => {
    const question = { ...named('the-operator', { 'x-forwarded-for': '127.0.9.1' }), from: '127.0.7.1' };
    for (let request = 0; request < 2; request += 1) {
      expect((await askWeb(web.url, '/items', question)).headers.location).toBe('/login?next=%2Fitems');
    }
    const warnings = web.log.lines.filter(({ message }) => message.includes('has the header X-Forwarded-User'));
    expect(warnings).toHaveLength(1);
  });
});

describe('the page of the account', () => {
  let web: GuardedWeb;
  beforeAll(async () => {
    web = await openGuardedWeb();
  });
  afterAll(() => web.remove());
  const CHOSEN = 'seven wooden chairs';
  const form = (present: string, chosen = CHOSEN, repeated = chosen) => ({
    present_password: present,
    new_password: chosen,
    repeated_password: repeated,
  });

  it('the page of the account changes the own password, and refuses one that is weak or mistyped', async () => {
    const { viewer } = web.people;
    expect((await viewer.get('/account')).body).toContain('Change the password');
    const change = (fields: Record<string, string>) => viewer.post('/account', fields);
    for (const [fields, problem] of [
      [form('wrong'), 'The present password is wrong.'],
      [form(PASSWORDS.viewer, 'short'), 'The new password has fewer than 10 characters.'],
      [form(PASSWORDS.viewer, CHOSEN, 'another one'), 'The two new passwords differ.'],
      [form(PASSWORDS.viewer, PASSWORDS.viewer), 'The new password is the present one.'],
    ] as const) {
      expect(await change(fields)).toMatchObject({ status: 400, body: expect.stringContaining(problem) });
    }
    const other = await visitWeb(web.url, { name: 'the-viewer', password: PASSWORDS.viewer });
    expect((await change(form(PASSWORDS.viewer))).headers.location).toBe('/account');
    expect((await viewer.get('/account')).body).toContain('Your password was changed.');
    expect((await other.get('/account')).status).toBe(303);
    await expect(visitWeb(web.url, { name: 'the-viewer', password: PASSWORDS.viewer })).rejects.toThrow('401');
    await visitWeb(web.url, { name: 'the-viewer', password: CHOSEN });
    const { rows } = await web.daemon.runtime.reads.actions({ limit: 500 });
    expect(
      rows.filter(({ action }) => action === 'password.change').map(({ outcome, detail }) => ({ outcome, detail })),
    ).toEqual([
      { outcome: 'Done.', detail: {} },
      ...Array.from({ length: 4 }, () => ({ outcome: 'Refused: the password stays as it was.', detail: {} })),
    ]);
    const [stored] = await web.daemon.runtime.ledger.passwords();
    expect(JSON.stringify([rows, web.log.lines])).not.toMatch(/seven wooden|scrypt/);
    expect(web.daemon.runtime.secrets.scrub(`x ${stored?.hash}`)).not.toContain(stored?.hash);
  });

  it('the page of the account says to a person with the token that there is no password', async () => {
    const byToken = await visitWeb(web.url, { password: WEB_TOKEN });
    expect((await byToken.get('/account')).body).toContain('You are logged in with the token.');
    expect((await byToken.post('/account', form(WEB_TOKEN))).status).toBe(403);
  });
});

describe('a reload of the config', () => {
  it('a reload of the config lets new people in, and ends the sessions of those that have changed', async () => {
    const web = await openGuardedWeb();
    const { viewer, operator } = web.people;
    const byToken = await visitWeb(web.url, { password: WEB_TOKEN });
    const { config } = web.daemon.runtime;
    if (config.web === null) throw new Error('There is no web section.');
    const users = config.web.users.flatMap((user) =>
      user.name === 'the-viewer' ? [] : [user.name === 'the-operator' ? { ...user, role: 'viewer' as const } : user],
    );
    await web.server.renew({ ...config.web, users, allowedHosts: ['new.example'] });
    expect((await viewer.get('/')).status).toBe(303);
    expect((await operator.get('/')).status).toBe(303);
    expect((await web.people.editor.get('/')).status).toBe(200);
    expect((await byToken.get('/')).status).toBe(200);
    const again = await visitWeb(web.url, { name: 'the-operator', password: PASSWORDS.operator });
    expect((await again.get('/audit')).status).toBe(403);
    expect((await askWeb(web.url, '/healthz', { headers: { host: 'new.example' } })).status).toBe(200);
    await web.remove();
  });

  it('a password that a user has chosen does not return with a config of before its end, nor at a start', async () => {
    const web = await openGuardedWeb();
    const { config, ledger } = web.daemon.runtime;
    if (config.web === null) throw new Error('There is no web section.');
    const chosen = 'seven wooden chairs';
    const fields = { present_password: PASSWORDS.viewer, new_password: chosen, repeated_password: chosen };
    expect((await web.people.viewer.post('/account', fields)).status).toBe(303);
    await web.server.renew(config.web);
    await visitWeb(web.url, { name: 'the-viewer', password: chosen });
    await web.server.renew({ ...config.web, users: config.web.users.filter(({ name }) => name !== 'the-viewer') });
    expect(await ledger.passwords()).toEqual([]);
    await web.server.renew(config.web);
    await expect(visitWeb(web.url, { name: 'the-viewer', password: chosen })).rejects.toThrow('401');
    await visitWeb(web.url, { name: 'the-viewer', password: PASSWORDS.viewer });
    await ledger.setPassword({ name: 'the-viewer', hash: quickHash(chosen), replaces: 'a former hash' });
    const restarted = await openWeb(web.context, config.web);
    expect(await ledger.passwords()).toEqual([]);
    await restarted.close();
    await web.remove();
  });
});
