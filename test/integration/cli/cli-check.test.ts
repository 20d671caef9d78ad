import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { parse, stringify } from 'yaml';
import { systemClock } from '../../../src/lib/clock.ts';
import { createSandbox } from '../../../src/sandbox/sandbox.ts';
import type { SandboxOptions } from '../../../src/sandbox/settings/settings.ts';
import { cli } from '../../support/cli/cli.ts';
import { runHere } from '../../support/cli/cli-here.ts';
import { openLedger } from '../../support/ledger/ledger.ts';
import { describeRedis, type RedisOptions, type RedisServer, startRedis } from '../../support/servers/redis.ts';
import { EXPORT_SOURCES, GOOD_FILES } from '../../support/worlds/cli-export.ts';
import { API_KEY, createWorld, type World } from '../../support/worlds/world.ts';

let world: World;

beforeEach(async () => {
  world = await createWorld({ config: { sources: EXPORT_SOURCES }, files: GOOD_FILES });
});
afterEach(() => world.remove());

const check = (...args: string[]) => runHere(['check', '-c', world.configFile, ...args]);

function writeConfig(changes: Record<string, unknown>): void {
  const target = { baseUrl: world.baseUrl, apiKey: API_KEY };
  world.write('dpp-sync.yaml', stringify({ target, ledger: './data/ledger.db', sources: EXPORT_SOURCES, ...changes }));
}

const ledgerFile = () => join(world.folder, 'data/ledger.db');

/** Makes the ledger of the config as a process of this target leaves it, and returns its path. */
async function makeLedger(target: string): Promise<string> {
  await openLedger(ledgerFile(), { target }).close();
  return ledgerFile();
}

/** Puts a backup into the place of the ledger, as a person does who does not know `ledger restore`. */
async function placeBackup(): Promise<void> {
  await makeLedger(world.baseUrl);
  const backup = join(world.folder, 'backup.db');
  expect((await runHere(['ledger', 'backup', backup, '-c', world.configFile])).exitCode).toBe(0);
  renameSync(backup, ledgerFile());
}

