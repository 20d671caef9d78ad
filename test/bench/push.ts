// Compares ways to send records from a CSV file to a platform that accepts them: `npm run bench:push`. The contenders take
// turns in one run, so that other work on the machine affects all of them. The figures are medians, and their ratios are
// compared with the budget. The tables are written to docs/performance.md, unless the environment sets other counts or
// latencies.

import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { holdAgainstBudget } from './support/budget.ts';
import type { Result } from './support/contender.ts';
import { table, writeBetween } from './support/document.ts';
import { type LedgerFile, measureLedger } from './support/ledger-file.ts';
import { machine } from './support/machine.ts';
import { compete, median, startRedis, startServer, writeCsv } from './support/measure.ts';
import { loadAndChange, NIGHTS } from './support/nights.ts';

/** The same for all contenders. Without this setting dpp-sync opens as many connections as the latency needs, 256 at most. */
const CONNECTIONS = 64;
const ROUNDS = Number(process.env['BENCH_ROUNDS'] ?? 5);
const ASKED = { counts: process.env['BENCH_COUNTS'], latencies: process.env['BENCH_LATENCIES'] };
const COUNTS = (ASKED.counts ?? '10000,100000').split(',').map(Number);
const LATENCIES_MS = (ASKED.latencies ?? '0,20').split(',').map(Number);
/** From this count on, a measurement takes long and is repeated less often. */
const LONG_COUNT = 50_000;
const LONG_ROUNDS = 3;

/** The contenders, by name: the script, and whether it gets a Redis. */
const CONTENDERS = {
  'undici, no state': { script: 'push/undici-loop.ts', redis: false },
  'undici, SQLite ledger': { script: 'push/undici-sqlite.ts', redis: false },
  'BullMQ, a job a record': { script: 'push/bullmq-worker.ts', redis: true },
  'dpp-sync, Redis': { script: 'push/dpp-sync.ts', redis: true },
  'dpp-sync, embedded': { script: 'push/dpp-sync.ts', redis: false },
} as const;
type Name = keyof typeof CONTENDERS;

/** The memory limit of a sync over the embedded queue, which is meant for the smallest container. */
const EMBEDDED_MB = 250;

/** The limits for each record: CPU time of the main thread at no latency, and bytes of the ledger. */
const RECORD_CPU_US = 100;
const RECORD_BYTES = 650;

/** Each ratio says how much faster the first contender is than the second one. */
const RATIOS: readonly [Name, Name][] = [
  ['dpp-sync, Redis', 'BullMQ, a job a record'],
  ['dpp-sync, Redis', 'undici, SQLite ledger'],
  ['dpp-sync, Redis', 'undici, no state'],
  ['dpp-sync, embedded', 'dpp-sync, Redis'],
];

/** Only dpp-sync has a ledger. */
interface Measured extends Result {
  ledger?: LedgerFile;
}

