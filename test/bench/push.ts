// Compares what it costs to bring records from a CSV file to a platform that accepts them: `npm run bench:push`. All of it in
// one run and in turns, so that whatever else the machine does meets every contender; figures are medians, and what counts
// are their ratios.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { holdAgainstBudget } from './support/budget.ts';
import type { Result } from './support/contender.ts';
import { compete, median, startRedis, startServer, writeCsv } from './support/measure.ts';

const CONNECTIONS = 32;
const ROUNDS = Number(process.env['BENCH_ROUNDS'] ?? 5);
const COUNTS = (process.env['BENCH_COUNTS'] ?? '10000').split(',').map(Number);
const LATENCIES_MS = (process.env['BENCH_LATENCIES'] ?? '0,20').split(',').map(Number);

/** By name: the script, and whether it is given a Redis. */
const CONTENDERS = {
  'undici, no state': { script: 'push/undici-loop.ts', redis: false },
  'undici, SQLite ledger': { script: 'push/undici-sqlite.ts', redis: false },
  'BullMQ, a job a record': { script: 'push/bullmq-worker.ts', redis: true },
  'dpp-sync, Redis': { script: 'push/dpp-sync.ts', redis: true },
  'dpp-sync, embedded': { script: 'push/dpp-sync.ts', redis: false },
} as const;
type Name = keyof typeof CONTENDERS;

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

const folder = mkdtempSync(join(tmpdir(), 'dpp-bench-csv-'));
const ratios: Record<string, number> = {};
try {
  for (const count of COUNTS) {
    const csv = join(folder, `${count}.csv`);
    writeCsv(csv, count);
    for (const latencyMs of LATENCIES_MS) {
      const results = new Map<Name, Result[]>((Object.keys(CONTENDERS) as Name[]).map((name) => [name, []]));
      for (let round = 0; round < ROUNDS; round += 1) {
        for (const [name, list] of results) list.push(await measure(name, csv, count, latencyMs));
      }
      const medianMs = (name: Name): number => median((results.get(name) ?? []).map(({ ms }) => ms));
      process.stdout.write(`\n${count} records, ${latencyMs} ms latency, ${CONNECTIONS} connections\n`);
      for (const [name, list] of results) {
        const rate = Math.round(count / (medianMs(name) / 1000));
        const peak = Math.round(median(list.map(({ peakMb }) => peakMb)));
        process.stdout.write(`${name.padEnd(24)} ${String(rate).padStart(6)}/s  ${String(peak).padStart(4)} MB\n`);
      }
      for (const [one, other] of RATIOS) {
        ratios[`${count} records, ${latencyMs} ms: ${one} / ${other}`] = medianMs(other) / medianMs(one);
      }
    }
  }
} finally {
  rmSync(folder, { recursive: true, force: true });
}
holdAgainstBudget('push', ratios);
