import { readdirSync, readFileSync, statSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import { stringify } from 'yaml';
import { cli } from '../../support/cli/cli.ts';
import { runHere } from '../../support/cli/cli-here.ts';
import { withLedger } from '../../support/ledger/world-ledger.ts';
import { EXPORT_SOURCES, GOOD_FILES } from '../../support/worlds/cli-export.ts';
import { API_KEY, createWorld, type World } from '../../support/worlds/world.ts';
import { answerWith, type Reply, startScriptedServer } from '../api/scripted-server.ts';

const KEY = 'dpp_full0123456789abcdefghijklmnop';
/** A secret that a person has typed as an argument by mistake. */
const GIVEN = 'eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.signature-of-a-session';

let world: World;
let token: string;

const run = (...args: string[]) => runHere([...args, '-c', world.configFile]);
const call = (method: string, path: string) =>
  fetch(world.baseUrl + path, { method, headers: { 'x-api-key': KEY } }).then((answer) => answer.status);

beforeAll(async () => {
  world = await createWorld({
    config: { sources: EXPORT_SOURCES },
    files: GOOD_FILES,
    sandbox: { gates: { materialData: { enabled: false } }, pageSize: 1, pageSizeMax: 1 },
  });
  world.sandbox.ensureKey({ organization: 'acme', name: 'all', scopes: ['read', 'write', 'publish'], key: KEY });
  token = world.sandbox.openSession({ organization: 'acme', email: 'admin@example.com', role: 'administrator' });
  expect(await world.sync()).toMatchObject({ fault: null });
  const [one, two] = world.contents().products.map(({ id }) => JSON.stringify(id));
  for (const id of [one, two]) expect(await call('POST', `/api/dpp/${id}/init/`)).toBe(201);
  for (const id of [one, two]) expect(await call('POST', `/api/dpp/${id}/publish/`)).toBe(200);
  expect(await call('POST', `/api/dpp/${two}/unpublish/`)).toBe(200);
});
afterAll(() => world.remove());
afterEach(() => {
  world.sandbox.faults.clear();
  vi.unstubAllEnvs();
});

/** The config of a platform that gives this answer to everything. */
async function configFor(reply: Reply): Promise<string> {
  return (await platformOf(reply)).configFile;
}

async function platformOf(reply: Reply) {
  const server = await startScriptedServer();
  onTestFinished(() => server.close());
  server.script(reply);
  const target = { baseUrl: server.baseUrl, apiKey: KEY };
  world.write('other.yaml', stringify({ target, ledger: './data/ledger.db', sources: EXPORT_SOURCES }));
  return { server, configFile: join(world.folder, 'other.yaml') };
}

/** Nothing that a command says holds a whole key or token. */
function assertNoSecret({ stdout, stderr }: { stdout: string; stderr: string }): void {
  for (const secret of [API_KEY, KEY, token]) expect(stdout + stderr).not.toContain(secret);
}

describe('publications', () => {
  it('publications lists every page as one table, whoever published', async () => {
    const result = await run('publications');
    expect(result).toMatchObject({ exitCode: 0, stderr: '' });
    const lines = result.stdout.trimEnd().split('\n');
    expect(lines).toHaveLength(3);
    expect(lines[0]).toMatch(/SKU +product +state +public +published +url/);
    expect(lines[1]).toMatch(/A-1 +\d+ +published +yes +2\d{3}-\d\d-\d\d [\d:]{8} +https:\/\/passport\.example\.com\//);
    expect(lines[2]).toMatch(/A-2 +\d+ +unpublished +no/);
    for (const line of lines.slice(1)) expect(line.indexOf('https:')).toBe(lines[0]?.indexOf('url'));
    assertNoSecret(result);
  });

  it('publications gives one document', async () => {
    const { exitCode, json } = await run('publications', '--json');
    expect(exitCode).toBe(0);
    expect(json()).toMatchObject({ ok: true, publications: [{ sku: 'A-1', isPublic: true }, { isPublic: false }] });
  });

  it('publications ends with 3 where the API is out of reach, and with no half of a document', async () => {
    world.sandbox.faults.add({ operation: 'publication.list', kind: 'status', status: 503, retryAfterSeconds: 0 });
    const { exitCode, json } = await run('publications', '--json');
    expect(exitCode).toBe(3);
    expect(json()).toEqual({ ok: false, error: expect.objectContaining({ code: 'api.unreachable' }) });
  });

  it('publications ends with 1 where the answer is no list', async () => {
    const { exitCode, json } = await runHere(['publications', '--json', '-c', await configFor(answerWith(200, {}))]);
    expect(exitCode).toBe(1);
    expect(json()).toMatchObject({ error: { code: 'api.answer' } });
  });
});

describe('pdf', () => {
  it('pdf saves the passport whole, by SKU or by key', async () => {
    const file = join(world.folder, 'pump.pdf');
    const result = await run('pdf', 'A-1', '--out', file);
    expect(result).toMatchObject({ exitCode: 0, stdout: expect.stringContaining(file) });
    const bytes = readFileSync(file);
    expect(bytes.subarray(0, 5).toString()).toBe('%PDF-');
    expect(bytes.toString('latin1').trimEnd()).toMatch(/%%EOF$/);
    expect(statSync(file).mode & 0o777).toBe(0o666 & ~process.umask());
    const again = await run('pdf', '1', '--out', file, '--json');
    expect(again.json()).toMatchObject({ ok: true, sku: 'A-1', file, bytes: statSync(file).size });
    expect(readdirSync(world.folder).filter((name) => name.startsWith('dpp-sync-out-'))).toEqual([]);
    assertNoSecret(result);
  });

  it('pdf names its file by the SKU, in the working folder; - is stdout and has the PDF alone', async () => {
    const named = await cli(['pdf', 'A-1', '-c', world.configFile], { cwd: world.folder });
    expect(named.exitCode).toBe(0);
    const written = readFileSync(join(world.folder, 'passport-A-1.pdf'));
    const piped = await run('pdf', 'A-1', '--out', '-');
    expect(piped).toMatchObject({ exitCode: 0, stderr: '' });
    expect(piped.stdout.startsWith('%PDF-')).toBe(true);
    expect(piped.stdout.length).toBeGreaterThan(written.length / 2);
  });

  it('pdf does not take stdout together with --json', async () => {
    const { exitCode, json } = await run('pdf', 'A-1', '--out', '-', '--json');
    expect(exitCode).toBe(2);
    expect(json()).toMatchObject({ error: { code: 'usage' } });
  });

  it('pdf ends with 2 for a product that the ledger does not know, and names near ones', async () => {
    const { exitCode, stderr } = await run('pdf', 'A-');
    expect(exitCode).toBe(2);
    expect(stderr).toContain('Did you mean 1, 2?');
  });

  it.each([
    ['a passport that is not there', { kind: 'status', status: 404 } as const, 1, 'api.refused'],
    ['a page of HTML', { kind: 'html', status: 200 } as const, 1, 'api.answer'],
    ['an API that is away', { kind: 'status', status: 503, retryAfterSeconds: 0 } as const, 3, 'api.unreachable'],
    ['a key that is refused', { kind: 'status', status: 401 } as const, 3, 'api.key'],
    ['a plan that is refused', { kind: 'status', status: 402 } as const, 3, 'api.plan'],
  ])('pdf writes no file and keeps the one that was there, after %s', async (_what, fault, exitCode, code) => {
    const file = join(world.folder, 'kept.pdf');
    world.write('kept.pdf', 'before');
    world.sandbox.faults.add({ operation: 'passport.pdf', ...fault });
    const before = readdirSync(world.folder);
    const result = await run('pdf', 'A-2', '--out', file, '--json');
    expect({ exitCode: result.exitCode, document: result.json() }).toMatchObject({
      exitCode,
      document: { ok: false, error: { code } },
    });
    expect(readdirSync(world.folder)).toEqual(before);
    expect(readFileSync(file, 'utf8')).toBe('before');
  });

  it('pdf replaces no device, and writes into no folder that does not exist', async () => {
    const device = join(world.folder, 'device');
    symlinkSync('/dev/null', device);
    const refused = await run('pdf', 'A-1', '--out', device);
    expect(refused).toMatchObject({ exitCode: 2, stderr: expect.stringContaining('is not a file') });
    expect(statSync(device).isCharacterDevice()).toBe(true);
    expect((await run('pdf', 'A-1', '--out', join(world.folder, 'none', 'x.pdf'))).exitCode).toBe(2);
  });
});

describe('report', () => {
  it('report create sends the given data, with the key that it prints; report list shows the report', async () => {
    const made = await run('report', 'create');
    expect(made).toMatchObject({
      exitCode: 0,
      stdout: expect.stringMatching(/as report 1\.\nIdempotency-Key: [\w-]{36}/),
    });
    world.write('report.json', '{"title": "From a file"}');
    const request = ['--type', 'completeness', '--data-file', join(world.folder, 'report.json')];
    const other = await run('report', 'create', ...request, '--idempotency-key', 'mine', '--json');
    expect(other.json()).toEqual({ ok: true, id: 2, idempotencyKey: 'mine' });
    expect((await run('report', 'create', '--data', '{"type": "summary"}')).exitCode).toBe(0);

    const listed = await run('report', 'list', '--json');
    expect(listed.json()).toMatchObject({
      ok: true,
      reports: [
        { id: 1, type: 'summary', content: { title: null } },
        { id: 2, type: 'completeness', status: 'completed', content: { title: 'From a file' } },
        { id: 3, type: 'summary' },
      ],
    });
    const people = await run('report', 'list');
    expect(people.stdout).toMatch(/2 +completeness +completed +2\d{3}-/);
    assertNoSecret(people);
  });

  it.each([
    [['--data', '{'], 'is not JSON'],
    [['--data', '[]'], 'has to be a JSON object'],
    [['--data', '{}', '--data-file', 'x'], 'both give the request'],
    [['--data', '{"type": "a"}', '--type', 'b'], 'name different types'],
    [['--data-file', '/nowhere/x.json'], '/nowhere/x.json does not exist.'],
    [['--idempotency-key', 'a b'], '1 to 64 characters'],
  ])('report create %j is bad usage, and sends nothing', async (args, words) => {
    world.requests();
    const { exitCode, stderr } = await run('report', 'create', ...args);
    expect({ exitCode, stderr }).toMatchObject({ exitCode: 2, stderr: expect.stringContaining(words) });
    expect(world.requests()).toEqual({});
  });

  it('report create sends the request once, under the key that it prints', async () => {
    const { server, configFile } = await platformOf(answerWith(201, {}));
    const create = (...args: string[]) => runHere(['report', 'create', '--json', '-c', configFile, ...args]);
    expect((await create('--idempotency-key', 'mine')).json()).toEqual({ ok: true, id: null, idempotencyKey: 'mine' });
    const fresh = (await create('--type', 'x')).json();
    expect(server.requests).toMatchObject([
      { path: '/api/reports/', body: '{}', headers: { 'idempotency-key': 'mine' } },
      { body: '{"type":"x"}', headers: { 'idempotency-key': fresh['idempotencyKey'] } },
    ]);
  });

  it('report create names the fields that the platform refuses', async () => {
    const { exitCode, stderr, stdout } = await run('report', 'create', '--type', 'quarterly');
    expect({ exitCode, stdout }).toEqual({ exitCode: 1, stdout: '' });
    expect(stderr).toMatch(/type: .* is not a valid choice/);
  });

  it('report create reports an unconfirmed request, and how to repeat it with the same key', async () => {
    world.sandbox.faults.add({ operation: 'report.create', kind: 'reset-after', count: 1 });
    const lost = await run('report', 'create', '--idempotency-key', 'again-1', '--json');
    expect(lost.exitCode).toBe(1);
    expect(lost.json()).toMatchObject({ ok: false, id: null, idempotencyKey: 'again-1', error: { code: 'api.doubt' } });
    expect(JSON.stringify(lost.json())).toContain('dpp-sync report list');
    expect(lost.stderr).toContain('--idempotency-key again-1');
  });

  it('report create ends with 3 where the key may not, or the API has no time', async () => {
    world.sandbox.faults.add({ operation: 'report.create', kind: 'status', status: 403, count: 1 });
    expect((await run('report', 'create', '--json')).json()).toMatchObject({ error: { code: 'api.key' } });
    world.sandbox.faults.add({ operation: 'report.create', kind: 'status', status: 429, retryAfterSeconds: 7 });
    const { exitCode, stderr } = await run('report', 'create');
    expect(exitCode).toBe(3);
    expect(stderr).toContain('Run the command again in 7 s.');
  });
});

describe('beside a command that holds the ledger and is no daemon', () => {
  it('a passport, the reports and the publications can be read beside a command that holds the ledger', async () => {
    await withLedger(world, async () => {
      expect((await run('settle', 'A-1', '--rejected', '--json')).json()).toMatchObject({
        error: { code: 'ledger.held' },
      });
      const file = join(world.folder, 'beside.pdf');
      expect((await run('pdf', 'A-1', '--out', file, '--json')).json()).toMatchObject({ ok: true, file });
      expect((await run('report', 'list')).exitCode).toBe(0);
      expect((await run('report', 'create')).exitCode).toBe(0);
      expect((await run('publications')).exitCode).toBe(0);
    });
  });
});

describe('keys revoke', () => {
  const issue = () => {
    const { id, key } = world.sandbox.issueKey({ organization: 'acme', name: 'old', scopes: ['read'] });
    return { id: String(id), key };
  };
  const isRevoked = (id: string) =>
    world.sandbox.inspect().keys.find((key) => String(key.id) === id)?.revokedAt !== null;

  it('keys revoke takes the token from the variable or from a file, and reports the state of the key', async () => {
    const [one, two] = [issue(), issue()];
    vi.stubEnv('DPP_ADMIN_TOKEN', token);
    const first = await run('keys', 'revoke', one.id, '--yes');
    expect(first).toMatchObject({ exitCode: 0, stdout: `The API key ${one.id} is revoked.\n` });
    assertNoSecret(first);
    vi.stubEnv('DPP_ADMIN_TOKEN', 'something-else-that-is-no-token');
    world.write('token', `${token}\n`);
    const second = await run('keys', 'revoke', two.id, '--yes', '--token-file', join(world.folder, 'token'), '--json');
    expect(second.json()).toEqual({ ok: true, keyId: two.id, alreadyRevoked: false });
    expect([isRevoked(one.id), isRevoked(two.id)]).toEqual([true, true]);
  });

  it('keys revoke asks for a yes where there is nobody to ask, and sends nothing', async () => {
    const { id } = issue();
    vi.stubEnv('DPP_ADMIN_TOKEN', token);
    const { exitCode, stderr } = await run('keys', 'revoke', id);
    expect({ exitCode, stderr }).toMatchObject({ exitCode: 2, stderr: expect.stringContaining('--yes') });
    expect(isRevoked(id)).toBe(false);
  });

  it.each([[['--token', GIVEN]], [[`--token=${GIVEN}`]], [['--token', GIVEN, '--json']]])(
    'keys revoke refuses a token on the command line, without repeating it (%#)',
    async (args) => {
      const { id } = issue();
      vi.stubEnv('DPP_ADMIN_TOKEN', token);
      const result = await run('keys', 'revoke', id, '--yes', ...args);
      expect(result.exitCode).toBe(2);
      expect(result.stderr).toContain('--token-file');
      expect(isRevoked(id)).toBe(false);
      expect(result.stdout + result.stderr).not.toContain(GIVEN.slice(0, 30));
    },
  );

  it.each([
    ['no token at all', '', 'is not set'],
    ['an API key in its place', KEY, 'an API key cannot revoke keys'],
  ])('keys revoke ends with 2 with %s', async (_what, given, words) => {
    vi.stubEnv('DPP_ADMIN_TOKEN', given);
    const result = await run('keys', 'revoke', '1', '--yes');
    expect(result).toMatchObject({ exitCode: 2, stderr: expect.stringContaining(words) });
    assertNoSecret(result);
  });

  it('keys revoke takes no key for an id, since an id stands in logs', async () => {
    vi.stubEnv('DPP_ADMIN_TOKEN', token);
    const result = await run('keys', 'revoke', KEY, '--yes');
    expect(result).toMatchObject({ exitCode: 2, stderr: expect.stringContaining('not the id of a key') });
    assertNoSecret(result);
    expect((await run('keys', 'revoke', '..', '--yes')).exitCode).toBe(2);
  });

  it('keys revoke distinguishes a token that does not work, a role that may not, and a key that does not exist', async () => {
    const { id } = issue();
    vi.stubEnv('DPP_ADMIN_TOKEN', 'no-token-of-this-platform');
    const invalid = await run('keys', 'revoke', id, '--yes', '--json');
    expect(invalid.exitCode).toBe(3);
    expect(invalid.json()).toMatchObject({
      error: { code: 'api.token', message: expect.stringContaining('(HTTP 401)') },
    });
    expect(invalid.stdout + invalid.stderr).not.toContain('no-token-of-this-platform');

    const member = world.sandbox.openSession({ organization: 'acme', email: 'm@example.com', role: 'member' });
    vi.stubEnv('DPP_ADMIN_TOKEN', member);
    const role = await run('keys', 'revoke', id, '--yes');
    expect(role).toMatchObject({ exitCode: 3, stderr: expect.stringContaining('owner or administrator') });

    vi.stubEnv('DPP_ADMIN_TOKEN', token);
    const absent = await run('keys', 'revoke', '9999', '--yes', '--json');
    expect(absent.exitCode).toBe(1);
    expect(absent.json()).toMatchObject({ error: { code: 'api.refused' } });
    expect(isRevoked(id)).toBe(false);
  });

  it('keys revoke reports where nobody knows whether the key is revoked', async () => {
    const { id } = issue();
    vi.stubEnv('DPP_ADMIN_TOKEN', token);
    world.sandbox.faults.add({ operation: 'api_key.revoke', kind: 'reset-before', count: 1 });
    const lost = await run('keys', 'revoke', id, '--yes', '--json');
    expect(lost.exitCode).toBe(1);
    expect(lost.json()).toMatchObject({ error: { code: 'api.doubt', message: expect.stringContaining('no harm') } });
    expect(isRevoked(id)).toBe(false);
  });

  it.each([
    [409, 'The key has already been revoked.', 0],
    [400, 'This key was revoked already.', 0],
    [409, 'The key may not be revoked.', 1],
  ])('keys revoke takes a %i that says "%s" for exit code %i', async (status, detail, exitCode) => {
    vi.stubEnv('DPP_ADMIN_TOKEN', token);
    const configFile = await configFor(answerWith(status, { detail }));
    const result = await runHere(['keys', 'revoke', '7', '--yes', '--json', '-c', configFile]);
    expect(result.exitCode).toBe(exitCode);
    if (exitCode === 0) expect(result.json()).toEqual({ ok: true, keyId: '7', alreadyRevoked: true });
  });
});