async function measure(name: Name, csv: string, count: number, latencyMs: number): Promise<Measured> {
  const { script, redis: usesRedis } = CONTENDERS[name];
  const folder = mkdtempSync(join(tmpdir(), 'dpp-bench-'));
  const server = await startServer(latencyMs);
  const redis = usesRedis ? await startRedis(folder) : null;
  try {
    const { baseUrl } = server;
    const result = await compete(script, {
      baseUrl,
      csv,
      folder,
      connections: CONNECTIONS,
      redisUrl: redis?.url ?? '',
      creates: 'off',
    });
    const { writes } = await server.taken();
    if (writes !== count) throw new Error(`${name}: ${writes} of ${count} records arrived`);
    const file = join(folder, 'ledger.db');
    return existsSync(file) ? { ...result, ledger: measureLedger(file) } : result;
  } finally {
    server.stop();
    redis?.child.kill('SIGKILL');
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Runs all contenders in turns over one file, several times. */
async function raceOver(csv: string, count: number, latencyMs: number): Promise<Map<Name, Measured[]>> {
  const results = new Map<Name, Measured[]>((Object.keys(CONTENDERS) as Name[]).map((name) => [name, []]));
  const rounds = count < LONG_COUNT ? ROUNDS : Math.min(ROUNDS, LONG_ROUNDS);
  for (let round = 0; round < rounds; round += 1) {
    for (const [name, list] of results) list.push(await measure(name, csv, count, latencyMs));
  }
  return results;
}

const rounded = (value: number): string => String(Math.round(value));

interface Race {
  count: number;
  latencyMs: number;
  results: ReadonlyMap<Name, Measured[]>;
}

const titleOf = ({ count, latencyMs }: Race): string => `${count} records, ${latencyMs} ms`;

function tableOf(race: Race): string {
  const { count, results } = race;
  const perSecond = (ms: number): string => rounded(count / (ms / 1000));
  const rows = [...results].map(([name, list]) => {
    const ms = list.map((one) => one.ms);
    const ledgers = list.flatMap(({ ledger }) => ledger ?? []);
    const ofLedger = (value: (ledger: LedgerFile) => number, digits: number): string =>
      ledgers.length === 0 ? '–' : (median(ledgers.map(value)) / count).toFixed(digits);
    return [
      name,
      perSecond(median(ms)),
      `${perSecond(Math.max(...ms))} to ${perSecond(Math.min(...ms))}`,
      rounded(median(list.map(({ peakMb }) => peakMb))),
      rounded(cpuUsOf(list, count)),
      ofLedger(({ commits }) => commits, 3),
      ofLedger(({ bytes }) => bytes, 0),
    ];
  });
  const figures = [
    'records/s',
    'from, to',
    'peak, MB',
    'CPU a record, µs',
    'commits a record',
    'ledger a record, bytes',
  ];
  return table([titleOf(race), ...figures], rows);
}

/** The CPU time of the main thread for each record, in microseconds. */
function cpuUsOf(results: readonly Measured[], count: number): number {
  return (median(results.map(({ cpuMs }) => cpuMs)) * 1000) / count;
}

/** The shares of a race, by their names in `budget.json`. */
function sharesOf(race: Race): Record<string, number> {
  const { count, latencyMs, results } = race;
  const of = (name: Name): Measured[] => results.get(name) ?? [];
  const ms = (name: Name): number => median(of(name).map((result) => result.ms));
  const peakMb = median(of('dpp-sync, embedded').map((result) => result.peakMb));
  const ratios = RATIOS.map(([one, other]): [string, number] => [`${one} / ${other}`, ms(other) / ms(one)]);
  const shares = Object.fromEntries([...ratios, [`${EMBEDDED_MB} MB / dpp-sync, embedded`, EMBEDDED_MB / peakMb]]);
  const cpuUs = cpuUsOf(of('dpp-sync, Redis'), count);
  if (latencyMs === 0) shares[`${RECORD_CPU_US} µs / CPU a record`] = RECORD_CPU_US / cpuUs;
  return Object.fromEntries(Object.entries(shares).map(([name, share]) => [`${titleOf(race)}: ${name}`, share]));
}

const folder = mkdtempSync(join(tmpdir(), 'dpp-bench-csv-'));
const ratios: Record<string, number> = {};
const texts: string[] = [];
const sizes: string[][] = [];
try {
  for (const count of COUNTS) {
    const csv = join(folder, `${count}.csv`);
    writeCsv(csv, count);
    for (const latencyMs of LATENCIES_MS) {
      const race = { count, latencyMs, results: await raceOver(csv, count, latencyMs) };
      const text = tableOf(race);
      process.stdout.write(`\n${text}\n`);
      texts.push(text);
      Object.assign(ratios, sharesOf(race));
    }
    const { loaded, changed } = await loadAndChange(csv, count);
    sizes.push([String(count), rounded(loaded.bytes / count), rounded(changed.bytes / count)]);
    ratios[`${count} records: ${RECORD_BYTES} bytes / ledger a record`] = RECORD_BYTES / (loaded.bytes / count);
  }
  const text = table(['ledger a record, bytes', 'after the load', `after ${NIGHTS} nights with 1 % changed`], sizes);
  process.stdout.write(`\n${text}\n`);
  texts.push(text);
} finally {
  rmSync(folder, { recursive: true, force: true });
}
const isWhole = ASKED.counts === undefined && ASKED.latencies === undefined;
holdAgainstBudget('push', ratios, { isWhole });
if (isWhole) writeBetween('bench:push', [`${machine()}.`, ...texts].join('\n\n'));
