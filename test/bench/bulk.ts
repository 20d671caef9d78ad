// Measures what bulk imports save at a first load: `npm run bench:bulk`. A complete sync sends new products to a sandbox in a
// separate process: one by one, and in imports with each form of answer. The sandbox has a rate limit and does not announce
// it. Prints a table and writes it to docs/performance.md, unless the environment sets another number of products.

import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { sha256Url } from '../../src/lib/hash.ts';
import { holdAgainstBudget } from './support/budget.ts';
import { API_KEY, type Job, type Result } from './support/contender.ts';
import { table, writeBetween } from './support/document.ts';
import { machine } from './support/machine.ts';
import { writeCsv } from './support/measure.ts';
import { startSandbox } from './support/sandbox-process.ts';

const ASKED = process.env['BENCH_COUNT'];
const COUNT = Number(ASKED ?? 10_000);
const RATE = 10;
const LATENCY_MS = 20;
const LIMIT = `rateLimit={kind: token-bucket, ratePerSecond: ${RATE}, burst: ${RATE}, per: key, retryAfter: none}`;
const CONTENDER = join(import.meta.dirname, 'push/dpp-sync.ts');

/** The measured ways, by name: whether imports are used, and how the sandbox answers them. */
const WAYS = {
  'one by one': { creates: 'off', answer: 'per-row' },
  'imports, a result a row': { creates: 'auto', answer: 'per-row' },
  'imports, counts alone': { creates: 'auto', answer: 'summary' },
  'imports, an empty answer': { creates: 'auto', answer: 'none' },
} as const;
type Name = keyof typeof WAYS;

interface Measured {
  ms: number;
  requests: number;
  throttled: number;
  /** The hash of all products at the platform, without their ids and times, which differ from load to load. */
  content: string;
  products: number;
}

interface Stats {
  requests: Record<string, Record<string, number>>;
  throttled: number;
}

const run = promisify(execFile);

async function measure(name: Name): Promise<Measured> {
  const { creates, answer } = WAYS[name];
  const folder = mkdtempSync(join(tmpdir(), 'dpp-bench-'));
  const sandbox = await startSandbox([LIMIT, `import={answer: ${answer}}`], LATENCY_MS);
  try {
    const csv = join(folder, 'products.csv');
    writeCsv(csv, COUNT);
    const job: Job = { baseUrl: sandbox.baseUrl, csv, folder, connections: 0, redisUrl: '', creates };
    const { stdout } = await run(process.execPath, [CONTENDER, JSON.stringify(job)]);
    const { ms } = JSON.parse(stdout) as Result;
    const stats = (await (await fetch(`${sandbox.controlUrl}/stats`)).json()) as Stats;
    const counts = Object.values(stats.requests).flatMap((endings) => Object.values(endings));
    const products = await productsOf(sandbox);
    return {
      ms,
      requests: counts.reduce((sum, count) => sum + count, 0),
      throttled: stats.throttled,
      content: sha256Url(JSON.stringify(products.toSorted())),
      products: products.length,
    };
  } finally {
    sandbox.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

/** All products at the platform, as texts without their ids and times. Waits while the limit refuses to list them. */
async function productsOf({ baseUrl }: { baseUrl: string }): Promise<string[]> {
  const found: string[] = [];
  let path: string | null = '/api/products/?page_size=500';
  while (path !== null) {
    const answer = await fetch(new URL(path, baseUrl), { headers: { 'x-api-key': API_KEY } });
    if (answer.status === 429) {
      await new Promise((resolve) => setTimeout(resolve, 1000));
      continue;
    }
    const { results, next } = (await answer.json()) as { results: Record<string, unknown>[]; next: string | null };
    for (const { id: _, created_at: __, updated_at: ___, ...fields } of results) found.push(JSON.stringify(fields));
    path = next;
  }
  return found;
}

const measured = new Map<Name, Measured>();
for (const name of Object.keys(WAYS) as Name[]) {
  const one = await measure(name);
  measured.set(name, one);
  process.stderr.write(`${name}: ${(one.ms / 1000).toFixed(1)} s, ${one.requests} requests\n`);
}
const single = measured.get('one by one');
if (single === undefined) throw new Error('Nothing was measured.');
const ratios: Record<string, number> = { 'one by one: all products': single.products / COUNT };
const rows: string[][] = [];
for (const [name, { ms, requests, throttled, content, products }] of measured) {
  const times = single.ms / ms;
  rows.push([name, (ms / 1000).toFixed(1), String(requests), String(throttled), String(products), times.toFixed(1)]);
  if (name === 'one by one') continue;
  ratios[`${name}: times as fast`] = times;
  ratios[`${name}: the same products`] = content === single.content ? 1 : 0;
}
const head = [
  `${COUNT} new products, ${RATE} requests/s`,
  'seconds',
  'requests',
  '429s',
  'products there',
  'times as fast',
];
const text = table(head, rows);
process.stdout.write(`${text}\n`);
holdAgainstBudget('bulk', ratios, { isWhole: ASKED === undefined });
if (ASKED === undefined) writeBetween('bench:bulk', `${machine()}.\n\n${text}`);
