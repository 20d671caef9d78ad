// Measures the pages of the dashboard while a sync runs: `npm run bench:web`, with `-- --items N` for another size of the
// ledger. A daemon has a large ledger and sends new records to a platform that accepts everything. First each page is loaded
// many times. The server's time is measured in the daemon, and the time to the last byte in the client on the same machine.
// Then the throughput of the same sync is measured in turns: while nobody looks at pages, while one person does, and while
// four people do. For a million items the tables are written to docs/performance.md.

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { get, type IncomingMessage } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import { stringify } from 'yaml';
import { type DaemonProcess, startDaemonProcess } from '../support/cli/daemon-process.ts';
import { writeLargeLedger } from '../support/ledger/large-ledger.ts';
import { freePort } from '../support/servers/free-port.ts';
import { holdAgainstBudget } from './support/budget.ts';
import { table, writeBetween } from './support/document.ts';
import { machine } from './support/machine.ts';
import { type AnsweringServer, median, startServer, writeCsv } from './support/measure.ts';

const { values: flags } = parseArgs({ options: { items: { type: 'string' }, records: { type: 'string' } } });
const WHOLE = 1_000_000;
const ITEMS = Number(flags.items ?? WHOLE);
/** Enough records to keep the sync busy for the whole benchmark. */
const RECORDS = Number(flags.records ?? 3_000_000);
const TOKEN = 'bench-web-token-with-32-characters!';
const LAUNCHER = join(import.meta.dirname, '../../src/launcher.mjs');

const LIMITS_MS = { first: 200, other: 50 };
const ROUNDS = 40;
/** The number of turns. Each turn has one span for each number of people. */
const TURNS = 8;
const SPAN_MS = 8000;
/** An open page reloads itself at most this often. */
const RENEWED_EVERY_MS = 2000;
/** How often a page is loaded while this many people look at pages. */
const PAGE_EVERY_MS = { nobody: null, one: RENEWED_EVERY_MS, four: RENEWED_EVERY_MS / 4 };
type Watchers = keyof typeof PAGE_EVERY_MS;

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

/** Lets the daemon pull and send the new records. */
function startSync(config: string): ChildProcess {
  return spawn(process.execPath, [LAUNCHER, 'sync', 'fresh', '--quiet', '-c', config], {
    stdio: ['ignore', 'ignore', 'inherit'],
  });
}

