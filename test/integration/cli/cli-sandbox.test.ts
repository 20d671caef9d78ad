import { describe, expect, it, onTestFinished } from 'vitest';
import { startCli } from '../../support/cli/cli.ts';
import { runHere } from '../../support/cli/cli-here.ts';
import { startSandbox } from '../../support/sandbox/sandbox-caller.ts';

describe('the verbs of a sandbox', () => {
  async function started() {
    const running = await startSandbox({ gates: { review: { enabled: true } } });
    const control = await running.sandbox.listenControl();
    const verb = (...args: string[]) => runHere(['sandbox', ...args, '--control', control]);
    return { ...running, control, verb };
  }

  it('the commands of a sandbox make keys that work, for the scopes and the time that is asked for', async () => {
    const { call, clock, verb } = await started();
    const { exitCode, stdout, stderr } = await verb('key', 'robot', '--organization', 'acme', '--scopes', 'read');
    const key = stdout.trim();
    expect(exitCode).toBe(0);
    expect(stdout).toMatch(/^dpp_[\w-]{43}\n$/);
    expect(stderr).toContain('for read');
    expect((await call('GET', '/api/products/', { key })).status).toBe(200);
    expect((await call('POST', '/api/products/', { key, body: { sku: 'A', name: 'x' } })).status).toBe(403);

    const short = (await verb('key', 'short', '--expires-in', '60', '--json')).json();
    expect(short).toMatchObject({ ok: true, name: 'short', scopes: ['read', 'write', 'publish'] });
    clock.advance(Date.now() + 61_000 - clock.now());
    expect((await call('GET', '/api/products/', { key: String(short['key']) })).status).toBe(401);

    expect((await verb('revoke', '2')).exitCode).toBe(0);
    expect((await call('GET', '/api/products/', { key })).status).toBe(401);
  });

  it('the commands of a sandbox sign users in, and change plans', async () => {
    const { call, clock, verb } = await started();
    const issued = (await verb('key', 'other', '--organization', 'acme', '--json')).json();
    const path = `/api/api-keys/${String(issued['id'])}/revoke/`;
    const bearer = async (...args: string[]) => {
      const { stdout } = await verb('token', 'me@example.com', '--organization', 'acme', ...args);
      return { key: null, headers: { authorization: `Bearer ${stdout.trim()}` } };
    };
    expect((await call('POST', path, await bearer('--role', 'member'))).status).toBe(403);
    expect((await call('POST', path, await bearer())).status).toBe(200);
    const ended = await bearer('--lifetime', '1');
    clock.advance(2000);
    expect((await call('POST', path, ended)).status).toBe(401);

    expect((await verb('organization', 'acme', '--plan', 'standard')).exitCode).toBe(0);
    expect((await call('GET', '/api/products/')).status).toBe(402);
    expect((await verb('organization', 'acme')).exitCode).toBe(0);
    expect((await call('GET', '/api/products/')).status).toBe(200);
  });

  it('the commands of a sandbox approve passports, and show its requests', async () => {
    const { call, verb } = await started();
    await call('POST', '/api/products/', { body: { sku: 'A', name: 'x' } });
    const early = await verb('approve', 'A', '--organization', 'acme', '--json');
    expect(early).toMatchObject({ exitCode: 2 });
    expect(early.json()).toMatchObject({ ok: false, error: { code: 'sandbox.refused' } });
    await call('POST', '/api/dpp/1/init/');
    expect((await verb('approve', 'A', '--organization', 'acme')).exitCode).toBe(0);
    expect((await call('POST', '/api/dpp/1/publish/')).body['missing']).not.toContain('review');
    expect((await verb('stats')).stdout).toMatch(/product\.create +201 ×1/);
    expect((await verb('stats', '--json')).json()).toMatchObject({ statistics: { requests: { 'passport.init': {} } } });
  });

  it('the commands of a sandbox show what was created twice', async () => {
    const { call, sandbox, verb } = await started();
    expect((await verb('stats')).stdout).not.toContain('write');
    await call('POST', '/api/products/', { body: { sku: 'A', name: 'x' } });
    await call('POST', '/api/materials/', { body: { name: 'Wood' } });
    await call('PATCH', '/api/materials/1/', { body: { category: 'a' } });
    await call('PATCH', '/api/materials/1/', { body: { category: 'b' } });
    expect((await verb('stats')).stdout).not.toContain('more than once');
    sandbox.faults.add({ operation: 'bom_item.create', kind: 'duplicate', count: 1 });
    await call('POST', '/api/bom-items/', { body: { product: 1, material: 1, quantity: 1, unit: 'kg' } });
    const { stdout } = await verb('stats');
    expect(stdout).toContain('6 writes\n  created more than once: 1 item\n');
    expect(stdout).toContain('    bom_item.create ["A","material","Wood",null,"1","kg",null] ×2 (acme)\n');
    expect((await verb('stats', '--json')).json()).toMatchObject({
      statistics: { duplicates: [{ organization: 'acme', operation: 'bom_item.create', count: 2 }] },
    });
  });

  it('the commands of a sandbox end with 3 where no sandbox answers, and with 2 for bad usage', async () => {
    const { control, sandbox, verb } = await started();
    expect((await verb('key', 'x', '--scopes', 'admin')).exitCode).toBe(2);
    expect((await verb('token', 'x@example.com', '--role', 'king')).exitCode).toBe(2);
    expect((await verb('stats', '--port', '4290')).exitCode).toBe(2);
    await sandbox.close();
    const { exitCode, json } = await runHere(['sandbox', 'stats', '--json', '--control', control]);
    expect(exitCode).toBe(3);
    expect(json()).toMatchObject({ error: { code: 'sandbox.control' } });
  });
});

