import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { loadConfig } from '../../../src/config/load-config.ts';
import { problemsOf } from '../../../src/config/problem.ts';
import type { MappingDefinition } from '../../../src/domain/mapping.ts';
import { Fault } from '../../../src/lib/errors.ts';
import { createSecretStore } from '../../../src/lib/logging/secrets.ts';
import {
  configFolder,
  faultOf,
  loadText,
  problemsIn,
  REPOSITORY,
  SOUND_CONFIG,
} from '../../support/worlds/config-folder.ts';

// The example of the interface contract, letter for letter but for the two paths of secrets.
const CONTRACT = `target:
  baseUrl: https://dpp.example.com          # https only, loopback excepted
  apiKey: \${file:secrets/dpp_api_key}  # re-read when the API says 401
  publishKey: \${DPP_PUBLISH_KEY:-}          # optional: a key of its own for the publish scope
  profile: default                          # config/profiles/*.yaml or a path
  maxRate: 50                               # optional ceiling, requests per second
queue: embedded                             # or redis://… rediss://…
ledger: ./data/ledger.db                    # one writing process
web: { host: 127.0.0.1, port: 4280, token: \${file:secrets/web_token} }
sources:
  - id: erp
    connector: csv
    schedule: "30 2 * * *"
    timezone: Europe/Berlin
    options: { delimiter: ";", encoding: windows-1252 }
    streams:                                # a single stream may give its \`path\` in options: it is \`default\`
      products: { path: ./exports/products.csv, key: [MATNR] }
      boms: { path: ./exports/stuecklisten-*.csv, key: [STLNR, POSNR], files: all }
    omit: [PURCHASE_PRICE]                  # columns that are never stored
    mappings:
      - stream: products
        to: product
        key: row.MATNR
        when: row.MTART == "FERT"
        fields: { sku: row.MATNR, name: row.MAKTX, status: '"DRAFT"', country_of_origin: country(row.HERKL) }
      - stream: boms
        to: bom_item
        key: row.STLNR + "/" + row.POSNR
        refs: { product: row.MATNR, material: row.IDNRK }
        fields: { quantity: decimal(row.MENGE), unit: unit(row.MEINS) }
    onMissing: flag
    guard: { maxMissing: 5%, maxDrop: 20% }
passports: { init: when-complete, publish: manual }
`;
/** The hash of a password that nobody uses. */
const HASH = '$scrypt$ln=15,r=8,p=3$AAAAAAAAAAAAAAAAAAAAAA$AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA';
const USER = `{ name: anna, role: editor, password: "${HASH}" }`;
const user = (password: string, name = 'anna') =>
  `{ users: [{ name: ${name}, role: editor, password: "${password}" }] }`;
const SECRET_FILES = { 'secrets/dpp_api_key': 'dpp_fromfile0123\n', 'secrets/web_token': '0123456789abcdefgh\n' };
const HOOK_FILE = { 'secrets/chat_webhook': 'https://chat.example.com/hooks/0123456789\n' };

