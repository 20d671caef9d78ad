// Measures in real time how well limits are learnt: `npm run bench:rate-sandbox`. A complete sync sends over HTTP to a
// sandbox in a separate process, whose limits are not announced. Prints a table and writes it to docs/performance.md, unless
// the environment sets another length.

import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { holdAgainstBudget } from '../support/budget.ts';
import type { Job } from '../support/contender.ts';
import { table, writeBetween } from '../support/document.ts';
import { machine } from '../support/machine.ts';
import { median } from '../support/measure.ts';
import { startSandbox } from '../support/sandbox-process.ts';

const LATENCY_MS = 20;
const ROOT = join(import.meta.dirname, '../../..');
/** The length of a measurement: the work lasts this many seconds if the sync uses the whole limit. */
const ASKED = process.env['BENCH_SECONDS'];
const SECONDS = Number(ASKED ?? 90);
const ROUNDS = 3;

/** The limits, by name: the limit per second, and the settings of the sandbox. */
const LIMITS: Record<string, { rate: number; settings: string[] }> = {
  'token bucket 200/s, burst 50': {
    rate: 200,
    settings: ['rateLimit={kind: token-bucket, ratePerSecond: 200, burst: 50, per: key, retryAfter: none}'],
  },
  'fixed window 50/s': {
    rate: 50,
    settings: ['rateLimit={kind: fixed-window, limit: 50, windowMs: 1000, per: key, retryAfter: none}'],
  },
};

interface Stats {
  requests: Record<string, Record<string, number>>;
  throttled: number;
  duplicates: unknown[];
}

const run = promisify(execFile);

async function statsOf(controlUrl: string): Promise<Stats & { accepted: number; sent: number }> {
  const stats = (await (await fetch(`${controlUrl}/stats`)).json()) as Stats;
  const counts = Object.entries(stats.requests).flatMap(([name, endings]) =>
    Object.entries(endings).map(([ending, count]) => ({ name, ending, count })),
  );
  const accepted = counts.filter(({ name, ending }) => name === 'product.create' && ending === '201');
  const sum = (of: typeof counts): number => of.reduce((total, { count }) => total + count, 0);
  return { ...stats, accepted: sum(accepted), sent: sum(counts) };
}

async function measure(
  settings: readonly string[],
  count: number,
): Promise<{ ms: number; stats: Awaited<ReturnType<typeof statsOf>> }> {
  const folder = mkdtempSync(join(tmpdir(), 'dpp-bench-'));
  const sandbox = await startSandbox(settings, LATENCY_MS);
  try {
    const csv = join(folder, 'products.csv');
    const lines = Array.from({ length: count }, (_, at) => `SKU-${at + 1},"Bucket, steel, ${at % 20} l",DE`);
    writeFileSync(csv, `SKU,NAME,COUNTRY\n${lines.join('\n')}\n`);
    const job: Job = { baseUrl: sandbox.baseUrl, csv, folder, connections: 0, redisUrl: '', creates: 'off' };
    const { stdout } = await run(process.execPath, [join(ROOT, 'test/bench/push/dpp-sync.ts'), JSON.stringify(job)]);
    const { ms } = JSON.parse(stdout) as { ms: number };
    return { ms, stats: await statsOf(sandbox.controlUrl) };
  } finally {
    sandbox.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

const percent = (share: number): string => (100 * share).toFixed(1);
const rows: string[][] = [];
const ratios: Record<string, number> = {};
for (const [name, { rate, settings }] of Object.entries(LIMITS)) {
  const count = rate * SECONDS;
  const rounds: { ms: number; used: number; throttled: number; lost: number; doubled: number }[] = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    const { ms, stats } = await measure(settings, count);
    const used = stats.accepted / ((rate * ms) / 1000);
    const doubled = stats.duplicates.length;
    rounds.push({ ms, used, throttled: stats.throttled / stats.sent, lost: count - stats.accepted, doubled });
    process.stderr.write(`${name}: ${percent(used)} % used\n`);
  }
  const middle = (of: 'ms' | 'used' | 'throttled'): number => median(rounds.map((round) => round[of]));
  const all = (of: 'lost' | 'doubled'): number => rounds.reduce((sum, round) => sum + round[of], 0);
  const used = rounds.map((round) => round.used);
  rows.push([
    name,
    String(count),
    (middle('ms') / 1000).toFixed(1),
    percent(middle('used')),
    `${percent(Math.min(...used))} to ${percent(Math.max(...used))}`,
    (100 * middle('throttled')).toFixed(2),
    String(all('lost')),
    String(all('doubled')),
  ]);
  ratios[`${name}: used`] = middle('used');
  ratios[`${name}: 1 % / 429s`] = 0.01 / Math.max(middle('throttled'), 1e-6);
  ratios[`${name}: none lost or doubled`] = all('lost') === 0 && all('doubled') === 0 ? 1 : 0;
}
const text = table(
  ['limit, not stated', 'records', 'seconds', 'used, %', 'from, to', '429s, %', 'lost', 'doubled'],
  rows,
);
process.stdout.write(`${text}\n`);
holdAgainstBudget('rate-sandbox', ratios, { isWhole: ASKED === undefined });
if (ASKED === undefined) writeBetween('bench:rate-sandbox', `${machine()}.\n\n${text}`);
