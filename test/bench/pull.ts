// Measures how fast exports are read: `npm run bench:pull`. Each format has a separate file. The connector reads the file and
// hashes each record, as a pull does. This alternates with the bare parser over the same file. The tables are written to
// docs/performance.md, unless the environment sets another count.

import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { FORMATS } from './pull/all-formats.ts';
import type { ReadJob, ReadResult } from './pull/contender-process.ts';
import type { Format } from './pull/formats.ts';
import { holdAgainstBudget } from './support/budget.ts';
import { table, writeBetween } from './support/document.ts';
import { machine } from './support/machine.ts';
import { FLAGS, median } from './support/measure.ts';

const ASKED = process.env['BENCH_COUNTS'];
const COUNT = Number(ASKED ?? 200_000);
const ROUNDS = Number(process.env['BENCH_ROUNDS'] ?? 5);
/** The least number of records that a pull has to read and hash in a second. */
const CSV_RECORDS_PER_SECOND = 100_000;
/** The limit for the memory of a read of any size. Node collects garbage late while there is enough memory. */
const MEMORY_MB = 350;

const run = promisify(execFile);

interface Measured {
  format: Format;
  dppSync: ReadResult[];
  bare: ReadResult[];
}

async function compete(job: ReadJob): Promise<ReadResult> {
  const { stdout } = await run(process.execPath, [
    ...FLAGS,
    join(import.meta.dirname, 'pull/contender-process.ts'),
    JSON.stringify(job),
  ]);
  const result = JSON.parse(stdout) as ReadResult;
  if (result.records !== COUNT) throw new Error(`${job.contender} gave ${result.records} records of ${job.format}`);
  return result;
}

async function measure(format: Format, folder: string): Promise<Measured> {
  mkdirSync(folder);
  format.write(join(folder, 'export'), COUNT);
  const measured: Measured = { format, dppSync: [], bare: [] };
  const server = await format.serve?.(join(folder, 'export'));
  const job = { format: format.name, folder, base: server?.base ?? '' };
  for (let round = 0; round < ROUNDS; round++) {
    measured.dppSync.push(await compete({ ...job, contender: 'dpp-sync' }));
    measured.bare.push(await compete({ ...job, contender: 'bare' }));
  }
  server?.close();
  rmSync(folder, { recursive: true });
  return measured;
}

const perSecond = (results: readonly ReadResult[]): number => median(results.map(({ ms }) => COUNT / (ms / 1000)));
const peakMb = (results: readonly ReadResult[]): number => Math.max(...results.map((result) => result.peakMb));

const folder = mkdtempSync(join(tmpdir(), 'dpp-bench-'));
const measured: Measured[] = [];
try {
  for (const [index, format] of FORMATS.entries()) measured.push(await measure(format, join(folder, String(index))));
} finally {
  rmSync(folder, { recursive: true, force: true });
}

const text = table(
  [`${COUNT} records`, 'dpp-sync, records/s', 'peak, MB', 'parser alone, records/s', 'peak, MB', 'ratio'],
  measured.map(({ format, dppSync, bare }) => [
    `${format.name} (${format.bareName})`,
    String(Math.round(perSecond(dppSync))),
    String(Math.round(peakMb(dppSync))),
    String(Math.round(perSecond(bare))),
    String(Math.round(peakMb(bare))),
    (perSecond(dppSync) / perSecond(bare)).toFixed(2),
  ]),
);
process.stdout.write(`${text}\n`);
if (ASKED === undefined) writeBetween('bench:pull', `${machine()}.\n\n${text}`);

const ratios: Record<string, number> = {};
for (const { format, dppSync, bare } of measured) {
  ratios[`${format.name}: dpp-sync / ${format.bareName}`] = perSecond(dppSync) / perSecond(bare);
  ratios[`${format.name}: ${MEMORY_MB} MB / memory`] = MEMORY_MB / peakMb(dppSync);
  if (format.name === 'CSV') {
    ratios[`${format.name}: records a second / ${CSV_RECORDS_PER_SECOND}`] =
      perSecond(dppSync) / CSV_RECORDS_PER_SECOND;
  }
}
holdAgainstBudget('pull', ratios, { isWhole: ASKED === undefined });