describe('a sound config', () => {
  it('a sound config is loaded: the example of the interface contract', async () => {
    const config = await loadText(CONTRACT, { files: SECRET_FILES });
    expect(config.target.maxRate).toBe(50);
    expect(config.target.publishKey).toBeNull();
    expect(await config.target.apiKey.read()).toBe('dpp_fromfile0123');
    expect(await config.web?.token?.read()).toBe('0123456789abcdefgh');
    expect(config.queue).toEqual({ kind: 'embedded' });
    expect(config.passports).toEqual({ init: 'when-complete', publish: 'manual' });
    expect(config.warnings).toEqual([]);
    const [erp] = config.sources;
    expect(erp).toMatchObject({
      id: 'erp',
      connector: { id: 'csv' },
      schedule: '30 2 * * *',
      timezone: 'Europe/Berlin',
      options: { delimiter: ';', encoding: 'windows-1252', header: true },
      omit: ['PURCHASE_PRICE'],
      onMissing: 'flag',
      guard: { maxMissing: 0.05, maxMissingCount: 500, maxDrop: 0.2 },
      path: 'sources[0]',
    });
    expect(erp?.streams.map(({ name, key }) => ({ name, key }))).toEqual([
      { name: 'products', key: ['MATNR'] },
      { name: 'boms', key: ['STLNR', 'POSNR'] },
    ]);
    // The compiler of mappings takes them as they are.
    const definitions: MappingDefinition[] = erp?.mappings ?? [];
    expect(definitions[1]).toEqual({
      stream: 'boms',
      to: 'bom_item',
      key: 'row.STLNR + "/" + row.POSNR',
      refs: { product: 'row.MATNR', material: 'row.IDNRK' },
      fields: { quantity: 'decimal(row.MENGE)', unit: 'unit(row.MEINS)' },
      path: 'sources[0].mappings[1]',
    });
  });

  it('a sound config is loaded: the example that is shipped', async () => {
    const text = readFileSync(join(REPOSITORY, 'config/dpp-sync.example.yaml'), 'utf8').replaceAll('/run/', './');
    const config = await loadText(text, { files: { ...SECRET_FILES, ...HOOK_FILE } });
    expect(config.sources[0]?.mappings).toHaveLength(3);
    expect(config.warnings).toEqual([]);
  });

  it('a sound config has every default filled in', async () => {
    const config = await loadText(SOUND_CONFIG);
    expect(config.target).toMatchObject({ publishKey: null, maxRate: null });
    expect(config.queue).toEqual({ kind: 'embedded' });
    expect(config.ledger).toBe(join(config.folder, 'data/ledger.db'));
    expect(config.web).toBeNull();
    expect(config.passports).toBeNull();
    expect(config.sources[0]).toMatchObject({
      schedule: null,
      timezone: 'UTC',
      omit: [],
      onMissing: 'flag',
      guard: { maxMissing: 0.05, maxMissingCount: 500, maxDrop: 0.2 },
      mappings: [{ stream: 'default' }],
    });
  });

  it('a sound config has its stream taken out of options when there is only one', async () => {
    const [source] = (await loadText(SOUND_CONFIG)).sources;
    expect(source?.streams).toEqual([
      {
        name: 'default',
        key: ['SKU'],
        options: { contents: 'snapshot', path: 'products.csv', files: 'all', entry: '*', stableMs: 0, after: 'keep' },
        path: 'sources[0].options',
      },
    ]);
    expect(source?.options).not.toHaveProperty('path');
    expect(source?.options).not.toHaveProperty('key');
  });

  it('a sound config is loaded the same from JSON, indented with tabs', async () => {
    const value = {
      target: { baseUrl: 'http://[::1]:8080/', apiKey: 'dpp_0123456789abcdef' },
      sources: [
        {
          id: 'erp',
          connector: 'csv',
          options: { path: 'a/b.csv' },
          mappings: [{ to: 'material', key: 'row.A', fields: { name: 'row.B' } }],
        },
      ],
    };
    const config = await loadText(JSON.stringify(value, null, '\t'), { name: 'dpp-sync.json' });
    expect(config.target.baseUrl).toBe('http://[::1]:8080');
    expect(config.sources[0]?.streams[0]?.key).toEqual([]);
  });

  it('a sound config has the paths of ledger and modules made absolute', async () => {
    const text = SOUND_CONFIG.replace(
      / {6}- to: product[^]*/,
      '      - { module: ./maps/erp.ts, when: row.SKU != "" }\n',
    );
    const config = await loadText(`ledger: ../l.db\n${text}`);
    expect(config.ledger).toBe(join(config.folder, '../l.db'));
    expect(config.resolvePath('x')).toBe(join(config.folder, 'x'));
    expect(config.sources[0]?.mappings[0]).toEqual({
      stream: 'default',
      when: 'row.SKU != ""',
      module: join(config.folder, 'maps/erp.ts'),
      path: 'sources[0].mappings[0]',
    });
  });

  it('a config may have bare numbers and booleans as constant expressions, and keeps a code with a leading zero as written', async () => {
    const text = SOUND_CONFIG.replace('row.SKU\n        fields', 'row.SKU\n        when: true\n        fields').replace(
      'name: row.NAME',
      'name: 007, status: 1.5',
    );
    const [source] = (await loadText(text)).sources;
    expect(source?.mappings[0]).toMatchObject({ when: 'true', fields: { name: '007', status: '1.5' } });
  });

  it('a config with a stream that no mapping uses gets a warning', async () => {
    const config = await loadText(CONTRACT.replace('      boms:', '      extra: { path: x.csv }\n      boms:'), {
      files: SECRET_FILES,
    });
    expect(config.warnings).toMatchObject([{ path: 'sources[0].streams.extra', line: 18 }]);
  });
});

