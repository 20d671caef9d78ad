// What pages of the dashboard cost while a sync runs: `npm run bench:web`, with `-- --items N` for another size of the ledger. A daemon
// has a large ledger and brings new records to a platform that takes everything. First each page is asked for again and again, and its
// time is measured from the request to the last byte, as the browser's side of the loopback sees it. Then the throughput of the same sync
// is measured in turns with nobody, with somebody who looks at pages, and with requests for a file that costs nothing but the request. The
// tables go to docs/performance.md for a million items.

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { get, type IncomingMessage } from 'node:http';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { stringify } from 'yaml';
import { type DaemonProcess, startDaemonProcess } from '../support/cli/daemon-process.ts';
import { writeLargeLedger } from '../support/ledger/large-ledger.ts';
import { holdAgainstBudget } from './support/budget.ts';
import { table, writeBetween } from './support/document.ts';
import { machine } from './support/machine.ts';
import { type AnsweringServer, median, startServer, writeCsv } from './support/measure.ts';

const { values: flags } = parseArgs({ options: { items: { type: 'string' }, records: { type: 'string' } } });
const WHOLE = 1_000_000;
const ITEMS = Number(flags.items ?? WHOLE);
/** As many as keep the sync busy for the whole benchmark. */
const RECORDS = Number(flags.records ?? 700_000);
const TOKEN = 'bench-web-token-with-32-characters!';
const LAUNCHER = join(import.meta.dirname, '../../src/launcher.mjs');

const LIMITS_MS = { first: 200, other: 50 };
const ROUNDS = 40;
/** In each, one span of each kind of visitor. */
const TURNS = 8;
const SPAN_MS = 4000;
/** Somebody who looks at pages opens one so often. */
const PAGE_EVERY_MS = 500;
/** It asks nothing of the ledger. */
const STATIC_FILE = '/assets/style.css';

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as { port: number };
  server.close();
  await once(server, 'close');
  return port;
}

function writeConfig(folder: string, { baseUrl, port }: { baseUrl: string; port: number }): string {
  const file = join(folder, 'dpp-sync.yaml');
  const source = (id: string, path: string, to: string, key: string) => ({
    id,
    connector: 'csv',
    options: { delimiter: ',' },
    streams: { default: { path, key: [key] } },
    mappings: [
      {
        stream: 'default',
        to,
        key: `row.${key}`,
        fields: to === 'product' ? { sku: `row.${key}`, name: 'row.NAME' } : { code: `row.${key}`, name: 'row.NAME' },
      },
    ],
  });
  const config = {
    target: { baseUrl, apiKey: 'dpp_live_bench-web-key-000000', firstContact: 'assume-empty' },
    queue: 'embedded',
    ledger: './ledger.db',
    web: { host: '127.0.0.1', port, token: TOKEN },
    sources: [
      source('fresh', './fresh.csv', 'product', 'SKU'),
      source('erp', './erp.csv', 'product', 'ID'),
      source('pim', './pim.csv', 'material', 'ID'),
    ],
    passports: { init: 'manual', publish: 'manual' },
  };
  writeFileSync(file, stringify(config));
  writeFileSync(join(folder, 'erp.csv'), 'ID,NAME\n');
  writeFileSync(join(folder, 'pim.csv'), 'ID,NAME\n');
  return file;
}

/** Has the daemon pull and send the new records. */
function startSync(config: string): ChildProcess {
  return spawn(process.execPath, [LAUNCHER, 'sync', 'fresh', '--quiet', '-c', config], {
    stdio: ['ignore', 'ignore', 'inherit'],
  });
}

function pageLoader(port: number): (path: string) => Promise<number> {
  return async (path) => {
    const began = performance.now();
    const headers = { authorization: `Bearer ${TOKEN}` };
    // A connection of its own: one that was kept may be closed while it is used again.
    const asked = get({ host: '127.0.0.1', port, path, headers, agent: false });
    const [response] = (await once(asked, 'response')) as [IncomingMessage];
    await buffer(response);
    if (response.statusCode !== 200) throw new Error(`${path} answered ${response.statusCode}`);
    return performance.now() - began;
  };
}

function percentile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}

/** Waits until writes arrive, so that the sync is under way. */
async function untilWriting(server: AnsweringServer): Promise<void> {
  for (let tries = 0; tries < 600; tries += 1) {
    const { writes } = await server.taken();
    if (writes > 50) return;
    await sleep(100);
  }
  throw new Error('the sync has sent nothing for a minute');
}

/** Writes a second of one span, while somebody opens these pages one after the other. */
async function writesWithin(
  server: AnsweringServer,
  load: (path: string) => Promise<number>,
  paths: readonly string[],
): Promise<number> {
  await server.taken();
  const began = performance.now();
  await Promise.all([sleep(SPAN_MS), look(load, paths)]);
  const { writes } = await server.taken();
  return writes / ((performance.now() - began) / 1000);
}

/** Opens pages one after the other until the span is over. */
async function look(load: (path: string) => Promise<number>, paths: readonly string[]): Promise<void> {
  const until = performance.now() + SPAN_MS;
  for (let at = 0; performance.now() < until && paths.length > 0; at += 1) {
    await load(paths[at % paths.length] ?? '/');
    await sleep(Math.min(PAGE_EVERY_MS, Math.max(0, until - performance.now())));
  }
}

/**
 * The CPU time that the threads beside the main one have used for JavaScript so far, in milliseconds: those that read the ledger. Null
 * where the system does not say.
 */
