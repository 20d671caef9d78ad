// Connectors outside the repository: one that `connector new` makes, and those of docs/connectors/writing.md. Their tests
// pass, and the program loads them by their paths.

import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { cli } from '../support/cli/cli.ts';
import { installSdk } from '../support/cli/sdk-package.ts';
import { filesOfPage } from '../support/docs/page-files.ts';
import { removeFolder } from '../support/machine/remove-folder.ts';
import { API_KEY, createWorld, type World } from '../support/worlds/world.ts';

const ROOT = join(import.meta.dirname, '../..');
const PAGE = filesOfPage('writing.md');
const base = mkdtempSync(join(tmpdir(), 'dpp-new-'));
const folder = join(base, 'acme');
const restFolder = join(base, 'shop');
afterAll(() => removeFolder(base));

const make = (name: string, ...args: string[]) => cli(['connector', 'new', name, '--dir', folder, ...args]);

let made: Awaited<ReturnType<typeof make>>;
beforeAll(async () => {
  made = await make('acme', '--json');
  for (const [path, content] of Object.entries(PAGE)) write(`page/${path}`, content);
  installSdk(folder);
  await cli(['connector', 'new', 'shop', '--rest', '--dir', restFolder]);
  installSdk(restFolder);
});

function write(path: string, content: string | Uint8Array): void {
  mkdirSync(dirname(join(folder, path)), { recursive: true });
  writeFileSync(join(folder, path), content);
}

const nodeIn = (cwd: string, ...args: string[]) => spawnSync(process.execPath, args, { cwd, encoding: 'utf8' });
const nodeHere = (...args: string[]) => nodeIn(folder, ...args);

/** What the compiler says about the code in a folder, with the strictest options. */
function typeFaultsIn(of: string, code: readonly string[]): string {
  const tsconfig = {
    extends: './tsconfig.json',
    compilerOptions: {
      noEmit: true,
      allowImportingTsExtensions: true,
      noUncheckedIndexedAccess: true,
      exactOptionalPropertyTypes: true,
      typeRoots: [join(ROOT, 'node_modules/@types')],
    },
    files: ['connector.ts', 'connector.test.ts', ...code],
  };
  writeFileSync(join(of, 'tsconfig.test.json'), JSON.stringify(tsconfig));
  return nodeIn(of, join(ROOT, 'node_modules/typescript/bin/tsc'), '-p', 'tsconfig.test.json').stdout;
}

describe('connector new', () => {
  it('connector new makes a package and names its files', () => {
    expect(made).toMatchObject({ exitCode: 0, stderr: '' });
    expect(made.json()).toMatchObject({ ok: true, folder });
    expect(readFileSync(join(folder, 'package.json'), 'utf8')).toContain('"dpp-sync-connector-acme"');
  });

  it('connector new prints commands that work without a key of the platform', async () => {
    const cwd = mkdtempSync(join(base, 'elsewhere '));
    const { stdout } = await cli(['connector', 'new', 'beta', '--dir', 'my connector'], { cwd });
    const preview = stdout.split('\n').find((line) => line.includes('preview')) ?? '';
    const shown = spawnSync('sh', ['-c', preview], { cwd, encoding: 'utf8', env: { PATH: process.env['PATH'] } });
    expect(shown).toMatchObject({ status: 0, stderr: '' });
    expect(shown.stdout).toContain('A-100');
    expect(stdout).toContain("  cd 'my connector'\n");
    expect(JSON.parse(readFileSync(join(cwd, 'my connector/package.json'), 'utf8'))).toMatchObject({
      scripts: {
        test: 'node node_modules/dpp-sync/src/launcher.mjs --test connector.test.ts && node node_modules/dpp-sync/src/launcher.mjs test',
      },
    });
  });

  it('connector new leaves a folder with files in it alone, and refuses a name that is no id', async () => {
    const again = await make('acme');
    expect(again).toMatchObject({ exitCode: 2, stdout: '' });
    expect(again.stderr).toMatch(/The folder .*acme is not empty\..*--dir/s);
    const misnamed = await make('Acme PIM');
    expect(misnamed).toMatchObject({ exitCode: 2, stdout: '' });
    expect(misnamed.stderr).toMatch(/cannot be called "Acme PIM".*acme-pim/s);
  });
});

