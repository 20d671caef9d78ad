import { createReadStream } from 'node:fs';
import { parse } from 'csv-parse';

/** The job of a contender of a benchmark. It is the first argument of the process, as JSON. */
export interface Job {
  /** The base URL of the server, without a slash at its end. */
  baseUrl: string;
  /** A CSV file with the columns SKU, NAME and COUNTRY. */
  csv: string;
  /** A separate folder for the files of the contender. */
  folder: string;
  /** How many requests may be in flight. With 0 dpp-sync decides, in benchmarks without other contenders. */
  connections: number;
  /** Empty if there is no Redis. */
  redisUrl: string;
  /** Whether dpp-sync may send new products in bulk imports. No other contender does. */
  creates: 'auto' | 'off';
}

/** The measurements of a contender. */
export interface Result {
  /** The time from the first read to the last answer. */
  ms: number;
  /** The CPU time of the main thread alone, in that time. */
  cpuMs: number;
  peakMb: number;
  /** The highest memory in each quarter of that time. */
  quartersMb: number[];
}

export interface Row {
  SKU: string;
  NAME: string;
  COUNTRY: string;
}

export const API_KEY = 'dpp_bench0123456789abcdefghij';
export const HEADERS = { 'x-api-key': API_KEY, accept: 'application/json', 'content-type': 'application/json' };

/** The rows of the file, one after the other. */
export function rowsOf(csv: string): AsyncIterable<Row> {
  return createReadStream(csv).pipe(parse({ columns: true })) as AsyncIterable<Row>;
}

/** The body of the request that creates the product of a row. */
export function bodyOf({ SKU, NAME, COUNTRY }: Row): string {
  return JSON.stringify({ sku: SKU, name: NAME, status: 'DRAFT', country_of_origin: COUNTRY });
}

const SAMPLE_MS = 100;

/** Does the job and prints its result. */
export async function compete(work: (job: Job) => Promise<() => Promise<void>>): Promise<void> {
  const job = JSON.parse(process.argv[2] ?? '{}') as Job;
  const run = await work(job);
  const samples: number[] = [];
  const sample = (): void => void samples.push(process.memoryUsage.rss() / 2 ** 20);
  const sampling = setInterval(sample, SAMPLE_MS);
  const begun = performance.now();
  const before = process.threadCpuUsage();
  await run();
  const { user, system } = process.threadCpuUsage(before);
  const ms = performance.now() - begun;
  clearInterval(sampling);
  sample();
  const quarter = Math.ceil(samples.length / 4);
  const quartersMb = [0, 1, 2, 3].map((at) => Math.max(...samples.slice(at * quarter, (at + 1) * quarter), 0));
  const result: Result = {
    ms,
    cpuMs: (user + system) / 1000,
    peakMb: process.resourceUsage().maxRSS / 1024,
    quartersMb,
  };
  process.stdout.write(`${JSON.stringify(result)}\n`);
  process.exit(0);
}
