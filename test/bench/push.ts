// Compares what it costs to bring records from a CSV file to a platform that accepts them: `npm run bench:push`. All of it in
// one run and in turns, so that whatever else the machine does meets every contender; figures are medians, and what counts
// are their ratios.

import { type ChildProcess, execFile, fork, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Job } from './push/contender.ts';

const CONNECTIONS = 32;
const ROUNDS = Number(process.env['BENCH_ROUNDS'] ?? 5);
const COUNTS = (process.env['BENCH_COUNTS'] ?? '10000').split(',').map(Number);
const LATENCIES_MS = (process.env['BENCH_LATENCIES'] ?? '0,20').split(',').map(Number);

/** By name: the script, and whether it is given a Redis. */
const CONTENDERS: Record<string, { script: string; redis: boolean }> = {
  'undici, no state': { script: 'undici-loop.ts', redis: false },
  'undici, SQLite ledger': { script: 'undici-sqlite.ts', redis: false },
  'BullMQ, a job a record': { script: 'bullmq-worker.ts', redis: true },
  'dpp-sync, Redis': { script: 'dpp-sync.ts', redis: true },
  'dpp-sync, embedded': { script: 'dpp-sync.ts', redis: false },
};

interface Result {
  ms: number;
  peakMb: number;
}

const run = promisify(execFile);

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as { port: number };
  server.close();
  await once(server, 'close');
  return port;
}

async function startRedis(folder: string): Promise<{ url: string; child: ChildProcess }> {
  const port = await freePort();
  const args = ['--port', String(port), '--bind', '127.0.0.1', '--dir', folder, '--appendonly', 'yes', '--save', ''];
  const child = spawn('redis-server', args, { stdio: ['ignore', 'pipe', 'inherit'] });
  for await (const chunk of child.stdout) if (String(chunk).includes('Ready to accept')) break;
  return { url: `redis://127.0.0.1:${port}`, child };
}

async function startServer(latencyMs: number): Promise<{ baseUrl: string; child: ChildProcess }> {
  const script = join(import.meta.dirname, 'push/answering-server-process.ts');
  const child = fork(script, [String(latencyMs)], { silent: true });
  if (!child.stdout) throw new Error('the server has no output');
  const [line] = (await once(child.stdout, 'data')) as [Buffer];
  return { baseUrl: line.toString().trim(), child };
}

async function measure(name: string, csv: string, count: number, latencyMs: number): Promise<Result> {
  const contender = CONTENDERS[name];
  if (!contender) throw new Error(`there is no ${name}`);
  const folder = mkdtempSync(join(tmpdir(), 'dpp-bench-'));
  const server = await startServer(latencyMs);
  const redis = contender.redis ? await startRedis(folder) : null;
  try {
    const job: Job = { baseUrl: server.baseUrl, csv, folder, connections: CONNECTIONS, redisUrl: redis?.url ?? '' };
    const script = join(import.meta.dirname, 'push', contender.script);
    const { stdout } = await run(process.execPath, [script, JSON.stringify(job)]);
    server.child.send('taken');
    const [taken] = (await once(server.child, 'message')) as [number];
    if (taken !== count) throw new Error(`${name}: ${taken} of ${count} records arrived`);
    return JSON.parse(stdout) as Result;
  } finally {
    server.child.kill();
    redis?.child.kill('SIGKILL');
    rmSync(folder, { recursive: true, force: true });
  }
}

const median = (values: number[]): number =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;

function writeCsv(file: string, count: number): void {
  const lines = Array.from({ length: count }, (_, at) => `SKU-${at + 1},"Bucket, steel, ${at % 20} l",DE`);
  writeFileSync(file, `SKU,NAME,COUNTRY\n${lines.join('\n')}\n`);
}

const folder = mkdtempSync(join(tmpdir(), 'dpp-bench-csv-'));
try {
  for (const count of COUNTS) {
    const csv = join(folder, `${count}.csv`);
    writeCsv(csv, count);
    for (const latencyMs of LATENCIES_MS) {
      const results = new Map<string, Result[]>(Object.keys(CONTENDERS).map((name) => [name, []]));
      for (let round = 0; round < ROUNDS; round += 1) {
        for (const [name, list] of results) list.push(await measure(name, csv, count, latencyMs));
      }
      process.stdout.write(`\n${count} records, ${latencyMs} ms latency, ${CONNECTIONS} connections\n`);
      for (const [name, list] of results) {
        const rate = Math.round(count / (median(list.map(({ ms }) => ms)) / 1000));
        const peak = Math.round(median(list.map(({ peakMb }) => peakMb)));
        process.stdout.write(`${name.padEnd(24)} ${String(rate).padStart(6)}/s  ${String(peak).padStart(4)} MB\n`);
      }
    }
  }
} finally {
  rmSync(folder, { recursive: true, force: true });
}
