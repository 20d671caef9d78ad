import { createReadStream } from 'node:fs';
import { parse } from 'csv-parse';

/** What every contender of `npm run bench:push` is given, as JSON in its first argument. */
export interface Job {
  /** Of the server, without a slash at its end. */
  baseUrl: string;
  /** A CSV file with the columns SKU, NAME and COUNTRY. */
  csv: string;
  /** A folder of its own for what it keeps. */
  folder: string;
  /** How many requests may be under way. */
  connections: number;
  redisUrl: string;
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

/** A row as the product that is posted. */
export function bodyOf({ SKU, NAME, COUNTRY }: Row): string {
  return JSON.stringify({ sku: SKU, name: NAME, status: 'DRAFT', country_of_origin: COUNTRY });
}

/** Does the job and prints how long it took, from the first read to the last answer, and the memory at its highest. */
export async function compete(work: (job: Job) => Promise<() => Promise<void>>): Promise<void> {
  const job = JSON.parse(process.argv[2] ?? '{}') as Job;
  const run = await work(job);
  const begun = performance.now();
  await run();
  const ms = performance.now() - begun;
  process.stdout.write(`${JSON.stringify({ ms, peakMb: process.resourceUsage().maxRSS / 1024 })}\n`);
  process.exit(0);
}
