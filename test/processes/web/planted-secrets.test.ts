import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import type { Daemon } from '../../../src/daemon/daemon.ts';
import { loadRuntimeConfig } from '../../../src/daemon/load.ts';
import { backUpLedger } from '../../../src/ledger/backup/backup.ts';
import { createLogger } from '../../../src/lib/logging/logging.ts';
import { createSecretStore } from '../../../src/lib/logging/secrets.ts';
import { hashPassword } from '../../../src/lib/password-hash.ts';
import { openWeb, type ServedRoute } from '../../../src/web/web-server.ts';
import { pathOf } from '../../support/browser/guarded-web.ts';
import { askWeb, visitWeb, type WebReply, type WebVisitor } from '../../support/browser/web-visitor.ts';
import { cli } from '../../support/cli/cli.ts';
import { installSdk } from '../../support/cli/sdk-package.ts';
import { WAIT_MS } from '../../support/runner/limits.ts';
import { endServer } from '../../support/servers/local-server.ts';
import { describeRedis, type RedisServer, startRedis } from '../../support/servers/redis.ts';
import { PRODUCTS, startDaemon } from '../../support/worlds/daemon-world.ts';
import { API_KEY, createWorld, type World } from '../../support/worlds/world.ts';

const PLANTED = {
  'the API key': API_KEY,
  'the publish key': 'dpp_publ9876543210planted',
  'the token of the dashboard': 'planted-web-token-1f2e3d',
  'the password of a user': 'planted battery staple',
  'the password of the queue': 'planted-queue-7a6b5c4d',
  'the secret of a source': 'planted-source-0a9b8c7d',
  'the path of a webhook': 'planted-hook-path-5e4d3c2b',
  'the token of a webhook': 'planted-hook-token-9d8c7b',
  'the token of the trace collector': 'planted-collector-3c2b1a',
  'a guessed password': 'planted-guess-of-somebody',
  'a wrong present password': 'planted-present-2c3d4e5f',
  'the new password of a user': 'planted wooden chairs',
  'a new password that was not repeated': 'planted-unlike-1b2c3d4e',
  'the name that a stranger gives himself': 'planted-stranger-4f5e6d7c',
  'a name that the config does not have': 'planted-unknown-6a5b4c3d',
  'a header of the proxy that is no name': 'planted odd header 8b7a6c5d',
};

/** The header and the address of the proxy that names people. */
const USER_HEADER = 'x-forwarded-user';
const PROXY = '127.0.9.1';

/** A careless connector, which writes its password into the log, its messages, the causes of its errors, and a crash. */
const CONNECTOR = `import { defineConnector, secret, sourceFault, z } from 'dpp-sync/sdk';
export default defineConnector({
  id: 'careless',
  title: 'Careless',
  reads: 'snapshot',
  options: z.strictObject({ password: secret().describe('The password.'), crashes: z.boolean().default(false).describe('Crashes.') }),
  streamOptions: z.strictObject({}),
  async open({ password, crashes }, host) {
    return {
      async check() { return { found: 'a row' }; },
      async *pull() {
        host.log.warn({ password, nested: { url: 'https://u:' + password + '@h/' } }, 'Logging in with ' + password);
        if (crashes) {
          setTimeout(() => { throw new Error('Crashed with ' + password, { cause: new Error(password) }); }, 0);
          await new Promise(() => {});
        }
        yield { rows: [{ fields: { id: 'X-1' }, place: { path: '1' } }] };
        throw sourceFault('The password ' + password + ' is wrong.', { suggestion: 'Change ' + password + '.', cause: new Error(password) });
      },
      async close() {},
    };
  },
});
`;
const careless = (id: string, more = {}) => ({
  id,
  connector: './careless.ts',
  options: { password: '${file:./source-secret}', ...more },
  mappings: [{ to: 'product', key: 'row.id', fields: { sku: 'row.id', name: '"x"' } }],
});

