// Compares what it costs to bring records from a CSV file to a platform that accepts them: `npm run bench:push`. All of it in
// one run and in turns, so that whatever else the machine does meets every contender; figures are medians, and what counts
// are their ratios. The tables go to docs/performance.md, unless the environment asks for other counts or latencies.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { holdAgainstBudget } from './support/budget.ts';
import type { Result } from './support/contender.ts';
import { table, writeBetween } from './support/document.ts';
import { machine } from './support/machine.ts';
import { compete, median, startRedis, startServer, writeCsv } from './support/measure.ts';

/** The same for all; dpp-sync by itself opens as many as latency needs, and 256 at most. */
const CONNECTIONS = 64;
const ROUNDS = Number(process.env['BENCH_ROUNDS'] ?? 5);
const ASKED = { counts: process.env['BENCH_COUNTS'], latencies: process.env['BENCH_LATENCIES'] };
const COUNTS = (ASKED.counts ?? '10000,100000').split(',').map(Number);
const LATENCIES_MS = (ASKED.latencies ?? '0,20').split(',').map(Number);
/** What takes long is measured less often. */
const LONG_COUNT = 50_000;
const LONG_ROUNDS = 3;

/** By name: the script, and whether it is given a Redis. */
const CONTENDERS = {
  'undici, no state': { script: 'push/undici-loop.ts', redis: false },
  'undici, SQLite ledger': { script: 'push/undici-sqlite.ts', redis: false },
  'BullMQ, a job a record': { script: 'push/bullmq-worker.ts', redis: true },
  'dpp-sync, Redis': { script: 'push/dpp-sync.ts', redis: true },
  'dpp-sync, embedded': { script: 'push/dpp-sync.ts', redis: false },
} as const;
type Name = keyof typeof CONTENDERS;

/** The embedded queue is for the smallest container: a sync over it stays within this. */
const EMBEDDED_MB = 250;

/** What is compared: how much faster the first is than the second. */
const RATIOS: readonly [Name, Name][] = [
  ['dpp-sync, Redis', 'BullMQ, a job a record'],
  ['dpp-sync, Redis', 'undici, SQLite ledger'],
  ['dpp-sync, Redis', 'undici, no state'],
  ['dpp-sync, embedded', 'dpp-sync, Redis'],
];

async function measure(name: Name, csv: string, count: number, latencyMs: number): Promise<Result> {
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
    });
    const { writes } = await server.taken();
    if (writes !== count) throw new Error(`${name}: ${writes} of ${count} records arrived`);
    return result;
  } finally {
    server.stop();
    redis?.child.kill('SIGKILL');
    rmSync(folder, { recursive: true, force: true });
  }
}

/** All contenders in turns, and again, on one file. */
async function race(csv: string, count: number, latencyMs: number): Promise<Map<Name, Result[]>> {
  const results = new Map<Name, Result[]>((Object.keys(CONTENDERS) as Name[]).map((name) => [name, []]));
  const rounds = count < LONG_COUNT ? ROUNDS : Math.min(ROUNDS, LONG_ROUNDS);
  for (let round = 0; round < rounds; round += 1) {
    for (const [name, list] of results) list.push(await measure(name, csv, count, latencyMs));
  }
  return results;
}

const folder = mkdtempSync(join(tmpdir(), 'dpp-bench-csv-'));
const ratios: Record<string, number> = {};
const texts: string[] = [];
try {
  for (const count of COUNTS) {
    const csv = join(folder, `${count}.csv`);
    writeCsv(csv, count);
    for (const latencyMs of LATENCIES_MS) {
      const results = await race(csv, count, latencyMs);
      const msOf = (name: Name): number[] => (results.get(name) ?? []).map(({ ms }) => ms);
      const perSecond = (ms: number): string => String(Math.round(count / (ms / 1000)));
      const rows = [...results].map(([name, list]) => [
        name,
        perSecond(median(msOf(name))),
        `${perSecond(Math.max(...msOf(name)))} to ${perSecond(Math.min(...msOf(name)))}`,
        String(Math.round(median(list.map(({ peakMb }) => peakMb)))),
      ]);
      const title = `${count} records, ${latencyMs} ms`;
      const text = table([title, 'records/s', 'from, to', 'peak, MB'], rows);
      process.stdout.write(`\n${text}\n`);
      texts.push(text);
      for (const [one, other] of RATIOS) {
        ratios[`${title}: ${one} / ${other}`] = median(msOf(other)) / median(msOf(one));
      }
      const peakMb = median((results.get('dpp-sync, embedded') ?? []).map((result) => result.peakMb));
      ratios[`${title}: ${EMBEDDED_MB} MB / dpp-sync, embedded`] = EMBEDDED_MB / peakMb;
    }
  }
} finally {
  rmSync(folder, { recursive: true, force: true });
}
const isWhole = ASKED.counts === undefined && ASKED.latencies === undefined;
holdAgainstBudget('push', ratios, { isWhole });
if (isWhole) writeBetween('bench:push', [`${machine()}.`, ...texts].join('\n\n'));
