// Connectors of other authors: at a path, in a package, and with each possible mistake.

import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { cli } from '../../support/cli/cli.ts';
import { API_KEY, createWorld, type World } from '../../support/worlds/world.ts';

/** A connector of two rows. */
function connectorModule({ id = 'two-rows', sdk = 'dpp-sync/sdk', definition = '' } = {}): string {
  return `import { defineConnector, z } from '${sdk}';
export default { ...defineConnector({
  id: '${id}',
  title: 'Gives two rows',
  reads: 'snapshot',
  options: z.strictObject({ prefix: z.string().describe('Before each id.') }),
  streamOptions: z.strictObject({}),
  async open({ prefix }) {
    return {
      async check() { return { found: 'two rows', columns: ['id'] }; },
      async *pull() {
        yield { rows: ['1', '2'].map((id) => ({ fields: { id: prefix + id }, place: { path: id } })) };
      },
      async close() {},
    };
  },
}), ${definition} };
`;
}

/** A connector for files, which has these members. */
function fileModule(members: string): string {
  return `import { defineFileConnector, z } from 'dpp-sync/sdk';
export default defineFileConnector({ id: 'lines', title: 'Lines', ${members} });
`;
}

let world: World;
beforeEach(async () => {
  world = await createWorld({ config: { sources: [] } });
});
afterEach(() => world.remove());

function write(file: string, text: string): void {
  mkdirSync(dirname(join(world.folder, file)), { recursive: true });
  writeFileSync(join(world.folder, file), text);
}

function writePackage(name: string, text: string, manifest: object = { type: 'module', exports: './index.js' }): void {
  write(`node_modules/${name}/package.json`, JSON.stringify({ name, version: '1.0.0', ...manifest }));
  write(`node_modules/${name}/index.js`, text);
}

async function run(connector: string, command = 'check', options: object = { prefix: 'A-' }) {
  const source = {
    id: 'own',
    connector,
    options,
    mappings: [{ to: 'product', key: 'row.id', fields: { sku: 'row.id', name: 'row.id' } }],
  };
  const target = { baseUrl: world.baseUrl, apiKey: API_KEY };
  write('own.yaml', JSON.stringify({ target, ledger: './own.db', sources: [source] }));
  const { exitCode, stdout, stderr } = await cli([command, '-c', join(world.folder, 'own.yaml'), '--json']);
  return { exitCode, stderr, document: JSON.parse(stdout) as Record<string, unknown> };
}

const problemWith = async (connector: string) => {
  const { exitCode, document } = await run(connector);
  expect(exitCode).toBe(2);
  return JSON.stringify(document['error']);
};

