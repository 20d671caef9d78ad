import { spawnSync } from 'node:child_process';
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { type CliProcess, cli, startCli } from '../support/cli/cli.ts';
import { removeFolder } from '../support/machine/remove-folder.ts';
import { describeSmallDisk, mountSmallDisk, type SmallDisk } from '../support/machine/small-disk.ts';

const ROOT = join(import.meta.dirname, '../..');
/** The tests' own Node and npm, and nothing that `npm test` adds. */
const PLAIN = { PATH: `${dirname(process.execPath)}${delimiter}${process.env['PATH'] ?? ''}`, HOME: tmpdir() };

/** Links the bin into a folder as npm does. */
function installBin(bin: string): string {
  mkdirSync(bin, { recursive: true });
  symlinkSync(join(ROOT, 'src/launcher.mjs'), join(bin, 'dpp-sync'));
  return join(bin, 'dpp-sync');
}

/** Runs a command line as a person does, in a folder. */
const shell = (line: string, cwd: string) => spawnSync('sh', ['-c', line], { cwd, env: PLAIN, encoding: 'utf8' });

/** Asserts that a demo has printed commands which begin with this text, and that one of them works in this folder. */
function expectPastes(stdout: string, begin: string, cwd: string): void {
  const lines = stdout.split('\n').map((line) => line.trim().split(/ {2,}/, 1)[0] ?? '');
  const commands = lines.filter((line) => line.startsWith(begin));
  expect(commands).toHaveLength(6);
  expect(shell(commands.find((line) => line.includes(' quarantine ')) ?? '', cwd)).toMatchObject({
    status: 0,
    stderr: '',
    stdout: expect.stringContaining('bom.csv'),
  });
}

let folder: string;
const children: CliProcess[] = [];

function start(args: readonly string[]): CliProcess {
  const child = startCli(args);
  children.push(child);
  return child;
}

// A test that fails must not leave a server behind.
afterEach(async () => {
  for (const child of children.splice(0)) {
    child.signal('SIGKILL');
    await child.ended;
  }
});

beforeAll(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), 'dpp-demo-')));
});
afterAll(() => removeFolder(folder));

interface DemoDocument {
  ok: boolean;
  config: string;
  steps: {
    name: string;
    requests: { sent: number };
    passports: unknown;
    items: unknown;
    runs: { quarantined: number }[];
  }[];
}

describe('dpp-sync demo', () => {
  it('the demo runs twice, each time from a fresh ledger, and keeps edits and prints commands that can be pasted', async () => {
    const dir = join(folder, 'demo');
    const first = await cli(['demo', '--dir', dir, '--json']);
    expect(first.exitCode).toBe(0);
    const { steps, config } = first.json() as unknown as DemoDocument;
    const sent = new Map(steps.map(({ name, requests }) => [name, requests.sent]));
    // Products are sent in bulk imports only after the proof by the first import. So the number of requests depends on the time.
    expect(sent.get('first')).toBeGreaterThan(1900);
    expect(sent.get('first')).toBeLessThan(2320);
    sent.delete('first');
    // The request for the change; then the request for the corrected line, and two for each passport.
    expect([...sent]).toEqual([
      ['unchanged', 0],
      ['one change', 1],
      ['passports', 1 + 337 * 2],
    ]);
    expect(steps.map(({ passports }) => passports)).toEqual([
      { incomplete: 344 },
      { incomplete: 344 },
      { incomplete: 344 },
      { published: 331, blocked: 6, incomplete: 7 },
    ]);
    expect(steps[0]).toMatchObject({
      items: { product: { delivered: 344 }, material: { delivered: 98 }, bom_item: { delivered: 1868, waiting: 19 } },
    });
    expect(steps[0]?.runs.reduce((sum, { quarantined }) => sum + quarantined, 0)).toBe(14);
    for (const secret of ['api-key', 'web-token']) expect(statSync(join(dir, 'data', secret)).mode & 0o777).toBe(0o600);
    expect((await cli(['status', '-c', config])).stdout).toContain('344');

    // The output is larger than the buffer of a pipe, and its reader ends after one line.
    const launcher = join(import.meta.dirname, '../../src/launcher.mjs');
    const piped = `("${process.execPath}" "${launcher}" items --json -c "${config}"; echo "exit $?" >&2) | head -n 1`;
    const { stdout, stderr } = spawnSync('sh', ['-c', piped], { encoding: 'utf8' });
    expect(JSON.parse(stdout)).toMatchObject({ kind: 'product' });
    expect(stderr).toBe('exit 0\n');

    const exported = join(dir, 'exports', 'products.csv');
    appendFileSync(
      exported,
      '000000000010099999;NEU-1;FERT;Filter;Neu;;20;DE;;ST;1,0;G;20160409;20160409;00000000;1,00;EUR\r\n',
    );
    const mine = readFileSync(exported);
    writeFileSync(join(dir, 'notes.txt'), 'mine');
    const second = shell(`npm run -s dpp-sync -- demo --dir "${dir}"`, ROOT);
    expect(second.status).toBe(0);
    expectPastes(second.stdout, 'npm run -s dpp-sync -- ', ROOT);
    expect(second.stdout).toContain('345 products');
    expect(second.stdout).toContain('0 requests');
    expect(second.stdout).toContain('Exactly one request');
    expect(readFileSync(exported).equals(mine)).toBe(true);
    expect(readFileSync(join(dir, 'notes.txt'), 'utf8')).toBe('mine');
  });

  it('the demo prints commands that can be pasted in the folder of an installed package', () => {
    const program = installBin(join(folder, 'node_modules/.bin'));
    const dir = mkdtempSync(join(folder, 'pasted it-'));
    const demo = shell(`${program} demo --dir "${dir}"`, folder);
    // A slow machine shows progress on stderr.
    expect(demo).toMatchObject({ status: 0 });
    expectPastes(demo.stdout, 'node_modules/.bin/dpp-sync ', folder);
  });

  it('the demo leaves a folder alone that it has not made', async () => {
    const dir = mkdtempSync(join(folder, 'other-'));
    writeFileSync(join(dir, 'x'), '');
    const { exitCode, stderr } = await cli(['demo', '--dir', dir]);
    expect(exitCode).toBe(2);
    expect(stderr).toContain('is not empty');
    expect(existsSync(join(dir, 'data'))).toBe(false);
  });

  it('the demo names --dir where the folder cannot be made', async () => {
    writeFileSync(join(folder, 'a-file'), '');
    const { exitCode, stderr } = await cli(['demo', '--dir', join(folder, 'a-file', 'demo')]);
    expect(exitCode).toBe(2);
    expect(stderr).toMatch(/The demo cannot write to the folder .*ENOTDIR.*\n.*--dir \/tmp\/demo/);
  });

  it('the demo with --serve stays up until it is told to stop, and keeps others out of its ledger', async () => {
    const dir = join(folder, 'served');
    const child = start(['demo', '--serve', '--dir', dir]);
    await child.said('Ctrl-C ends everything');
    expect((await cli(['demo', '--dir', dir, '--json'])).json()).toMatchObject({ error: { code: 'ledger.held' } });
    const { stdout } = await cli(['status', '-c', join(dir, 'dpp-sync.yaml')]);
    expect(stdout).toContain('344');
    child.signal('SIGTERM');
    const ended = await child.ended;
    expect(ended.exitCode).toBe(0);
    const url = /dashboard +(http\S+)/.exec(ended.stdout)?.[1] ?? '';
    expect(URL.canParse(url)).toBe(true);
    await expect(fetch(url)).rejects.toThrow();
  });
});