describe('a config with problems', () => {
  it('a config with five problems has all reported at once, each with its path, its line and what was expected', async () => {
    const text = SOUND_CONFIG.replace('https:', 'http:')
      .replace('connector: csv', 'connector: cvs\n    schedule: "99 2 * * *"')
      .replace('to: product', 'to: prodct')
      .concat('passports: { publish: automatic }\n');
    const fault = await faultOf(text);
    expect(fault).toMatchObject({ code: 'config.invalid', exitCode: 2, path: 'target.baseUrl' });
    expect(problemsOf(fault).map(({ path, line }) => [path, line])).toEqual([
      ['target.baseUrl', 2],
      ['sources[0].connector', 6],
      ['sources[0].schedule', 7],
      ['sources[0].mappings[0].to', 10],
      ['passports.publish', 13],
    ]);
    const [, ...lines] = fault.message.split('\n');
    expect(lines).toHaveLength(5);
    for (const line of lines) expect(line).toMatch(/[.?]$/);
    expect(fault.message).toContain(
      '  sources[0].mappings[0].to (line 10): found "prodct", expected one of product, material, bom_item. Did you mean product?',
    );
    expect(fault.message).toContain('sources[0].connector (line 6): found "cvs", expected a connector');
    expect(fault.message).toContain('Did you mean csv?');
  });

  it('a config with a bracket that is not closed is reported as such', async () => {
    expect((await faultOf('sources: [\n')).message).toContain(
      'line 2: found a line that is indented wrongly, or a bracket or brace before it that is not closed.',
    );
  });

  it('a config that is missing is reported with the place where it was looked for and what to do', async () => {
    const file = join(configFolder({}), 'dpp-sync.yaml');
    const options = {
      file,
      env: {},
      connectors: { ids: [], load: async () => null },
      profilesDir: '',
      secrets: createSecretStore(),
    };
    const error = await loadConfig(options).catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(Fault);
    expect(error).toMatchObject({
      code: 'config.missing',
      exitCode: 2,
      suggestion: expect.stringContaining('`dpp-sync init`'),
    });
    expect(String(error)).toContain(file);
  });

  it('a config may have users without a token, and hashes from files', async () => {
    const config = await loadText(
      `web: { host: 0.0.0.0, allowedHosts: [a.example], users: [${USER}] }\n${SOUND_CONFIG}`,
    );
    expect(config.web).toMatchObject({ token: null, users: [{ name: 'anna', role: 'editor' }] });
    expect(await config.web?.users[0]?.password?.read()).toBe(HASH);
    expect(JSON.stringify(config.web)).not.toContain('scrypt');
  });

  it('a config whose proxy names people needs no passwords, and needs the addresses of the proxy', async () => {
    const web = (more: string) =>
      `web: { userHeader: Remote-User, users: [{ name: anna, role: editor }]${more} }\n${SOUND_CONFIG}`;
    expect((await loadText(web(', trustedProxies: [10.1.2.3]'))).web).toMatchObject({
      userHeader: 'Remote-User',
      users: [{ name: 'anna', password: null }],
    });
    for (const more of ['', ', trustedProxies: []']) {
      expect((await faultOf(web(more))).message).toContain(
        'web.userHeader (line 1): found a header without `trustedProxies`, so each client could be any user.',
      );
    }
    const without = `web: { users: [{ name: anna, role: editor }] }\n${SOUND_CONFIG}`;
    expect((await faultOf(without)).message).toContain(
      'web.users[0].password (line 1): found nothing, expected a hash as `dpp-sync password` prints it',
    );
    const odd = web(', trustedProxies: [10.1.2.3]').replace('Remote-User', '"X: Y"');
    expect((await faultOf(odd)).message).toContain('web.userHeader (line 1)');
  });

  it.each([
    ['a missing value', (text: string) => text.replace(/ {2}apiKey.*\n/, ''), 'target.apiKey'],
    ['credentials in the address', (text: string) => text.replace('//', '//u:p@'), 'target.baseUrl'],
    ['a query in the address', (text: string) => text.replace('.com', '.com/?'), 'target.baseUrl'],
    ['http beyond loopback', (text: string) => text.replace('https://dpp', 'http://127.0.0.1'), 'target.baseUrl'],
    ['a rate of nothing', (text: string) => text.replace('target:', 'target:\n  maxRate: 0'), 'target.maxRate'],
    ['a queue that is not there yet', (text: string) => `queue: postgres://h/db\n${text}`, 'queue'],
    ['another queue', (text: string) => `queue: amqp://h\n${text}`, 'queue'],
    ['a ledger that is not there yet', (text: string) => `ledger: postgresql://h/db\n${text}`, 'ledger'],
    ['a short token', (text: string) => `web: { token: 0123456789abcde }\n${text}`, 'web.token'],
    ['a port that is none', (text: string) => `web: { token: 0123456789abcdefg, port: 70000 }\n${text}`, 'web.port'],
    ['a dashboard that nobody can log in to', (text: string) => `web: { port: 1 }\n${text}`, 'web'],
    [
      'an address for others without allowed hosts',
      (text: string) => `web: { host: 0.0.0.0, token: 0123456789abcdefg }\n${text}`,
      'web.host',
    ],
    [
      'a user with a password in plain text',
      (text: string) => `web: ${user('hunter2hunter2')}\n${text}`,
      'web.users[0].password',
    ],
    [
      'a user with a cheap hash',
      (text: string) => `web: ${user(HASH.replace('ln=15', 'ln=4'))}\n${text}`,
      'web.users[0].password',
    ],
    [
      'a user with a hash that fills the memory',
      (text: string) => `web: ${user(HASH.replace('ln=15', 'ln=24'))}\n${text}`,
      'web.users[0].password',
    ],
    [
      'a user with the name of the token',
      (text: string) => `web: ${user(HASH, 'token')}\n${text}`,
      'web.users[0].name',
    ],
    ['two users of one name', (text: string) => `web: { users: [${USER}, ${USER}] }\n${text}`, 'web.users[1].name'],
    [
      'a role that is none',
      (text: string) => `web: ${user(HASH).replace('editor', 'root')}\n${text}`,
      'web.users[0].role',
    ],
    ['an id that is no slug', (text: string) => text.replace('id: erp', 'id: "ERP 1"'), 'sources[0].id'],
    [
      'an unknown time zone',
      (text: string) => text.replace('id: erp', 'id: erp\n    timezone: Mars'),
      'sources[0].timezone',
    ],
    [
      'a share above all',
      (text: string) => text.replace('id: erp', 'id: erp\n    guard: { maxDrop: 20 }'),
      'sources[0].guard.maxDrop',
    ],
    ['no sources', (text: string) => text.replace(/sources:[^]*/, 'sources: []\n'), 'sources'],
    [
      'an option of the wrong type',
      (text: string) => text.replace('{ path', '{ skipLines: x, path'),
      'sources[0].options.skipLines',
    ],
    ['a missing stream option', (text: string) => text.replace('path: products.csv, ', ''), 'sources[0].options.path'],
    ['a key that is no list', (text: string) => text.replace('[SKU]', 'SKU'), 'sources[0].options.key'],
    [
      'a key that is never stored',
      (text: string) => text.replace('id: erp', 'id: erp\n    omit: [X, SKU]'),
      'sources[0].omit[1]',
    ],
    [
      'a stream that is not there',
      (text: string) => text.replace('to: product', 'stream: boms\n        to: product'),
      'sources[0].mappings[0].stream',
    ],
    [
      'refs of a product',
      (text: string) => text.replace('fields:', 'refs: { product: row.P }\n        fields:'),
      'sources[0].mappings[0].refs',
    ],
    [
      'a required field without an expression',
      (text: string) => text.replace(', name: row.NAME', ''),
      'sources[0].mappings[0].fields.name',
    ],
    [
      'a module beside expressions',
      (text: string) => text.replace('to: product', 'module: ./m.ts'),
      'sources[0].mappings[0].key',
    ],
    ['an empty expression', (text: string) => text.replace('key: row.SKU', 'key: ""'), 'sources[0].mappings[0].key'],
  ])('a config is rejected for %s', async (_what, change, path) => {
    const text = change(SOUND_CONFIG);
    expect(text).not.toBe(SOUND_CONFIG);
    expect(Object.keys(await problemsIn(text))).toContain(path);
  });

  it('a config may have http towards loopback', async () => {
    for (const host of ['127.0.0.1:1', '127.9.9.9', 'localhost:8080', '[::1]']) {
      const config = await loadText(SOUND_CONFIG.replace('https://dpp.example.com', `http://${host}`));
      expect(config.target.baseUrl).toBe(`http://${host}`);
    }
  });

  it('a config has to give a BOM item its product and a part', async () => {
    const bom = SOUND_CONFIG.replace(
      /to: product[^]*/,
      'to: bom_item\n        key: row.K\n        fields: { quantity: 1 }\n',
    );
    expect(Object.keys(await problemsIn(bom))).toEqual(['sources[0].mappings[0].refs']);
    const empty = await problemsIn(bom.replace('fields', 'refs: {}\n        fields'));
    expect(Object.keys(empty)).toEqual(['sources[0].mappings[0].refs.product', 'sources[0].mappings[0].refs']);
    const both = bom.replace('fields', 'refs: { product: row.P, material: row.M, component: row.C }\n        fields');
    expect((await loadText(both)).sources[0]?.mappings[0]?.refs).toHaveProperty('component', 'row.C');
  });

  it('a config with a mistyped key, field, stream or time zone is rejected with what was meant', async () => {
    const text = CONTRACT.replace('baseUrl', 'baseURL')
      .replace('delimiter', 'delimter')
      .replace('files: all', 'flies: all')
      .replace('name: row', 'nmae: row')
      .replace('stream: boms', 'stream: bom')
      .replace('Europe/Berlin', 'Europe/Berin');
    const problems = await problemsIn(text, { files: SECRET_FILES });
    expect(problems['target.baseURL']?.cure).toBe('Did you mean baseUrl?');
    expect(problems['sources[0].options.delimter']?.cure).toBe('Did you mean delimiter?');
    expect(problems['sources[0].streams.boms.flies']?.cure).toBe('Did you mean files?');
    expect(problems['sources[0].mappings[0].fields.nmae']?.cure).toBe('Did you mean name?');
    expect(problems['sources[0].mappings[1].stream']?.cure).toBe('Did you mean boms?');
    expect(problems['sources[0].timezone']?.cure).toBe('Did you mean Europe/Berlin?');
  });

  it('a config may name the known encodings, for a source, a stream and a single stream', async () => {
    const text = CONTRACT.replace('windows-1252', 'klingon').replace('files: all', 'encoding: vulcan');
    const problems = await problemsIn(text, { files: SECRET_FILES });
    expect(Object.keys(problems)).toEqual(['sources[0].options.encoding', 'sources[0].streams.boms.encoding']);
    expect(problems['sources[0].options.encoding']?.message).toMatch(
      /^found "klingon", expected an encoding, such as utf-8, windows-1252/,
    );
    const single = await problemsIn(SOUND_CONFIG.replace('{ path', '{ encoding: "", path'));
    expect(single['sources[0].options.encoding']?.message).toContain('found empty text, expected text');
  });

  it('a config with a stream option beside streams is rejected with the place where it belongs', async () => {
    const problems = await problemsIn(CONTRACT.replace('{ delimiter', '{ path: x.csv, delimiter'), {
      files: SECRET_FILES,
    });
    expect(problems['sources[0].options.path']?.cure).toContain('belongs under each');
  });

  it('a config with two sources of one id is rejected with the name of the first', async () => {
    const second = SOUND_CONFIG.slice(SOUND_CONFIG.indexOf('  - id'));
    const problems = await problemsIn(SOUND_CONFIG + second);
    expect(problems['sources[1].id']).toMatchObject({ line: 12, message: expect.stringContaining('sources[0]') });
  });

  it.each([
    ['61 2 * * *', 'the minute of this one is not valid'],
    ['0 0 30 2 *', 'the day of month of this one is not valid'],
    ['0 0 * * 9', 'the day of week of this one is not valid'],
    ['0 0 * *', 'which has 5 fields'],
  ])('a config with the schedule %s is rejected with what is wrong in it: %s', async (schedule, reason) => {
    const problems = await problemsIn(SOUND_CONFIG.replace('id: erp', `id: erp\n    schedule: "${schedule}"`));
    expect(problems['sources[0].schedule']?.message).toContain(reason);
  });

  it('a config whose streams are a list has this problem alone, and none for each mapping', async () => {
    const text = `
target: { baseUrl: "https://dpp.example.com", apiKey: dpp_0123456789abcdef }
sources:
  - id: erp
    connector: csv
    streams: [{ path: ./products.csv }]
    lookups: { t: { stream: products, key: A, value: B } }
    mappings:
      - { stream: products, to: product, key: row.A, fields: { sku: row.A, name: row.B } }
      - { to: material, key: row.A, fields: { name: row.B } }
`;
    expect(Object.keys(await problemsIn(text))).toEqual(['sources[0].streams']);
  });

  it('a config with a path without a value, an empty file or a list is rejected with what it lacks', async () => {
    expect((await faultOf('')).message).toContain('found nothing, expected named values');
    expect((await faultOf('[1]')).message).toContain('found a list, expected named values');
  });
});

