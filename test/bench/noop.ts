// Measures a first load, and then a sync of an unchanged export: `npm run bench:noop`. Each number of records is loaded once,
// with a Redis and a platform that accepts everything. The unchanged sync alternates with a bare CSV parser over the same
// file. Then some rows are spoilt and go into quarantine, and the unchanged sync is measured again. Memory is the highest
// resident size; for the load it is given for each quarter of its time. The tables are written to docs/performance.md, unless
// the environment sets other counts.

import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { Redis } from 'ioredis';
import { holdAgainstBudget } from './support/budget.ts';
import type { Job, Result } from './support/contender.ts';
import { table, writeBetween } from './support/document.ts';
import { measureLedger } from './support/ledger-file.ts';
import { machine } from './support/machine.ts';
import { compete, median, startRedis, startServer, writeCsv } from './support/measure.ts';

const ASKED = process.env['BENCH_COUNTS'];
const COUNTS = (ASKED ?? '10000,100000,1000000').split(',').map(Number);
const ROUNDS = Number(process.env['BENCH_ROUNDS'] ?? 3);
/** A load of few records is short, so the start of the process has a large share of it. So the smallest load is repeated. */
const LOADS_OF_FIRST = 3;
/** One of this many rows of the dirty export is in quarantine. */
const ROWS_A_BAD_ONE = 400;
/** The limit for the bytes of the ledger for each record. */
const RECORD_BYTES = 650;
/** The limits for memory, which do not depend on the number of records. */
const MEMORY_MB = { load: 350, unchanged: 250, redis: 100 };

interface Measured {
  count: number;
  load: Result;
  redisMb: number;
  ledgerBytes: number;
  clean: Unchanged;
  dirty: Unchanged;
}

interface Unchanged {
  dppSync: Result[];
  parser: Result[];
}

async function redisPeakMb(url: string): Promise<number> {
  const redis = new Redis(url);
  const text = await redis.info('memory');
  redis.disconnect();
  return Number(/used_memory_peak:(\d+)/.exec(text)?.[1]) / 2 ** 20;
}

function quarantinedOf(file: string): number {
  const db = new Database(file, { readonly: true });
  const count = db.prepare<[], number>("SELECT count(*) FROM records WHERE state = 'quarantined'").pluck().get();
  db.close();
  return count ?? 0;
}

/** Gives some rows a country that does not exist. */
function spoil(csv: string): void {
  const spoilt = (line: string, at: number): string =>
    at > 0 && at % ROWS_A_BAD_ONE === 0 ? line.replace(/DE$/, 'Atlantis') : line;
  writeFileSync(csv, readFileSync(csv, 'utf8').split('\n').map(spoilt).join('\n'));
}

async function measureUnchanged(job: Job): Promise<Unchanged> {
  const measured: Unchanged = { dppSync: [], parser: [] };
  for (let round = 0; round < ROUNDS; round += 1) {
    measured.dppSync.push(await compete('push/dpp-sync.ts', job));
    measured.parser.push(await compete('noop/csv-parser.ts', job));
  }
  return measured;
}

async function measure(count: number): Promise<Measured> {
  const folder = mkdtempSync(join(tmpdir(), 'dpp-bench-'));
  const csv = join(folder, 'export.csv');
  const ledger = join(folder, 'ledger.db');
  writeCsv(csv, count);
  const server = await startServer(0);
  const redis = await startRedis(folder);
  try {
    const job = { baseUrl: server.baseUrl, csv, folder, connections: 0, redisUrl: redis.url, creates: 'off' } as const;
    const load = await compete('push/dpp-sync.ts', job);
    const { writes } = await server.taken();
    if (writes !== count) throw new Error(`${writes} of ${count} records arrived`);
    const redisMb = await redisPeakMb(redis.url);
    const { bytes: ledgerBytes } = measureLedger(ledger);
    const clean = await measureUnchanged(job);
    spoil(csv);
    await compete('push/dpp-sync.ts', job);
    const dirty = await measureUnchanged(job);
    const quarantined = quarantinedOf(ledger);
    if (quarantined !== Math.floor(count / ROWS_A_BAD_ONE)) throw new Error(`${quarantined} rows are in quarantine`);
    const { requests } = await server.taken();
    if (requests > 0) throw new Error(`${requests} requests were made for nothing`);
    return { count, load, redisMb, ledgerBytes, clean, dirty };
  } finally {
    server.stop();
    redis.child.kill('SIGKILL');
    rmSync(folder, { recursive: true, force: true });
  }
}