describe('dpp-sync check', () => {
  it('check takes dpp-sync.yaml of the working folder where no file is named', async () => {
    expect(await cli(['check'], { cwd: world.folder })).toMatchObject({ exitCode: 0 });
  });

  it('check ends with 0 and shows what the key may do, without a ledger and without the whole key', async () => {
    const { exitCode, stdout, stderr } = await check();
    expect(exitCode).toBe(0);
    expect(stdout).toContain('✓ source   erp/products: 1 file');
    expect(stdout).toContain('key dpp_test…');
    expect(stdout).toContain('plan: API access ✓ yes');
    expect(stdout).toMatch(/scopes: read ✓ yes {2}write ✓ yes {2}publish/);
    expect(stdout + stderr).not.toContain(API_KEY);
    expect(existsSync(join(world.folder, 'data'))).toBe(false);
    expect(world.contents()).toMatchObject({ products: [], materials: [], bomItems: [] });
  });

  it('check warns of a name in `omit` that no stream has as a column', async () => {
    const [source] = EXPORT_SOURCES;
    world.write('products.csv', 'ID,SKU,NAME,COUNTRY,WEIGHT\n1,A-1,Pump,DE,2\n');
    writeConfig({ sources: [{ ...source, omit: ['PRICE', 'WEIGTH', 'CONTRY'] }] });
    const without = await check();
    expect(without.exitCode).toBe(0);
    expect(without.stdout + without.stderr).toContain(
      'sources[0].omit[0] names PRICE, which no stream of the source has, so nothing is left out.',
    );
    expect(without.stdout + without.stderr).toContain('Did you mean WEIGHT?');
    // A mapping needs this column.
    expect(without.stdout + without.stderr).not.toContain('Did you mean COUNTRY?');
  });

  it('check gives one document', async () => {
    const document = (await check('--json')).json();
    expect(Object.keys(document)).toEqual(['ok', 'config', 'sources', 'queue', 'api', 'ledger', 'backups', 'alerts']);
    expect(document).toMatchObject({
      ok: true,
      sources: [{ source: 'erp', stream: 'products', ok: true, error: null }, {}, {}],
      queue: { kind: 'embedded', ok: true, found: 'embedded, in the process', warnings: [], error: null },
      api: {
        baseUrl: world.baseUrl,
        key: 'dpp_test…',
        publishKey: null,
        ok: true,
        plan: 'yes',
        scopes: { read: 'yes', write: 'yes' },
      },
    });
  });

  it('check warns of lines that init has marked with TODO, names the lines, and does not fail', async () => {
    const text = readFileSync(world.configFile, 'utf8');
    const intro = '# A line with TODO needs you: delete the word TODO.\n';
    world.write('dpp-sync.yaml', `${intro}# TODO key: not different\n${text}`);
    const one = await check();
    expect(one).toMatchObject({ exitCode: 0 });
    expect(one.stderr).toContain('warning: line 2: The line has a TODO. Correct or keep each such line, and delete');
    world.write(
      'dpp-sync.yaml',
      `${intro}# TODO key: not different\r\nhistory: {} # TODO by a part of the name\n${text}`,
    );
    expect((await check()).stderr).toContain('warning: 2 lines have a TODO: 2, 3. Correct or keep');
    const { exitCode, json } = await check('--json');
    expect(exitCode).toBe(0);
    expect(json()).toMatchObject({
      ok: true,
      config: { warnings: [{ line: null, message: '2 lines have a TODO: 2, 3.' }] },
    });
    world.write('dpp-sync.yaml', `${intro}${text}`);
    expect((await check('--json')).json()).toMatchObject({ config: { warnings: [] } });
  });

  it('check reports five errors of a config at once, and ends with 2', async () => {
    const [source] = EXPORT_SOURCES;
    writeConfig({
      target: { baseUrl: 'http://dpp.example.com', apiKey: API_KEY },
      queue: 'rabbit',
      colour: 'blue',
      sources: [{ ...source, schedule: 'daily', timezone: 'Berlin' }],
    });
    const { exitCode, stderr, stdout } = await check();
    expect(exitCode).toBe(2);
    expect(stdout).toBe('');
    expect(stderr).toContain('5 problems');
    for (const path of ['target.baseUrl', 'queue', 'colour', 'sources[0].schedule', 'sources[0].timezone']) {
      expect(stderr).toContain(path);
    }
    const { json } = await check('--json');
    expect(json()).toMatchObject({ ok: false, error: { code: 'config.invalid', path: 'target.baseUrl' } });
  });

  it('check reports expressions that do not compile, and ends with 2', async () => {
    const [source] = EXPORT_SOURCES;
    const mappings = [
      { stream: 'products', to: 'product', key: 'row.ID +', fields: { sku: 'row.SKU', name: 'nmae(1)' } },
    ];
    writeConfig({ sources: [{ ...source, mappings }] });
    const { exitCode, stderr } = await check();
    expect(exitCode).toBe(2);
    expect(stderr).toContain('sources[0].mappings[0].key');
    expect(stderr).toContain('sources[0].mappings[0].fields.name');
  });

  it('check reports expressions that do not compile beside the other errors of a config', async () => {
    const [source] = EXPORT_SOURCES;
    const [products, materials] = source?.mappings ?? [];
    const mappings = [
      { ...products, key: 'row.ID +', fields: { sku: 'row.SKU', name: 'nmae(1)', colour: 'nmae(2)' } },
      { ...materials, to: 'materiel', key: 'row.' },
      { stream: 'boms', module: './none.ts', when: 'row.QTY' },
      { stream: 'boms', module: './none.ts', when: '"always"' },
      { stream: 'products', to: 'product', fields: {}, key: 'lookup("a.csv", row.ID) + lookup("b.csv", row.ID)' },
    ];
    writeConfig({ sources: [{ ...source, schedule: 'daily', mappings }] });
    const { exitCode, stderr } = await check();
    expect(exitCode).toBe(2);
    const problems = [...stderr.matchAll(/^ {2}(\S+) \(line (\d+)\): (.*)$/gm)];
    expect(problems.map(([, path]) => path?.replace('sources[0].', ''))).toEqual([
      'mappings[0].key',
      'mappings[0].fields.name',
      'mappings[0].fields.colour',
      'mappings[1].to',
      'mappings[2].module',
      'mappings[3].module',
      'mappings[3].when',
      'mappings[4].fields.sku',
      'mappings[4].fields.name',
      'mappings[4].key',
      'mappings[4].key',
      'schedule',
    ]);
    expect(problems.find(([, path]) => path?.endsWith('fields.name'))?.[3]).toContain('nmae(1)');
    expect(stderr).toContain('unknown key');
    const lines = problems.map(([, , line]) => Number(line));
    expect(lines).toEqual(lines.toSorted((a, b) => a - b));
    expect((await check('--json')).json()).toMatchObject({
      error: { code: 'config.invalid', path: 'sources[0].mappings[0].key' },
    });
  });

  it('check ends with 2 without a config', async () => {
    const { exitCode, stderr } = await runHere(['check', '-c', join(world.folder, 'other.yaml')]);
    expect(exitCode).toBe(2);
    expect(stderr).toContain('There is no config file');
    expect(stderr).toContain('init --from FILE');
  });

  it('check reports every source that cannot be read, and still asks the API', async () => {
    const [source] = EXPORT_SOURCES;
    writeConfig({
      sources: [
        { ...source, id: 'one', options: { delimiter: '"' } },
        { ...source, id: 'two', streams: { ...source?.streams, boms: { path: './none-*.csv', key: ['NO'] } } },
      ],
    });
    const { exitCode, stdout } = await check();
    expect(exitCode).toBe(3);
    expect(stdout).toContain('is also part of a delimiter');
    expect(stdout).toContain('No file matches ./none-*.csv');
    expect(stdout).toContain('in the config: sources[1].streams.boms');
    expect(stdout).toContain('scopes: read ✓ yes');
    const document = (await check('--json')).json();
    expect(document).toMatchObject({ error: { code: 'source.unreadable', path: 'sources[0].streams.products' } });
    expect((document['sources'] as object[]).at(-1)).toMatchObject({ error: { path: 'sources[1].streams.boms' } });
  });

  it.each<[string, string, () => unknown]>([
    ['ledger.unwritable', 'a part of the path is not a folder', () => world.write('data', '')],
    ['ledger.unwritable', 'no such file or folder', () => symlinkSync('/dpp/none', join(world.folder, 'data'))],
    ['ledger.unwritable', 'is a folder, not a file', () => mkdirSync(ledgerFile(), { recursive: true })],
    ['ledger.unreadable', 'is not a ledger', () => world.write('data/ledger.db', 'It is no database.')],
    ['ledger.restored', 'the mark beside it shows', async () => rmSync(await makeLedger(world.baseUrl))],
    ['ledger.restored', 'is a backup of', placeBackup],
    ['ledger.target', 'belongs to', () => makeLedger('https://other.example.com')],
  ])('check refuses a ledger that sync refuses: %s, because it %s', async (code, words, prepare) => {
    await prepare();
    const [checked, synced] = [await check('--json'), await runHere(['sync', '-c', world.configFile, '--json'])];
    const { error } = synced.json() as { error: { message: string } };
    expect(checked.json()).toMatchObject({ ok: false, error: { code }, ledger: { ok: false, error: { code } } });
    expect(error).toMatchObject({ code });
    expect((checked.json() as { error: { message: string } }).error.message).toContain(words);
    expect(checked.exitCode).toBe(synced.exitCode);
    expect((await check()).stdout).toContain('✗ ledger');
  });

  it('check accepts a ledger that a sync has made, also beside the process that writes it', async () => {
    const open = openLedger(ledgerFile(), { target: world.baseUrl });
    try {
      expect((await check('--json')).json()).toMatchObject({ ok: true, ledger: { ok: true, error: null } });
    } finally {
      await open.close();
    }
    expect((await check('--json')).json()).toMatchObject({ ok: true, ledger: { ok: true, error: null } });
  });

  it('check ends with 3 when no backups could be made, and does not make the folder', async () => {
    writeConfig({ backups: { folder: './export.csv/backups', schedule: '0 4 * * *' } });
    world.write('export.csv', '');
    const { exitCode, stdout } = await check();
    expect(exitCode).toBe(3);
    expect(stdout).toContain(`✗ backups  ${world.folder}/export.csv/backups`);
    expect(stdout).toContain('a part of the path is not a folder (ENOTDIR)');
    const document = (await check('--json')).json();
    expect(document).toMatchObject({ backups: { ok: false, error: { path: 'backups.folder' } } });
    writeConfig({ backups: { folder: './backups', schedule: '0 4 * * *' } });
    expect((await check('--json')).json()).toMatchObject({ ok: true, backups: { ok: true, error: null } });
    expect(existsSync(join(world.folder, 'backups'))).toBe(false);
  });

  it('check ends with 3 when the API refuses the key', async () => {
    const wrong = 'dpp_wrong-0123456789abcdefghij';
    writeConfig({ target: { baseUrl: world.baseUrl, apiKey: wrong } });
    const { exitCode, stdout, stderr } = await check();
    expect(exitCode).toBe(3);
    expect(stdout).toContain('✗ api');
    expect(stdout).toContain('dpp_wron…');
    expect(stdout + stderr).not.toContain(wrong);
  });

  it('check ends with 3 when the key may not write', async () => {
    const { key } = world.sandbox.issueKey({ organization: 'acme', name: 'reader', scopes: ['read'] });
    writeConfig({ target: { baseUrl: world.baseUrl, apiKey: key } });
    const { exitCode, json } = await check('--json');
    expect(exitCode).toBe(3);
    expect(json()).toMatchObject({ api: { scopes: { read: 'yes', write: 'no' } }, error: { code: 'api.key' } });
  });

  it('check says of publishing no more than it knows', async () => {
    const told = async (scopes: ('read' | 'write')[]) => {
      const { key } = world.sandbox.issueKey({ organization: 'acme', name: 'k', scopes });
      writeConfig({ target: { baseUrl: world.baseUrl, apiKey: key } });
      return (await check()).stdout;
    };
    expect(await told([])).toMatch(
      /read ✗ no {2}write ✗ no {2}publish ✗ no\n +Passports cannot be published with this key\.\n/,
    );
    expect(await told(['read', 'write'])).toContain('with this key; all other requests can be made.\n');
  });

  it('check ends with 3 when the plan does not allow the API', async () => {
    world.sandbox.setPlan('acme', 'standard');
    expect((await check('--json')).json()).toMatchObject({
      ok: false,
      api: { plan: 'no' },
      error: { code: 'api.plan' },
    });
  });

  it('check ends with 3 when the API does not answer', async () => {
    await world.sandbox.close();
    const { exitCode, json } = await check('--json');
    expect(exitCode).toBe(3);
    const message = expect.stringContaining('If it is the sandbox, start it with `dpp-sync sandbox`');
    expect(json()).toMatchObject({ error: { code: 'api.unreachable', path: 'target.baseUrl', message } });
  });
});