describe('a connector of another author', () => {
  it('a connector of another author is loaded from a path of the config, with the SDK of the running program', async () => {
    write('my/connector.ts', connectorModule());
    expect(await run('./my/connector.ts', 'sync')).toMatchObject({
      exitCode: 0,
      document: { items: { product: { delivered: 2 } } },
    });
    expect(world.contents().products.map(({ sku }) => sku)).toEqual(['A-1', 'A-2']);
  });

  it('a connector of another author is loaded from a package that is installed beside the config', async () => {
    writePackage('dpp-sync-connector-two', connectorModule());
    expect(await run('dpp-sync-connector-two')).toMatchObject({ exitCode: 0 });
  });

  it('a connector of another author has its options checked by its own schema', async () => {
    write('c.ts', connectorModule());
    const { exitCode, document } = await run('./c.ts', 'check', { prefux: 'A-' });
    expect(exitCode).toBe(2);
    expect(JSON.stringify(document)).toContain('prefux');
    expect(JSON.stringify(document)).toContain('Did you mean prefix?');
  });

  it.each<[string, string, () => void, RegExp]>([
    [
      'does not exist',
      './none.ts',
      () => undefined,
      /The connector \.\/none\.ts does not exist.*relative to the config file/,
    ],
    [
      'is not installed',
      'dpp-sync-connector-none',
      () => undefined,
      /is not installed.*npm install dpp-sync-connector-none/,
    ],
    ['is CommonJS', './c.cjs', () => write('c.cjs', 'module.exports = {};'), /is a CommonJS module.*export default/],
    [
      'is an ES module in a folder of CommonJS modules',
      './c.ts',
      () => {
        write('package.json', '{ "type": "commonjs" }');
        write('c.ts', connectorModule());
      },
      /is a CommonJS module.*type.*module/,
    ],
    [
      'has a mistake in its text',
      './c.ts',
      () => write('c.ts', 'export default {};\nconst count: number = ;'),
      /cannot be loaded: .*c\.ts, line 2: Expression expected\./,
    ],
    [
      'has no default export',
      './c.ts',
      () => write('c.ts', 'export const a = 1;'),
      /has no default export.*defineConnector/,
    ],
    [
      'is something else',
      './c.ts',
      () => write('c.ts', 'export default { id: 1 };'),
      /is not a connector.*defineConnector/,
    ],
    [
      'was written for another SDK',
      './c.ts',
      () => write('c.ts', connectorModule({ definition: 'sdk: 99' })),
      /version 99 of the SDK.*version 1/,
    ],
    [
      'lacks a part',
      './c.ts',
      () => write('c.ts', connectorModule({ definition: 'open: undefined' })),
      /has no `open`, or in another form.*`open` is a function/,
    ],
    [
      'has plain objects in place of schemas',
      './c.ts',
      () => write('c.ts', connectorModule({ definition: 'options: { prefix: z.string() }' })),
      /has no `options`, or in another form.*z\.strictObject/,
    ],
    [
      'gives a schema in place of the fields of a connector for files',
      './c.ts',
      () => write('c.ts', fileModule('options: z.strictObject({}), streamOptions: {}, async *read() {}')),
      /cannot be loaded: The `options` of the connector lines are not .*without `z\.strictObject`/,
    ],
    [
      'imports the SDK by a wrong name',
      './c.ts',
      () => write('c.ts', connectorModule().replace('dpp-sync/sdk', 'dpp-sync')),
      /cannot be loaded: There is no module dpp-sync: import from dpp-sync\/sdk\./,
    ],
    [
      'fails while it is loaded',
      './c.ts',
      () => write('c.ts', 'throw new Error("No licence.");'),
      /cannot be loaded: No licence\./,
    ],
    [
      'needs a module that is missing',
      './c.ts',
      () => write('c.ts', 'import "./other.ts";'),
      /cannot be loaded: Cannot find module/,
    ],
    [
      'is TypeScript in a package',
      'dpp-sync-connector-ts',
      () => {
        writePackage('dpp-sync-connector-ts', '', { type: 'module', exports: './index.ts' });
        write('node_modules/dpp-sync-connector-ts/index.ts', connectorModule());
      },
      /has TypeScript files.*has to publish it as JavaScript/,
    ],
  ])('a connector of another author is refused with a cure where it %s', async (_, connector, prepare, words) => {
    prepare();
    expect(await problemWith(connector)).toMatch(words);
  });

  it('a connector for files that gives no pages is named with its cure', async () => {
    write('c.ts', fileModule('options: {}, streamOptions: {}, read() {}'));
    write('a.txt', 'x');
    const { exitCode, document } = await run('./c.ts', 'check', { path: './a.txt', key: ['id'] });
    expect(exitCode).toBe(3);
    expect(JSON.stringify(document)).toMatch(/The connector lines gives no pages of a\.txt\..*async \*read/);
  });

  it('what a connector of another author writes to the console is not in the document on stdout', async () => {
    write('c.ts', connectorModule().replace('async *pull() {', 'async *pull() { console.log("reading");'));
    expect(await run('./c.ts', 'sync')).toMatchObject({
      exitCode: 0,
      stderr: expect.stringContaining('reading'),
      document: { items: { product: { delivered: 2 } } },
    });
  });

  it.each([
    ['ends the process', 'process.exit(0);'],
    ['waits for something that never comes', 'await new Promise(() => {});'],
  ])('a command is not successful where a connector of another author %s', async (_, statement) => {
    write('c.ts', connectorModule().replace('async open({ prefix }) {', `async open({ prefix }) { ${statement}`));
    const { exitCode, document } = await run('./c.ts', 'check');
    expect(exitCode).toBe(1);
    expect(JSON.stringify(document)).toContain('The process ended before the command was done');
  });

  it('a command ends, with a warning, although a connector of another author has left a timer', async () => {
    write('c.ts', connectorModule().replace('async check() {', 'async check() { setInterval(() => {}, 1000);'));
    expect(await run('./c.ts', 'check')).toMatchObject({
      exitCode: 0,
      stderr: expect.stringMatching(/Something is still open after the end of the command \(.*Timeout.*\)/),
    });
  });

  it('a connector of another author is suggested where its name was mistyped', async () => {
    expect(await problemWith('cvs')).toMatch(/Did you mean csv\?/);
  });
});