describe('the password of the queue', () => {
  const load = (text: string, password: string) =>
    loadText(`${text}\nqueuePassword: \${file:pw:-}\n${SOUND_CONFIG}`, { files: { pw: password } });

  it('the password of the queue is put into the URL as it has to be written there, and is none where it is empty', async () => {
    const { queue } = await load('queue: redis://worker@h:6380/2', "p@ss:w/o%r+d#?'");
    const url = new URL(queue.kind === 'redis' ? queue.url : '');
    expect(decodeURIComponent(url.password)).toBe("p@ss:w/o%r+d#?'");
    expect([url.username, url.host, url.pathname]).toEqual(['worker', 'h:6380', '/2']);
    expect((await load('queue: redis://h', '')).queue).toEqual({ kind: 'redis', url: 'redis://h' });
    expect((await load('queue: embedded', '')).queue).toEqual({ kind: 'embedded' });
  });

  it('the password of the queue is accepted for a queue that takes one', async () => {
    for (const queue of ['queue: redis://:other@h', 'queue: embedded', '']) {
      const text = `${queue}\nqueuePassword: hunter2hunter2\n${SOUND_CONFIG}`;
      const problems = await problemsIn(text);
      expect(Object.keys(problems)).toEqual(['queuePassword']);
      expect(problems['queuePassword']?.message).toMatch(/^found a value that is not shown, expected nothing/);
    }
  });
});