function pageLoader(port: number): (path: string) => Promise<number> {
  return async (path) => {
    const began = performance.now();
    const headers = { authorization: `Bearer ${TOKEN}` };
    // A new connection for each page, because a kept connection may be closed while it is used again.
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

/** Waits until writes arrive, so that the sync is sending. */
async function untilWriting(server: AnsweringServer): Promise<void> {
  for (let tries = 0; tries < 600; tries += 1) {
    const { writes } = await server.taken();
    if (writes > 50) return;
    await sleep(100);
  }
  throw new Error('the sync has sent nothing for a minute');
}

/** Returns the writes per second in one span. */
async function writesWithin(server: AnsweringServer, look: (untilMs: number) => Promise<void>): Promise<number> {
  await server.taken();
  const began = performance.now();
  await Promise.all([sleep(SPAN_MS), look(began + SPAN_MS)]);
  const { writes } = await server.taken();
  return writes / ((performance.now() - began) / 1000);
}

/** Loads pages, one in each interval. The next call continues with the next pages. */
function visitor(load: (path: string) => Promise<number>, paths: readonly string[]) {
  let at = 0;
  return async (everyMs: number | null, untilMs: number): Promise<void> => {
    if (everyMs === null) return;
    for (let due = performance.now(); due < untilMs; due += everyMs) {
      await sleep(Math.max(0, due - performance.now()));
      await load(paths[at % paths.length] ?? '/');
      at += 1;
    }
  };
}

/** The server's times of the pages in a file of `server-times-process.ts`, by path, in milliseconds. */
function serverTimesIn(file: string): Map<string, number[]> {
  const times = new Map<string, number[]>();
  for (const line of readFileSync(file, 'utf8').trim().split('\n')) {
    const [path = '', ms] = line.split(' ');
    times.set(path, [...(times.get(path) ?? []), Number(ms)]);
  }
  return times;
}

/**
 * The CPU time that the worker threads have used so far, in milliseconds. These threads read the ledger. Null if the system
 * does not report it.
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
  const timesFile = join(folder, 'server-times');
  process.env['BENCH_SERVER_TIMES'] = timesFile;
  process.env['NODE_OPTIONS'] =
    `--import ${pathToFileURL(join(import.meta.dirname, 'support/server-times-process.ts')).href}`;
  daemon = await startDaemonProcess(config);
  delete process.env['NODE_OPTIONS'];
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
  // The first list after a start reads the catalog of the lists.
  const firstList = await load('/items');
  const times = new Map(pages.map(([name]) => [name, [] as number[]]));
  const cpu = new Map(pages.map(([name]) => [name, [] as number[]]));
  rmSync(timesFile);
  for (let round = 0; round < ROUNDS; round += 1) {
    for (const [name, path] of pages) {
      const before = readersCpuMs(daemon.pid);
      times.get(name)?.push(await load(path));
      const after = readersCpuMs(daemon.pid);
      if (before !== null && after !== null) cpu.get(name)?.push(after - before);
    }
  }
  const serverTimes = serverTimesIn(timesFile);
  const look = visitor(
    load,
    pages.map(([, path]) => path),
  );
  const turns: Record<Watchers, number>[] = [];
  for (let turn = 0; turn < TURNS; turn += 1) {
    const measured = { nobody: 0, one: 0, four: 0 };
    const order = Object.keys(PAGE_EVERY_MS) as Watchers[];
    // The order alternates, because the sync gets slower or faster with time.
    for (const watchers of turn % 2 === 0 ? order : order.toReversed()) {
      measured[watchers] = await writesWithin(server, (untilMs) => look(PAGE_EVERY_MS[watchers], untilMs));
    }
    turns.push(measured);
  }
  const ended = sync.exitCode;
  const kept = (watchers: Watchers): number => median(turns.map((turn) => turn[watchers] / turn.nobody));
  const ofServer = (path: string, share: number): number => percentile(serverTimes.get(path) ?? [], share);
  const rows = pages.map(([name, path]) => [
    name,
    ofServer(path, 0.5).toFixed(1),
    ofServer(path, 0.95).toFixed(1),
    percentile(times.get(name) ?? [], 0.5).toFixed(1),
    percentile(times.get(name) ?? [], 0.95).toFixed(1),
    cpu.get(name)?.length === 0 ? '–' : percentile(cpu.get(name) ?? [], 0.5).toFixed(1),
  ]);
  const titles = ['server time, median, ms', 'p95, ms', 'to the last byte, median, ms', 'p95, ms'];
  const text = [
    `${machine()}. ${ITEMS.toLocaleString('en')} items in the ledger, and a sync of new products that sends ${Math.round(median(turns.map(({ nobody }) => nobody)))} writes a second.`,
    '',
    table(['page', ...titles, 'CPU time of the reading thread, ms'], rows),
    '',
    `The first page after the start took ${cold.toFixed(0)} ms, and the first list ${firstList.toFixed(0)} ms. With a page every ${RENEWED_EVERY_MS / 1000} s the sync keeps ${(100 * kept('one')).toFixed(1)} % of its throughput, and with four times as many ${(100 * kept('four')).toFixed(1)} %, as the medians of ${TURNS} turns with spans of ${SPAN_MS / 1000} s.`,
  ].join('\n');
  process.stdout.write(`${text}\n`);
  if (ended !== null) throw new Error('The sync ended before the measurement. Give it more records: --records N.');
  if (ITEMS === WHOLE) writeBetween('bench:web', text);
  const others = pages.filter(([name]) => name !== 'first page').map(([, path]) => ofServer(path, 0.5));
  holdAgainstBudget(
    'web',
    {
      [`${LIMITS_MS.first} ms / first page`]: LIMITS_MS.first / ofServer('/', 0.95),
      [`${LIMITS_MS.other} ms / slowest other page`]: LIMITS_MS.other / Math.max(...others),
      'throughput watched / alone': kept('one'),
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
