// A connector outside the repository, made by `connector new`: its tests pass, and the program uses it by its path.

import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { cli } from '../support/cli.ts';
import { installSdk } from '../support/sdk-package.ts';
import { API_KEY, createWorld, type World } from '../support/world.ts';

const ROOT = join(import.meta.dirname, '../..');

let base: string;
let folder: string;
beforeEach(() => {
  base = mkdtempSync(join(tmpdir(), 'dpp-new-'));
  folder = join(base, 'acme');
});
afterEach(() => rmSync(base, { recursive: true }));

const make = (name: string, ...args: string[]) => cli(['connector', 'new', name, '--dir', folder, ...args]);

const nodeIn = (cwd: string, ...args: string[]) => spawnSync(process.execPath, args, { cwd, encoding: 'utf8' });

describe('connector new', () => {
  it('makes a connector that passes the conformance kit', async () => {
    expect(await make('acme')).toMatchObject({ exitCode: 0, stderr: '' });
    expect(readFileSync(join(folder, 'package.json'), 'utf8')).toContain('"dpp-sync-connector-acme"');
    installSdk(folder);
    const tested = nodeIn(folder, '--test', 'connector.test.ts');
    expect(tested.status, tested.stdout).toBe(0);
    expect(tested.stdout).toMatch(/fail 0/);
  });

  it('makes a connector whose types fit the SDK', async () => {
    await make('acme');
    installSdk(folder);
    const tsconfig = {
      extends: './tsconfig.json',
      compilerOptions: {
        noEmit: true,
        allowImportingTsExtensions: true,
        noUncheckedIndexedAccess: true,
        exactOptionalPropertyTypes: true,
        typeRoots: [join(ROOT, 'node_modules/@types')],
      },
      files: ['connector.ts', 'connector.test.ts'],
    };
    writeFileSync(join(folder, 'tsconfig.test.json'), JSON.stringify(tsconfig));
    const checked = nodeIn(folder, join(ROOT, 'node_modules/typescript/bin/tsc'), '-p', 'tsconfig.test.json');
    expect(checked.stdout).toBe('');
  });

  it('leaves a folder with files in it alone, and refuses a name that is no id', async () => {
    await make('acme');
    const again = await make('acme');
    expect(again).toMatchObject({ exitCode: 2, stdout: '' });
    expect(again.stderr).toMatch(/The folder .*acme has files in it\..*--dir/s);
    const misnamed = await make('Acme PIM');
    expect(misnamed).toMatchObject({ exitCode: 2, stdout: '' });
    expect(misnamed.stderr).toMatch(/cannot be called "Acme PIM".*acme-pim/s);
  });
});

/** The files that docs/connectors/writing.md shows, by their paths. */
function filesOfPage(): Record<string, string> {
  const page = readFileSync(join(ROOT, 'docs/connectors/writing.md'), 'utf8');
  const blocks = page.matchAll(/^`([\w./-]+)`:\n\n```\w*\n(.*?)^```$/gms);
  return Object.fromEntries([...blocks].map(([, path = '', text = '']) => [path, text]));
}

describe('a connector that was made', () => {
  let world: World;
  beforeEach(async () => {
    world = await createWorld({ config: { sources: [] } });
  });
  afterEach(() => world.remove());

  it('becomes the one of docs/connectors/writing.md, whose tests pass and whose config syncs', async () => {
    await make('acme');
    const files = filesOfPage();
    expect(Object.keys(files)).toEqual(['fixtures/articles.txt', 'connector.ts', 'connector.test.ts', 'dpp-sync.yaml']);
    for (const [path, text] of Object.entries(files)) writeFileSync(join(folder, path), text);
    installSdk(folder);
    const tested = nodeIn(folder, '--test', 'connector.test.ts');
    expect(tested.status, tested.stdout).toBe(0);
    const config = join(folder, 'dpp-sync.yaml');
    const text = readFileSync(config, 'utf8').replace(/baseUrl: .*/, `baseUrl: ${world.baseUrl}`);
    writeFileSync(config, text.replace(/apiKey: .*/, `apiKey: ${API_KEY}`));
    const { exitCode, stdout } = await cli(['sync', '-c', config, '--json']);
    expect(exitCode).toBe(4);
    expect(JSON.parse(stdout)).toMatchObject({
      runs: [{ read: 3, quarantined: 1 }],
      items: { product: { delivered: 2 } },
    });
  });

  it('is used by its config: what it reads is delivered, and a broken row is quarantined', async () => {
    const made = await make('acme', '--json');
    expect(JSON.parse(made.stdout)).toMatchObject({ ok: true, folder });
    const config = join(folder, 'dpp-sync.yaml');
    const text = readFileSync(config, 'utf8').replace(/baseUrl: .*/, `baseUrl: ${world.baseUrl}`);
    writeFileSync(config, text.replace(/apiKey: .*/, `apiKey: ${API_KEY}`));
    const { exitCode, stdout } = await cli(['sync', '-c', config, '--json']);
    expect(exitCode).toBe(4);
    expect(JSON.parse(stdout)).toMatchObject({
      runs: [{ read: 3, changed: 2, quarantined: 1 }],
      items: { product: { delivered: 2 } },
    });
  });
});