const medianMs = (results: readonly Result[]): number => median(results.map(({ ms }) => ms));
const peakMb = (results: readonly Result[]): number => Math.max(...results.map((result) => result.peakMb));
const perSecond = (count: number, ms: number): string => String(Math.round(count / (ms / 1000)));
const mb = (value: number): string => String(Math.round(value));

const measured: Measured[] = [];
for (const count of COUNTS) {
  const loads: Measured[] = [];
  for (let time = 0; time < (count === COUNTS[0] ? LOADS_OF_FIRST : 1); time += 1) loads.push(await measure(count));
  const typical = loads.toSorted((a, b) => a.load.ms - b.load.ms)[Math.floor(loads.length / 2)];
  if (typical) measured.push(typical);
}

const text = [
  table(
    ['first load', 'records/s', 'each, µs', 'memory by quarters, MB', 'Redis, MB', 'ledger, MB', 'a record, bytes'],
    measured.map(({ count, load, redisMb, ledgerBytes }) => [
      String(count),
      perSecond(count, load.ms),
      String(Math.round((load.ms * 1000) / count)),
      load.quartersMb.map(Math.round).join(', '),
      mb(redisMb),
      mb(ledgerBytes / 2 ** 20),
      String(Math.round(ledgerBytes / count)),
    ]),
  ),
  table(
    ['unchanged', 'rows in quarantine', 'dpp-sync, records/s', 'peak, MB', 'csv-parse, records/s', 'peak, MB'],
    measured.flatMap(({ count, clean, dirty }) =>
      [
        { of: clean, quarantined: 0 },
        { of: dirty, quarantined: Math.floor(count / ROWS_A_BAD_ONE) },
      ].map(({ of: { dppSync, parser }, quarantined }) => [
        String(count),
        String(quarantined),
        perSecond(count, medianMs(dppSync)),
        mb(peakMb(dppSync)),
        perSecond(count, medianMs(parser)),
        mb(peakMb(parser)),
      ]),
    ),
  ),
].join('\n\n');
process.stdout.write(`${text}\n`);
if (ASKED === undefined) writeBetween('bench:noop', `${machine()}.\n\n${text}`);

const ratios: Record<string, number> = {};
for (const { count, load, redisMb, ledgerBytes, clean, dirty } of measured) {
  const peak = peakMb([...clean.dppSync, ...dirty.dppSync]);
  ratios[`${count} unchanged: dpp-sync / csv-parse`] = medianMs(clean.parser) / medianMs(clean.dppSync);
  ratios[`${count} unchanged, dirty: dpp-sync / csv-parse`] = medianMs(dirty.parser) / medianMs(dirty.dppSync);
  ratios[`${count} unchanged: dirty / clean`] = medianMs(clean.dppSync) / medianMs(dirty.dppSync);
  ratios[`${count} unchanged: ${MEMORY_MB.unchanged} MB / memory`] = MEMORY_MB.unchanged / peak;
  ratios[`${count} loaded: ${MEMORY_MB.load} MB / memory`] = MEMORY_MB.load / load.peakMb;
  ratios[`${count} loaded: ${RECORD_BYTES} bytes / a record`] = RECORD_BYTES / (ledgerBytes / count);
  ratios[`${count} loaded: ${MEMORY_MB.redis} MB / Redis`] = MEMORY_MB.redis / redisMb;
}
const [first] = measured;
const last = measured.at(-1);
if (first && last && first !== last) {
  const cost = ({ load, count }: Measured): number => load.ms / count;
  ratios[`a record of ${first.count} / a record of ${last.count}`] = cost(first) / cost(last);
}
holdAgainstBudget('noop', ratios, { isWhole: ASKED === undefined });