describe('dpp-sync check of a queue that nobody answers for', () => {
  it('check of a queue that does not answer ends with 3, says where, and still asks the API', async () => {
    writeConfig({ queue: 'redis://user:hunter22@127.0.0.1:1' });
    const { exitCode, stdout, stderr } = await check();
    expect(exitCode).toBe(3);
    expect(stdout).toMatch(
      /✗ queue {4}redis\n.* redis:\/\/127\.0\.0\.1:1 .*ECONNREFUSED[^]*Check that Redis runs[^]*✓ api/,
    );
    expect(stdout + stderr).not.toContain('hunter22');
    expect((await check('--json')).json()).toMatchObject({
      ok: false,
      queue: {
        kind: 'redis',
        ok: false,
        found: null,
        warnings: [],
        error: { code: 'queue.unreachable', path: 'queue' },
      },
      api: { ok: true },
      error: { code: 'queue.unreachable', path: 'queue' },
    });
  });
});

describeRedis('dpp-sync check of a queue on Redis', () => {
  let redis: RedisServer | null = null;
  afterEach(() => redis?.stop());

  async function checkRedis(options: RedisOptions, change: (url: string) => string = (url) => url) {
    redis = await startRedis(options);
    writeConfig({ queue: change(redis.url) });
    return check('--json');
  }

  it('check says which Redis the queue is, with the password of the config and without showing it', async () => {
    const { exitCode, stdout, json } = await checkRedis({ appendonly: true, password: 'hunter22' });
    expect(exitCode).toBe(0);
    expect(json()['queue']).toEqual({
      kind: 'redis',
      ok: true,
      found: expect.stringMatching(/^redis:\/\/127\.0\.0\.1:\d+: Redis \d+\.\d+/),
      warnings: [],
      error: null,
    });
    expect(stdout).not.toContain('hunter22');
  });

  it('check warns of settings with which Redis loses jobs, as the daemon does, and ends with 0', async () => {
    const { exitCode, json } = await checkRedis({ settings: { 'maxmemory-policy': 'allkeys-lru' } });
    expect(exitCode).toBe(0);
    expect(json()).toMatchObject({
      queue: { ok: true, warnings: [expect.stringContaining('noeviction'), expect.stringContaining('appendonly')] },
    });
    expect((await check()).stdout).toMatch(/✓ queue .*\n +warning: .*noeviction.*\n +warning: .*appendonly/);
  });

  it('check ends with 3 where the password of the queue is wrong', async () => {
    const { exitCode, stdout, json } = await checkRedis({ password: 'hunter22' }, (url) => url.replace('22', '33'));
    expect(exitCode).toBe(3);
    expect(json()).toMatchObject({
      queue: { ok: false, error: { message: expect.stringContaining('it does not accept the user or the password') } },
    });
    expect(stdout).not.toMatch(/hunter[23]/);
  });

  it('check leaves nothing in Redis', async () => {
    await checkRedis({});
    const client = new Redis(redis?.url ?? '');
    expect(await client.dbsize()).toBe(0);
    client.disconnect();
  });
});

