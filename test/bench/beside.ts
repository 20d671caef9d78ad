// Compares the syncs of this checkout with those of another one, which must have its node_modules: `npm run bench:beside --
// FOLDER`. The checkouts take turns, each with a ledger and a sandbox of its own, and the figures are medians over the pairs.
// `BENCH_ROUNDS` and `BENCH_COUNTS` (bare products, products with BOM items) change the size. Prints a table.

import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { stringify } from 'yaml';
import { API_KEY } from './support/contender.ts';
import { table } from './support/document.ts';
import { machine } from './support/machine.ts';
import { FLAGS, median } from './support/measure.ts';
import { startSandbox } from './support/sandbox-process.ts';

const HERE = join(import.meta.dirname, '../..');
const PROCESS = join(import.meta.dirname, 'support/sync-process.ts');
const ROUNDS = Number(process.env['BENCH_ROUNDS'] ?? 9);
const [BARE = 20_000, WITH_PARTS = 5000] = (process.env['BENCH_COUNTS'] ?? '20000,5000').split(',').map(Number);
const MATERIALS = 50;
const GATES = 'gates={productComplete: {enabled: false}, bomPresent: {enabled: false}, materialData: {enabled: false}}';

interface Used {
  ms: number;
  /** The CPU time of all threads. */
  cpuMs: number;
  peakMb: number;
}

const numbers = (count: number): number[] => Array.from({ length: count }, (_, at) => at + 1);
const csv = (lines: readonly string[]): string => `${lines.join('\n')}\n`;

function writeProducts(folder: string, { count, version }: { count: number; version: number }): void {
  const rows = numbers(count).map((n) => `P${n};Product ${n} v${version};DE`);
  writeFileSync(join(folder, 'products.csv'), csv(['ID;NAME;COUNTRY', ...rows]));
}

function writeParts(folder: string, count: number): void {
  const materials = numbers(MATERIALS).map((n) => `M${n};Material ${n}`);
  writeFileSync(join(folder, 'materials.csv'), csv(['ID;NAME', ...materials]));
  const lines = numbers(count).flatMap((n) => [
    `L${n}a;P${n};M${1 + (n % MATERIALS)};1`,
    `L${n}b;P${n};M${1 + ((n + 7) % MATERIALS)};2`,
  ]);
  writeFileSync(join(folder, 'boms.csv'), csv(['ID;PRODUCT;MATERIAL;QTY', ...lines]));
}

const PRODUCTS = {
  stream: 'products',
  to: 'product',
  key: 'row.ID',
  fields: { sku: 'row.ID', name: 'row.NAME', status: '"DRAFT"', country_of_origin: 'country(row.COUNTRY)' },
};
const PARTS = [
  { stream: 'materials', to: 'material', key: 'row.ID', fields: { code: 'row.ID', name: 'row.NAME' } },
  {
    stream: 'boms',
    to: 'bom_item',
    key: 'row.ID',
    refs: { product: 'row.PRODUCT', material: 'row.MATERIAL' },
    fields: { quantity: 'decimal(row.QTY)' },
  },
];

function writeConfig(folder: string, baseUrl: string, hasParts: boolean): void {
  const names = hasParts ? ['products', 'materials', 'boms'] : ['products'];
  const streams = Object.fromEntries(names.map((name) => [name, { path: `./${name}.csv`, key: ['ID'] }]));
  const mappings = hasParts ? [PRODUCTS, ...PARTS] : [PRODUCTS];
  const source = { id: 'erp', connector: 'csv', options: { delimiter: ';' }, streams, mappings };
  const target = { baseUrl, apiKey: API_KEY };
  const passports = hasParts && { passports: { init: 'when-complete', publish: 'auto' } };
  const config = { target, queue: 'embedded', ledger: './ledger.db', ...passports, sources: [source] };
  writeFileSync(join(folder, 'dpp-sync.yaml'), stringify(config));
}

function syncOf(checkout: string, folder: string): Used {
  const args = [...FLAGS, PROCESS, checkout, join(folder, 'dpp-sync.yaml')];
  return JSON.parse(execFileSync(process.execPath, args, { encoding: 'utf8' })) as Used;
}

/** The nights of one checkout, by name. */
async function nights(checkout: string, hasParts: boolean): Promise<Record<string, Used>> {
  const folder = mkdtempSync(join(tmpdir(), 'dpp-bench-'));
  const sandbox = await startSandbox([GATES], 0);
  const count = hasParts ? WITH_PARTS : BARE;
  const what = hasParts ? `${count} products with BOM items and passports` : `${count} products`;
  try {
    writeConfig(folder, sandbox.baseUrl, hasParts);
    writeProducts(folder, { count, version: 1 });
    if (hasParts) {
      writeParts(folder, count);
      return { [what]: syncOf(checkout, folder) };
    }
    const first = syncOf(checkout, folder);
    writeProducts(folder, { count, version: 2 });
    const changed = syncOf(checkout, folder);
    return { [what]: first, [`${what}, all changed`]: changed, [`${what}, unchanged`]: syncOf(checkout, folder) };
  } finally {
    sandbox.stop();
    rmSync(folder, { recursive: true });
  }
}

const [other] = process.argv.slice(2);
if (other === undefined) throw new Error('Name the folder of another checkout: npm run bench:beside -- FOLDER');
const measured = new Map<string, { now: Used[]; before: Used[] }>();
for (let round = 0; round < ROUNDS; round += 1) {
  const order = round % 2 === 0 ? (['before', 'now'] as const) : (['now', 'before'] as const);
  for (const hasParts of [true, false]) {
    for (const which of order) {
      const used = await nights(which === 'now' ? HERE : resolve(other), hasParts);
      for (const [night, one] of Object.entries(used)) {
        const both = measured.get(night) ?? { now: [], before: [] };
        both[which].push(one);
        measured.set(night, both);
      }
    }
  }
}

const UNITS = [
  ['cpuMs', 'CPU, ms'],
  ['ms', 'time, ms'],
  ['peakMb', 'memory, MB'],
] as const;
const rows = [...measured].flatMap(([night, { now, before }]) =>
  UNITS.map(([unit, title]) => {
    const [then, today] = [before, now].map((ones) => median(ones.map((one) => one[unit])));
    const share = ((today ?? 0) / (then ?? 1)).toFixed(2);
    return [night, title, String(Math.round(then ?? 0)), String(Math.round(today ?? 0)), share];
  }),
);
process.stdout.write(`${machine()}\n\n${table(['night', 'unit', 'before', 'now', 'now / before'], rows)}\n`);