describeSmallDisk('dpp-sync demo on a disk', () => {
  it.each([
    { state: 'full', spoil: (disk: SmallDisk) => disk.fill() },
    { state: 'read-only', spoil: (disk: SmallDisk) => disk.makeReadOnly() },
  ])('the demo on a disk that is $state names --dir', async ({ state, spoil }) => {
    const disk = mountSmallDisk(join(folder, state), 1);
    spoil(disk);
    const { exitCode, stderr } = await cli(['demo', '--dir', join(folder, state, 'demo')]);
    disk.remove();
    expect(exitCode).toBe(2);
    expect(stderr).toMatch(/The demo cannot write to the folder .*\n.*--dir \/tmp\/demo/);
  });
});

describe('dpp-sync sandbox', () => {
  it('the command `sandbox` serves with the keys that it prints, until SIGTERM, and keeps its data', async () => {
    const key = 'dpp_chosen-0123456789abcdef';
    const data = join(folder, 'sandbox.db');
    const serve = (...args: string[]) =>
      start(['sandbox', '--port', '0', '--json', '--data', data, '--key', key, ...args]);
    const child = serve();
    await child.said('\n');
    child.signal('SIGTERM');
    expect(await child.ended).toMatchObject({ exitCode: 0 });

    const again = serve('--ids', 'numeric');
    await again.said('\n');
    // The document is complete while the sandbox still serves.
    const { baseUrl, keys } = documentOf(again);
    expect(keys.map(({ scopes }) => scopes.length)).toEqual([3, 2, 1]);
    expect(keys[0]?.key).toBe(key);
    const answer = await fetch(`${baseUrl}/api/products/`, { headers: { 'X-API-Key': key } });
    expect(answer.status).toBe(200);
    again.signal('SIGINT');
    expect((await again.ended).exitCode).toBe(0);
  });

  it('the command `sandbox` ends with 3 where the port is taken, and with 2 for an invalid key', async () => {
    const child = start(['sandbox', '--port', '0', '--json']);
    await child.said('\n');
    const { baseUrl } = documentOf(child);
    expect((await cli(['sandbox', '--port', new URL(baseUrl).port])).exitCode).toBe(3);
    expect((await cli(['sandbox', '--key', 'secret'])).exitCode).toBe(2);
    child.signal('SIGTERM');
    await child.ended;
  });
});

function documentOf(child: CliProcess) {
  return JSON.parse(child.output()) as { baseUrl: string; keys: { scopes: string[]; key: string }[] };
}