describe('a sandbox', () => {
  it('a sandbox does not start with one key for two sets of scopes, or with flags that do nothing', async () => {
    const key = 'dpp_one-and-the-same-key';
    for (const args of [
      ['--key', key, '--key-read', key],
      ['--key-data', key, '--key-read', key],
      ['--burst', '5'],
      ['--fault', 'product.create:boom=1'],
    ]) {
      const { exitCode, stderr, stdout } = await runHere(['sandbox', '--port', '0', ...args]);
      expect({ args, exitCode, stdout }).toEqual({ args, exitCode: 2, stdout: '' });
      expect(stderr).not.toContain(key);
    }
  });
});

describe('a sandbox with faults', () => {
  it('a sandbox with faults reports at its end which happened, and ends with 4 where one never did', async () => {
    const rules = ['product.list:status=503,count=1', 'report.list:reset-before', 'material.list:latency=600000'];
    const faults = rules.flatMap((rule) => ['--fault', rule]);
    const child = startCli(['sandbox', '--port', '0', '--control-port', '0', '--gates', 'none', ...faults, '--json']);
    onTestFinished(() => child.signal('SIGKILL'));
    await child.said('\n');
    const [first = ''] = child.output().split('\n');
    const { baseUrl, controlUrl, keys } = JSON.parse(first) as {
      baseUrl: string;
      controlUrl: string;
      keys: { key: string }[];
    };
    const key = keys[0]?.key ?? '';
    const list = (path = '/api/products/') =>
      fetch(`${baseUrl}${path}`, { headers: { 'x-api-key': key } }).then(({ status }) => status);
    expect([await list(), await list()]).toEqual([503, 200]);
    const underWay = list('/api/materials/');
    const stats = async () => (await fetch(`${controlUrl}/stats`)).json();
    await expect.poll(stats).toMatchObject({ faults: [{ used: 1 }, { used: 0 }, { used: 1 }] });
    child.signal('SIGTERM');
    expect(await underWay).toBe(200);
    const { exitCode, stdout, stderr } = await child.ended;
    expect(exitCode).toBe(4);
    const [, second = '', ...rest] = stdout.split('\n');
    expect(rest).toEqual(['']);
    expect(JSON.parse(second)).toMatchObject({
      ok: false,
      statistics: {
        requests: { 'product.list': { '200': 1, '503': 1 }, 'material.list': { '200': 1 } },
        unusedFaults: [{ operation: 'report.list', kind: 'reset-before' }],
      },
    });
    expect(stderr).toContain('1 fault never happened:\n  report.list:reset-before');
    expect(stderr).toContain('fault product.list:status=503,count=1: 1 time');
    expect(stderr + second).not.toContain(key.slice(0, 12));
  });
});

describe('a sandbox that listens beyond this machine', () => {
  it.each([
    ['0.0.0.0', true],
    ['127.0.0.1', false],
    ['localhost', false],
  ])('a sandbox that listens beyond this machine warns of it: %s', async (host, warns) => {
    const child = startCli(['sandbox', '--host', host, '--port', '0', '--quiet']);
    await child.said('Ctrl-C ends it');
    child.signal('SIGINT');
    const { exitCode, stderr } = await child.ended;
    expect(exitCode).toBe(0);
    if (warns) {
      expect(stderr).toMatch(/listens on 0\.0\.0\.0, port \d+, so other machines can reach the sandbox/);
      expect(stderr).toContain('Anybody with one of its keys can read and write');
    } else expect(stderr).not.toContain('other machines');
  });
});