function readersCpuMs(pid: number): number | null {
  const tasks = `/proc/${pid}/task`;
  if (!existsSync(tasks)) return null;
  const ofReaders = readdirSync(tasks).filter(
    (id) => readFileSync(join(tasks, id, 'comm'), 'utf8').trim() === 'WorkerThread',
  );
  const nanoseconds = ofReaders.map((id) => Number(readFileSync(join(tasks, id, 'schedstat'), 'utf8').split(' ')[0]));
  return nanoseconds.reduce((sum, one) => sum + one, 0) / 1e6;
}

const folder = mkdtempSync(join(tmpdir(), 'dpp-bench-web-'));
const server = await startServer(5);
const port = await freePort();
let daemon: DaemonProcess | null = null;
let sync: ChildProcess | null = null;
try {
  process.stderr.write(`Writing a ledger with ${ITEMS} items …\n`);
  const { product } = await writeLargeLedger(join(folder, 'ledger.db'), ITEMS, server.baseUrl);
  writeCsv(join(folder, 'fresh.csv'), RECORDS);
  const config = writeConfig(folder, { baseUrl: server.baseUrl, port });
  daemon = await startDaemonProcess(config);
  const load = pageLoader(port);
  const pages: readonly [name: string, path: string][] = [
    ['first page', '/'],
    ['items', '/items'],
    ['items of a kind and a source', '/items?kind=material&source=pim'],
    ['items, search', '/items?search=alpine+tent+1000'],
    ['items that need a person', '/items?state=attention'],
    ['one item', `/items/product/${product}`],
    ['needs attention', '/attention'],
    ['passports', '/passports'],
    ['passports, published', '/passports?state=published'],
    ['runs', '/runs'],
  ];
  const cold = await load('/');
  sync = startSync(config);
  await untilWriting(server);
  // The catalog of the lists is read once after a start.
  const firstList = await load('/items');
  const times = new Map(pages.map(([name]) => [name, [] as number[]]));
  const cpu = new Map(pages.map(([name]) => [name, [] as number[]]));
  for (let round = 0; round < ROUNDS; round += 1) {
    for (const [name, path] of pages) {
      const before = readersCpuMs(daemon.pid);
      times.get(name)?.push(await load(path));
      const after = readersCpuMs(daemon.pid);
      if (before !== null && after !== null) cpu.get(name)?.push(after - before);
    }
  }
  const visits = { alone: [], static: [STATIC_FILE], watched: pages.map(([, path]) => path) };
  const turns: Record<keyof typeof visits, number>[] = [];
  for (let turn = 0; turn < TURNS; turn += 1) {
    const measured = { alone: 0, static: 0, watched: 0 };
    const order = Object.keys(visits) as (keyof typeof visits)[];
    // The order alternates, because the sync gets slower or faster with time.
    for (const kind of turn % 2 === 0 ? order : order.toReversed()) {
      measured[kind] = await writesWithin(server, load, visits[kind]);
    }
    turns.push(measured);
  }
  const ended = sync.exitCode;
  const ratio = median(turns.map(({ alone, watched }) => watched / alone));
  const ratioOfStatic = median(turns.map((turn) => turn.static / turn.alone));
  const rows = [...times].map(([name, list]) => [
    name,
    percentile(list, 0.5).toFixed(1),
    percentile(list, 0.95).toFixed(1),
    Math.max(...list).toFixed(1),
    cpu.get(name)?.length === 0 ? '–' : percentile(cpu.get(name) ?? [], 0.5).toFixed(1),
  ]);
  const text = [
    `${machine()}. ${ITEMS.toLocaleString('en')} items in the ledger, and a sync of new products that sends ${Math.round(median(turns.map(({ alone }) => alone)))} writes a second.`,
    '',
    table(['page', 'median, ms', 'p95, ms', 'slowest, ms', 'CPU time of the reading thread, ms'], rows),
    '',
    `The first page after the start took ${cold.toFixed(0)} ms, and the first list ${firstList.toFixed(0)} ms. With a page every ${PAGE_EVERY_MS} ms the sync keeps ${(100 * ratio).toFixed(1)} % of its throughput, and with a request for a file instead of the page ${(100 * ratioOfStatic).toFixed(1)} %, as the medians of ${TURNS} turns with spans of ${SPAN_MS / 1000} s.`,
  ].join('\n');
  process.stdout.write(`${text}\n`);
  if (ended !== null) throw new Error('The sync ended before the measurement. Give it more records: --records N.');
  if (ITEMS === WHOLE) writeBetween('bench:web', text);
  const first = times.get('first page') ?? [];
  const others = [...times].filter(([name]) => name !== 'first page').map(([, list]) => percentile(list, 0.5));
  holdAgainstBudget(
    'web',
    {
      [`${LIMITS_MS.first} ms / first page`]: LIMITS_MS.first / percentile(first, 0.95),
      [`${LIMITS_MS.other} ms / slowest other page`]: LIMITS_MS.other / Math.max(...others),
      'throughput watched / alone': ratio,
    },
    { isWhole: true },
  );
} catch (error) {
  process.stderr.write(daemon?.stderr() ?? '');
  throw error;
} finally {
  sync?.kill('SIGKILL');
  daemon?.signal('SIGKILL');
  await daemon?.exited;
  server.stop();
  rmSync(folder, { recursive: true, force: true });
}