describe('dpp-sync check --openapi', () => {
  const compare = (...args: string[]) => runHere(['check', '-c', world.configFile, '--openapi', ...args]);

  async function schemaOf(options: SandboxOptions): Promise<string> {
    const sandbox = await createSandbox(options, { clock: systemClock });
    try {
      const answer = await fetch(`${await sandbox.listen()}/api/schema/`);
      world.write('schema.json', await answer.text());
    } finally {
      await sandbox.close();
    }
    return join(world.folder, 'schema.json');
  }

  it('check --openapi finds no difference of the sandbox with its defaults, and asks neither API nor sources', async () => {
    const file = await schemaOf({});
    rmSync(join(world.folder, 'products.csv'));
    world.requests();
    const { exitCode, stdout } = await compare(file);
    expect(exitCode).toBe(0);
    expect(stdout).toBe(`${file} against the profile of ${world.configFile}: no differences\n`);
    expect((await compare(file, '--json')).json()).toMatchObject({
      ok: true,
      config: { file: world.configFile },
      openapi: { file, differences: [], settings: { profile: {}, target: {} } },
    });
    expect(world.requests()).toEqual({});
  });

  it('check --openapi names the differences of every style of the sandbox, and of keys only what it knows', async () => {
    const differencesOf = async (options: SandboxOptions) => {
      const { openapi } = (await compare(await schemaOf(options), '--json')).json();
      return (openapi as { differences: object[] }).differences;
    };
    const obeyed = { weight: 'note', setting: 'idempotency', found: expect.stringContaining('used again') };
    expect(await differencesOf({ idempotency: 'honoured' })).toMatchObject([obeyed]);
    expect(await differencesOf({ idempotency: 'ignored' })).toMatchObject([{ setting: 'idempotency', value: 'none' }]);
    expect(await differencesOf({ ids: 'uuid', paging: 'link-header', errors: 'problem' })).toEqual([]);
    expect(await differencesOf({ listFilters: true, envelope: 'items', idAt: 'data.id' })).toEqual([]);
    expect(await differencesOf({ paging: 'odata' })).toEqual([]);
    expect(await differencesOf({ paging: 'relay' })).toEqual([]);
    // Another name for the page size costs a request more, and nothing else.
    const size = { weight: 'note', setting: 'list.sizeParameter', value: 'size' };
    expect((await differencesOf({ paging: 'spring' }))[0]).toMatchObject(size);
    const { exitCode, stdout } = await compare(await schemaOf({ idempotency: 'honoured' }));
    expect(exitCode).toBe(0);
    expect(stdout).toContain('Worth knowing (1)');
    expect(stdout).not.toContain('To be set');
  });

  it('check --openapi ends with 4 and the profile that makes up for the differences, ready to be pasted', async () => {
    const file = await schemaOf({ reportCreateScope: 'write' });
    const text = readFileSync(file, 'utf8');
    world.write('schema.json', text.replaceAll('country_of_origin', 'origin').replaceAll('"sku"', '"article"'));
    const { exitCode, stdout } = await compare(file);
    expect(exitCode).toBe(4);
    expect(stdout).toMatch(/Requests fail until this is corrected \(\d+\)\n {2}POST \/api\/products\/\n/);
    const pasted = stdout.slice(stdout.indexOf('extends: default'));
    expect(parse(pasted)).toMatchObject({
      extends: 'default',
      wireNames: { product: { country_of_origin: 'origin' } },
      scopes: { reportCreate: 'write' },
    });
    world.write('profile.yaml', pasted);
    writeConfig({ target: { baseUrl: world.baseUrl, apiKey: API_KEY, profile: './profile.yaml' } });
    const after = (await compare(file, '--json')).json();
    expect(JSON.stringify(after)).not.toContain('country_of_origin');
    expect(JSON.stringify(after)).not.toContain('scopes.reportCreate');
  });

  it('check --openapi ends with 4 where a part cannot be read, and shows it', async () => {
    const file = await schemaOf({});
    const text = readFileSync(file, 'utf8');
    const document = JSON.parse(text) as { paths: Record<string, { post: { requestBody: object } }> };
    const { post } = document.paths['/api/products/'] ?? { post: { requestBody: {} } };
    post.requestBody = { content: { 'application/json': { schema: { $ref: 'product.yaml' } } } };
    world.write('schema.json', JSON.stringify(document));
    const { exitCode, stdout } = await compare(file);
    expect(exitCode).toBe(4);
    expect(stdout).toMatch(
      /Not compared, because it cannot be read \(1\)\n {2}POST \/api\/products\/\n {4}request body: found a ref/,
    );
    expect((await compare(file, '--json')).json()).toMatchObject({ ok: false });
  });

  it('check --openapi ends with 4 for a mere note too, where it has a value to be set', async () => {
    const { exitCode, stdout } = await compare(await schemaOf({ reportCreateScope: 'write' }));
    expect(exitCode).toBe(4);
    expect(stdout).not.toContain('Breaks');
    expect(stdout).toContain('reportCreate: write');
  });

  it('check --openapi ends with 2 for a file that cannot be read, or is no OpenAPI document', async () => {
    world.write('swagger.yaml', 'swagger: "2.0"\npaths: {}\n');
    for (const file of ['none.yaml', 'swagger.yaml', 'products.csv']) {
      const { exitCode, json } = await compare(join(world.folder, file), '--json');
      expect({ file, exitCode }).toEqual({ file, exitCode: 2 });
      expect(json()).toMatchObject({ ok: false, error: { code: 'usage', message: expect.stringContaining(file) } });
    }
  });
});