describe('the connector that was made, and those of docs/connectors/writing.md,', () => {
  const tests = Object.keys(PAGE).filter((path) => path.endsWith('.test.ts'));

  it('the connectors made and of the docs pass the conformance kit', () => {
    expect(tests).toEqual(['connector.test.ts', 'api-connector.test.ts', 'rest-connector.test.ts']);
    const tested = nodeHere('--test', 'connector.test.ts', ...tests.map((path) => `page/${path}`));
    expect(tested.status, tested.stdout).toBe(0);
    expect(tested.stdout).toMatch(/fail 0/);
  });

  it('the cases of the connectors made and of the docs pass', async () => {
    for (const config of ['dpp-sync.yaml', 'page/dpp-sync.yaml']) {
      const tested = await cli(['test', '-c', join(folder, config), '--json']);
      expect(tested.json()).toMatchObject({ ok: true, failed: 0, untested: [] });
    }
  });

  it('the connectors made and of the docs have types that fit the SDK', () => {
    const code = Object.keys(PAGE).filter((path) => path.endsWith('.ts'));
    expect(
      typeFaultsIn(
        folder,
        code.map((path) => `page/${path}`),
      ),
    ).toBe('');
  });
});

describe('the connector that connector new makes with --rest', () => {
  it('the made connector for a REST API passes the checks of REST connectors, has the right types, and its case passes', async () => {
    const tested = nodeIn(restFolder, '--test', 'connector.test.ts');
    expect(tested.status, tested.stdout).toBe(0);
    expect(tested.stdout).toMatch(/pass 3\d\n[^]*fail 0/);
    expect(typeFaultsIn(restFolder, [])).toBe('');
    const cases = await cli(['test', '-c', join(restFolder, 'dpp-sync.yaml'), '--json']);
    expect(cases.json()).toMatchObject({ ok: true, failed: 0, untested: [] });
  });

  it('the checks of the made connector for a REST API fail if it asks for no order', () => {
    const path = join(restFolder, 'unsorted.ts');
    const code = readFileSync(join(restFolder, 'connector.ts'), 'utf8');
    writeFileSync(path, code.replace(", sort: 'id'", ''));
    const test = readFileSync(join(restFolder, 'connector.test.ts'), 'utf8');
    writeFileSync(join(restFolder, 'unsorted.test.ts'), test.replace('./connector.ts', './unsorted.ts'));
    const tested = nodeIn(restFolder, '--test', '--test-name-pattern', '^gives each row once$', 'unsorted.test.ts');
    expect(tested.status).toBe(1);
    expect(tested.stdout).toMatch(/does not have the last row of the page before/);
  });
});

describe('a config that names a connector by its path', () => {
  let world: World;
  beforeEach(async () => {
    world = await createWorld({ config: { sources: [] } });
  });
  afterEach(() => world.remove());

  const run = (command: string, config: string) =>
    cli([command, '-c', join(folder, config), '--json'], {
      env: { DPP_BASE_URL: world.baseUrl, DPP_API_KEY: API_KEY },
    });

  it('a config with a connector by path delivers what the made connector reads, and a broken row is quarantined', async () => {
    const synced = await run('sync', 'dpp-sync.yaml');
    expect(synced.exitCode).toBe(4);
    expect(synced.json()).toMatchObject({
      runs: [{ read: 3, changed: 2, quarantined: 1 }],
      items: { product: { delivered: 2 } },
    });
  });

  it('a config with a connector by path delivers the catalogue of docs/connectors/writing.md, with its bill of materials', async () => {
    expect((await run('check', 'page/dpp-sync.yaml')).json()).toMatchObject({ ok: true });
    const synced = await run('sync', 'page/dpp-sync.yaml');
    expect(synced.exitCode).toBe(4);
    expect(synced.json()).toMatchObject({
      runs: [
        { stream: 'articles', read: 3, quarantined: 1 },
        { stream: 'references', read: 3, excluded: 1, quarantined: 0 },
      ],
      items: { product: { delivered: 2 }, bom_item: { delivered: 2 } },
    });
    expect(world.contents().products.map(({ sku, name, gtin }) => [sku, name, gtin])).toEqual([
      ['A-100', 'Förderpumpe', '04006381333931'],
      ['A-200', 'Seal', null],
    ]);
  });
});