/** The texts of a secret that must be nowhere: all characters after the first 8, in plain text and in encoded forms. */
function needles(secret: string): string[] {
  const hidden = secret.slice(8);
  const base64 = Buffer.from(secret).toString('base64').slice(0, -4);
  return [hidden, encodeURIComponent(hidden), hidden.replaceAll(' ', '+'), base64];
}

function found(text: string): string[] {
  return Object.entries(PLANTED).flatMap(([name, secret]) =>
    needles(secret).some((needle) => text.includes(needle)) ? [name] : [],
  );
}

/** Starts a collector of traces that keeps all data that it receives. */
async function startCollector() {
  let text = '';
  const server = createServer((request, response) => {
    request.setEncoding('utf8').on('data', (part: string) => (text += part));
    request.on('end', () => response.writeHead(200, { 'content-type': 'application/json' }).end('{}'));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1/traces`,
    text: () => text,
    close: () => endServer(server),
  };
}

describeRedis('a planted secret', () => {
  let world: World;
  let redis: RedisServer;
  let daemon: Daemon;
  let url: string;
  let served: readonly ServedRoute[];
  let person: WebVisitor;
  let collector: Awaited<ReturnType<typeof startCollector>>;
  let log = '';
  let hash = '';
  /** The answers to requests with planted names and passwords. */
  const answers: WebReply[] = [];

  beforeAll(async () => {
    collector = await startCollector();
    redis = await startRedis({ password: PLANTED['the password of the queue'], settings: { rdbcompression: 'no' } });
    hash = await hashPassword(PLANTED['the password of a user']);
    world = await createWorld({
      queue: redis.url,
      target: { publishKey: PLANTED['the publish key'] },
      config: {
        web: {
          port: 0,
          token: '${file:./web-token}',
          users: [{ name: 'anna', role: 'operator', password: '${file:./anna}' }],
          userHeader: USER_HEADER,
          trustedProxies: [PROXY],
        },
        alerts: {
          channels: [
            {
              id: 'hook',
              webhook: {
                url: `http://127.0.0.1:9/${PLANTED['the path of a webhook']}`,
                token: PLANTED['the token of a webhook'],
              },
            },
          ],
        },
        observe: {
          traces: {
            endpoint: collector.url,
            headers: { 'x-token': PLANTED['the token of the trace collector'] },
            sampleRatio: 1,
          },
        },
        passports: { init: 'when-complete', publish: 'auto' },
        sources: [PRODUCTS.source, careless('own')],
      },
      files: {
        ...PRODUCTS.files,
        'careless.ts': CONNECTOR,
        'web-token': `${PLANTED['the token of the dashboard']}\n`,
        anna: `${hash}\n`,
        'source-secret': `${PLANTED['the secret of a source']}\n`,
      },
    });
    installSdk(world.folder);
    world.sandbox.ensureKey({
      organization: 'acme',
      name: 'publish',
      scopes: ['publish'],
      key: PLANTED['the publish key'],
    });
    const secrets = createSecretStore();
    const config = await loadRuntimeConfig(world.configFile, secrets);
    ({ daemon, url } = await startDaemon(world, {
      secrets,
      config,
      log: createLogger({ level: 'trace', secrets, write: (line) => (log += line) }),
      openWeb: async (context, web) => {
        const server = await openWeb(context, web);
        ({ served } = server);
        return server;
      },
    }));
    for (const source of ['erp', 'own']) await daemon.startRun(source, 'schedule');
    await vi.waitUntil(
      async () => (await daemon.runtime.reads.lastRuns({ source: 'own', limit: 1 }))[0]?.result === 'failed',
      {
        timeout: WAIT_MS,
      },
    );
    await vi.waitUntil(async () => (await daemon.runtime.queues.failed('deliver')).length > 0, { timeout: WAIT_MS });

    await askWeb(url, '/login', {
      form: { name: 'anna', password: PLANTED['a guessed password'] },
      headers: { origin: url },
    });
    await askWeb(url, '/metrics', { headers: { authorization: `Bearer ${PLANTED['a guessed password']}` } });
    person = await visitWeb(url, { name: 'anna', password: PLANTED['the password of a user'] });
    // Calls every action with meaningless fields. Each action is refused or done, and written to the audit log.
    for (const route of served.filter(({ method, path }) => method === 'POST' && path !== '/logout')) {
      await askWeb(url, pathOf(route, '1'), {
        method: 'POST',
        headers: { authorization: `Bearer ${PLANTED['the token of the dashboard']}` },
        form: { token: PLANTED['a guessed password'], password: PLANTED['a guessed password'] },
      });
    }
    await nameStrangers();
    await changePassword();
  });

  /** Sends requests that name people whom nobody knows. Only the page for a name that the config does not have may show it. */
  async function nameStrangers(): Promise<void> {
    const ask = (path: string, name: string, from: string) =>
      askWeb(url, path, { from, headers: { accept: 'text/html', [USER_HEADER]: name } });
    const unknown = PLANTED['a name that the config does not have'];
    for (const path of ['/', '/account', '/audit', '/api/v1/status', '/metrics']) {
      answers.push(await ask(path, PLANTED['the name that a stranger gives himself'], '127.0.7.1'));
      answers.push(await ask(path, PLANTED['a header of the proxy that is no name'], PROXY));
      expect((await ask(path, unknown, PROXY)).status).toBe(403);
    }
    expect((await ask('/account', 'anna', PROXY)).body).toContain('logs you in as anna');
  }

  async function changePassword(): Promise<void> {
    const change = async (present: string, chosen: string, repeated: string) => {
      const form = { present_password: present, new_password: chosen, repeated_password: repeated };
      const answer = await person.post('/account', form);
      answers.push(answer);
      return answer.status;
    };
    const former = PLANTED['the password of a user'];
    const chosen = PLANTED['the new password of a user'];
    expect(await change(former, chosen, PLANTED['a new password that was not repeated'])).toBe(400);
    expect(await change(PLANTED['a wrong present password'], chosen, chosen)).toBe(400);
    expect(await change(former, chosen, chosen)).toBe(303);
    const logIn = (password: string) =>
      askWeb(url, '/login', { form: { name: 'anna', password }, headers: { origin: url } });
    answers.push(await logIn(former), await logIn(chosen));
    expect(answers.slice(-2).map(({ status }) => status)).toEqual([401, 303]);
  }
  afterAll(async () => {
    await daemon.stop();
    await world.remove();
    await redis.stop();
    await collector.close();
  });

  it('each planted secret was used: people logged in, a source failed with it, and writes were sent', () => {
    expect(person.cookie).not.toBe('');
    expect(log).toContain('own');
    expect(world.contents().products.length).toBeGreaterThan(0);
    expect(found(`x ${API_KEY} y`)).toEqual(['the API key']);
  });

  it('a planted secret is in no line of the log, not even of the finest level', () => {
    expect(log.split('\n').length).toBeGreaterThan(10);
    expect(log.split('\n').filter((line) => found(line).length > 0)).toEqual([]);
  });

  it('a planted name or password is in no answer to the request that has sent it, error pages and refused forms included', () => {
    expect(answers.map(({ status }) => status)).toEqual(expect.arrayContaining([303, 400, 401, 403]));
    for (const { status, headers, body } of answers) {
      expect([status, found(`${JSON.stringify(headers)} ${body}`)]).toEqual([status, []]);
    }
  });

  it('a chosen password is in the ledger and its backups as a hash, and neither hash is in the log or on a page', async () => {
    const [stored] = await daemon.runtime.ledger.passwords();
    expect(stored).toMatchObject({ name: 'anna', hash: expect.stringMatching(/^\$scrypt\$/) });
    const backup = join(world.folder, 'data', 'backup.db');
    const file = join(world.folder, 'data', 'ledger.db');
    backUpLedger({ file, to: backup, force: false, now: Date.now(), onStep: () => undefined });
    const copy = readFileSync(backup).toString('latin1');
    expect([copy.includes(stored?.hash ?? 'none'), found(copy)]).toEqual([true, []]);
    expect(copy).not.toContain(hash);
    const texts = [log, ...answers.map(({ body }) => body)];
    for (const path of ['/account', '/settings', '/audit']) texts.push((await person.get(path)).body);
    for (const secret of [hash, stored?.hash ?? '']) {
      expect(texts.filter((text) => text.includes(secret.slice(20)))).toEqual([]);
    }
  });

  it('a planted secret is in no key and no value of the queue', async () => {
    const client = new Redis(redis.url);
    const keys = await client.keys('*');
    expect(keys.length).toBeGreaterThan(3);
    for (const key of keys) {
      const bytes = await client.dumpBuffer(key);
      expect([key, found(`${key} ${bytes?.toString('latin1') ?? ''}`)]).toEqual([key, []]);
    }
    client.disconnect();
  });

  it('a planted secret is in no byte of the ledger and of the files beside it', () => {
    const folder = join(world.folder, 'data');
    const files = readdirSync(folder, { withFileTypes: true }).filter((entry) => entry.isFile());
    expect(files.map(({ name }) => name)).toContain('ledger.db');
    for (const { name } of files) {
      expect([name, found(readFileSync(join(folder, name)).toString('latin1'))]).toEqual([name, []]);
    }
  });

  it('a planted secret is in no trace', async () => {
    await vi.waitUntil(() => collector.text().includes('sync product'), { timeout: WAIT_MS });
    expect(found(collector.text())).toEqual([]);
  });

  it('a planted secret is on no page, in no metric and in no answer of the admin API', async () => {
    let answered = 0;
    for (const route of served.filter(({ method, path }) => method === 'GET' && path !== '/live')) {
      for (const value of ['1', 'product', 'A-1', 'A-2', 'X-1', 'deliver', 'erp', 'own']) {
        const path = pathOf(route, (name) => (name === 'kind' ? 'product' : value));
        const { status, body, headers } = await person.get(path);
        expect([path, found(`${JSON.stringify(headers)} ${body}`)]).toEqual([path, []]);
        if (status === 200) answered += 1;
        if (!route.path.includes(':')) break;
      }
    }
    expect(answered).toBeGreaterThan(20);
  });

  it('a planted secret is in no output of a command that fails with it or of a process that crashes with it', async () => {
    const other = await createWorld({
      config: {
        web: {
          port: 0,
          token: PLANTED['the token of the dashboard'],
          users: [{ name: 'anna', role: 'viewer', password: hash }],
        },
        sources: [careless('own'), careless('crash', { crashes: true })],
      },
      target: { publishKey: PLANTED['the publish key'] },
      files: { 'careless.ts': CONNECTOR, 'source-secret': PLANTED['the secret of a source'] },
    });
    installSdk(other.folder);
    for (const args of [
      ['check'],
      ['preview', 'own'],
      ['sync', 'own'],
      ['sync', 'crash'],
      ['status'],
      ['sync', 'own', '--json'],
    ]) {
      const { stdout, stderr, exitCode } = await cli([...args, '-c', other.configFile, '--log-level', 'debug']);
      expect([args, found(stdout + stderr)]).toEqual([args, []]);
      if (args[0] === 'sync') expect(exitCode, args.join(' ')).not.toBe(0);
    }
    await other.remove();
  });
});

describe('the password hash of a user', () => {
  it('the password hash of a user is a secret of the config, and is in no message about it', async () => {
    const hash = await hashPassword('another planted password');
    const world = await createWorld({
      config: {
        web: { host: '0.0.0.0', users: [{ name: 'anna', role: 'king', password: hash }] },
        sources: [PRODUCTS.source],
      },
      files: PRODUCTS.files,
    });
    const { stdout, stderr, exitCode } = await cli(['check', '-c', world.configFile]);
    expect(exitCode).toBe(2);
    expect(stdout + stderr).toContain('web.users[0].role');
    expect(stdout + stderr).not.toContain(hash.slice(20));
    await world.remove();
  });
});
