// Measures a plan of an unchanged export beside the sync of the same export: `npm run bench:plan`. Each number of records is
// loaded once, with the embedded queue and a platform that accepts everything. Then the commands `sync` and `plan` take turns. The
// time is that of the whole command, with the start of its process. The table is written to docs/performance.md, unless the
// environment sets other counts.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text as textOf } from 'node:stream/consumers';
import { stringify } from 'yaml';
import { holdAgainstBudget } from './support/budget.ts';
import { API_KEY } from './support/contender.ts';
import { table, writeBetween } from './support/document.ts';
import { machine } from './support/machine.ts';
import { FLAGS, median, startServer, writeCsv } from './support/measure.ts';

const ASKED = process.env['BENCH_COUNTS'];
const COUNTS = (ASKED ?? '100000,1000000').split(',').map(Number);
const ROUNDS = Number(process.env['BENCH_ROUNDS'] ?? 7);
/** The limit for memory, which does not depend on the number of records. */
const MEMORY_MB = 300;
/** How many times as long as an unchanged sync a plan may take. Below a million records, the start of the process counts too much. */
const TIMES_MAX = 1.5;
const LAUNCHER = join(import.meta.dirname, '../../src/launcher.mjs');
const USAGE = join(import.meta.dirname, 'support/usage-process.ts');

interface Used {
  ms: number;
  peakMb: number;
}

interface Measured {
  count: number;
  syncs: Used[];
  plans: Used[];
}

async function run(folder: string, command: string): Promise<Used> {
  const args = [...FLAGS, '--import', USAGE, LAUNCHER, command, '--quiet'];
  const begun = performance.now();
  const child = spawn(process.execPath, args, { cwd: folder, stdio: ['ignore', 'ignore', 'inherit', 'pipe'] });
  const peak = textOf(child.stdio[3] as NodeJS.ReadableStream);
  const [code] = (await once(child, 'exit')) as [number | null];
  const ms = performance.now() - begun;
  if (code !== 0) throw new Error(`${command} has ended with ${code}`);
  return { ms, peakMb: Number(await peak) };
}

function writeConfig(folder: string, baseUrl: string): void {
  const source = {
    id: 'erp',
    connector: 'csv',
    options: { path: './export.csv', key: ['SKU'] },
    mappings: [
      {
        to: 'product',
        key: 'row.SKU',
        fields: { sku: 'row.SKU', name: 'row.NAME', status: '"DRAFT"', country_of_origin: 'country(row.COUNTRY)' },
      },
    ],
  };
  writeFileSync(join(folder, 'profile.yaml'), stringify({ extends: 'default', imports: { creates: 'off' } }));
  const target = { baseUrl, apiKey: API_KEY, profile: './profile.yaml' };
  const config = { target, queue: 'embedded', ledger: './ledger.db', sources: [source] };
  writeFileSync(join(folder, 'dpp-sync.yaml'), stringify(config));
}

async function measure(count: number): Promise<Measured> {
  const folder = mkdtempSync(join(tmpdir(), 'dpp-bench-'));
  const server = await startServer(0);
  try {
    writeCsv(join(folder, 'export.csv'), count);
    writeConfig(folder, server.baseUrl);
    await run(folder, 'sync');
    const { writes } = await server.taken();
    if (writes !== count) throw new Error(`${writes} of ${count} records arrived`);
    const measured: Measured = { count, syncs: [], plans: [] };
    for (let round = 0; round < ROUNDS; round += 1) {
      measured.syncs.push(await run(folder, 'sync'));
      measured.plans.push(await run(folder, 'plan'));
    }
    const { requests } = await server.taken();
    if (requests > 0) throw new Error(`${requests} requests were made for nothing`);
    const left = readdirSync(folder).filter((name) => name.startsWith('dpp-sync-'));
    if (left.length > 0) throw new Error(`A plan has left ${left.join(', ')} behind`);
    return measured;
  } finally {
    server.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

const medianMs = (ones: readonly Used[]): number => median(ones.map(({ ms }) => ms));
const peakMb = (ones: readonly Used[]): number => Math.max(...ones.map((one) => one.peakMb));

const measured: Measured[] = [];
for (const count of COUNTS) measured.push(await measure(count));

const text = table(
  ['unchanged records', 'sync, s', 'peak, MB', 'plan, s', 'peak, MB', 'plan / sync'],
  measured.map(({ count, syncs, plans }) => [
    String(count),
    (medianMs(syncs) / 1000).toFixed(2),
    peakMb(syncs).toFixed(0),
    (medianMs(plans) / 1000).toFixed(2),
    peakMb(plans).toFixed(0),
    (medianMs(plans) / medianMs(syncs)).toFixed(2),
  ]),
);
process.stdout.write(`${text}\n`);
if (ASKED === undefined) writeBetween('bench:plan', `${machine()}.\n\n${text}`);

const ratios: Record<string, number> = {};
for (const { count, syncs, plans } of measured) {
  ratios[`${count} unchanged: ${TIMES_MAX} × sync / plan`] = (TIMES_MAX * medianMs(syncs)) / medianMs(plans);
  ratios[`${count} unchanged: ${MEMORY_MB} MB / plan`] = MEMORY_MB / peakMb(plans);
}
holdAgainstBudget('plan', ratios, { isWhole: ASKED === undefined });
