// The world of a script: its config, its files and its platform.

import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Effect } from '../../../src/domain/approval.ts';
import type { FaultRule } from '../../../src/sandbox/faults/faults.ts';
import type { CliResult } from '../../support/cli/cli.ts';
import { runHere } from '../../support/cli/cli-here.ts';
import { CHANGE_LOG_CONNECTOR, createChangeLog } from '../../support/connectors/change-log.ts';
import { createAtPlatform } from '../../support/worlds/settle-world.ts';
import { createWorld, type World } from '../../support/worlds/world.ts';
import { type LedgerState, readLedger } from './ledger-state.ts';
import {
  type Export,
  FIRST_EXPORT,
  type LineRow,
  type MaterialRow,
  type ProductRow,
  type Setup,
  type Trouble,
} from './night.ts';

const OFF = { enabled: false };
const GATES = {
  none: { productComplete: OFF, bomPresent: OFF, materialData: OFF },
  data: {},
  review: { productComplete: OFF, bomPresent: OFF, materialData: OFF, review: { enabled: true } },
};

const PASSPORTS = {
  published: { init: 'when-complete', publish: 'auto' },
  prepared: { init: 'when-complete', publish: 'manual' },
  'by hand': { init: 'manual', publish: 'manual' },
};

/** The stream that has the rows of one part of the export. */
export function streamOf(part: keyof Export, { changesOnly, hasLog }: Setup): string {
  if (part === 'lines') return 'plm/default';
  if (part === 'products' && hasLog) return 'log/products';
  return part === 'materials' && changesOnly ? 'changes/default' : `erp/${part}`;
}

/** What runs may do without a person, by source. */
export type Bounded = Partial<Record<'plm' | 'erp', Bounds>>;

type Source = { id: string } & Record<string, unknown>;

function sourcesOf({ guard: share, onMissing, changesOnly, hasLog }: Setup, bounded: Bounded): Source[] {
  const rules = { guard: { maxMissing: share, maxDrop: share }, onMissing };
  const materials = {
    to: 'material',
    key: 'row.ID',
    fields: {
      code: 'row.ID',
      name: 'row.NAME',
      recycled_mass_fraction: 'decimal(row.RECYCLED)',
      origin_country: '"DE"',
    },
  };
  const products = {
    stream: 'products',
    to: 'product',
    key: 'row.ID',
    when: 'row.NOTE != "excluded"',
    fields: { sku: 'row.SKU', name: 'row.NAME', country_of_origin: 'country(row.COUNTRY)', description: 'row.NOTE' },
  };
  const lines = {
    to: 'bom_item',
    key: 'row.ID',
    refs: { product: 'row.PRODUCT', part: 'row.PART' },
    fields: { quantity: 'decimal(row.QUANTITY)' },
  };
  const erp = {
    id: 'erp',
    connector: 'csv',
    streams: {
      ...(hasLog ? {} : { products: { path: './exports/products.csv', key: ['ID'] } }),
      ...(changesOnly ? {} : { materials: { path: './exports/materials.csv', key: ['ID'] } }),
    },
    ...rules,
    ...approveOf(bounded.erp),
    mappings: [...(hasLog ? [] : [products]), ...(changesOnly ? [] : [{ stream: 'materials', ...materials }])],
  };
  return [
    {
      id: 'plm',
      connector: 'csv',
      options: { path: './exports/lines.csv', key: ['ID'] },
      ...rules,
      ...approveOf(bounded.plm),
      mappings: [lines],
    },
    ...(erp.mappings.length === 0 ? [] : [erp]),
    ...(hasLog ? [logOf(products, rules)] : []),
    ...(changesOnly ? [changesOf(materials)] : []),
  ];
}

/** Bounds that are numbers. */
export type Bounds = Partial<Record<Effect, number>>;

const approveOf = (bounds: Bounds | undefined): object =>
  bounds === undefined || Object.keys(bounds).length === 0 ? {} : { approve: bounds };

const logOf = (mapping: object, rules: object): Source => ({
  id: 'log',
  connector: './log.mjs',
  streams: { products: { key: ['ID'] } },
  ...rules,
  mappings: [mapping],
});

const changesOf = (mapping: object): Source => ({
  id: 'changes',
  connector: 'csv',
  options: { path: './in/*.csv', key: ['ID'], contents: 'changes', after: 'archive', archive: './read' },
  mappings: [mapping],
});

const csv = (header: string, rows: readonly string[][]): string =>
  `${[header, ...rows.map((row) => row.join(','))].join('\n')}\n`;
const productRow = ({ id, sku, name, country, note }: ProductRow): string[] => [id, sku, name, country, note];
const materialRow = ({ id, name, recycled }: MaterialRow): string[] => [id, name, recycled];
const lineRow = ({ id, product, part, quantity }: LineRow): string[] => [id, product, part, quantity];

/** A world, and the export that its files have. */
export interface PlanWorld {
  world: World;
  ledgerFile: string;
  /** The sources that a person can accept. */
  accepted: string[];
  /** The file that the last plan was written into. */
  planFile: string;
  ledger: () => LedgerState;
  /** What the sources have now. */
  content: () => Export;
  /** Whether a file of changes was not read yet. */
  hasUnreadChanges: () => boolean;
  /** Replaces the export. */
  write(content: Export): void;
  /** Lets the log of the products forget where it was read last. */
  forget: () => void;
  /** Runs a command in this process. */
  dpp: (...args: string[]) => Promise<CliResult>;
  /** Adds a fault to the platform. */
  trouble(trouble: Trouble): void;
}

const NO_LEDGER: LedgerState = { items: new Map(), refs: new Map() };

/** Creates the world of a script, without an export. */
export async function createPlanWorld(setup: Setup, bounded: Bounded = {}): Promise<PlanWorld> {
  const { passports, idempotency, productUpdate, creates, importAnswer, gates, recheckBlockedMs, there } = setup;
  const sources = sourcesOf(setup, bounded);
  const world = await createWorld({
    config: { sources, passports: PASSPORTS[passports] },
    files: { 'log.mjs': CHANGE_LOG_CONNECTOR },
    sandbox: {
      gates: GATES[gates],
      idempotency: idempotency === 'honoured' ? 'honoured' : 'publish-only',
      import: { answer: importAnswer },
    },
    profile: {
      idempotency,
      productUpdate,
      imports: { creates, createsMin: 2, settlesWithinMs: 0 },
      recheckBlockedMs,
      list: { lagMs: 0 },
      settlingDelayMs: { reset: 20, timeout: 20 },
      retry: { backoff: { baseMs: 5, capMs: 20 } },
    },
  });
  for (const item of there.products) await createAtPlatform(world, 'products', { ...item, country_of_origin: 'DE' });
  for (const item of there.materials) await createAtPlatform(world, 'materials', { ...item, origin_country: 'DE' });
  const ledgerFile = join(world.folder, 'data/ledger.db');
  const log = createChangeLog((text) => world.write('log.json', text));
  let present = FIRST_EXPORT;
  let files = 0;

  function writeProducts(products: readonly ProductRow[]): void {
    const rows = products.map(productRow);
    if (!setup.hasLog) return world.write('exports/products.csv', csv('ID,SKU,NAME,COUNTRY,NOTE', rows));
    log.become(
      rows.map(([ID = '', SKU = '', NAME = '', COUNTRY = '', NOTE = '']) => ({ ID, SKU, NAME, COUNTRY, NOTE })),
    );
  }

  function writeMaterials(materials: readonly MaterialRow[]): void {
    const header = 'ID,NAME,RECYCLED';
    if (!setup.changesOnly) return world.write('exports/materials.csv', csv(header, materials.map(materialRow)));
    // The first file has all rows.
    const known = new Set(files === 0 ? [] : present.materials.map((row) => JSON.stringify(row)));
    const changed = materials.filter((row) => !known.has(JSON.stringify(row)));
    if (changed.length === 0 && files > 0) return;
    files += 1;
    world.write(`in/${String(files).padStart(3, '0')}.csv`, csv(header, changed.map(materialRow)));
  }

  return {
    world,
    ledgerFile,
    accepted: sources.map(({ id }) => id).filter((id) => id !== 'changes'),
    planFile: join(world.folder, 'plan.jsonl'),
    ledger: () => (existsSync(ledgerFile) ? readLedger(ledgerFile) : NO_LEDGER),
    dpp: (...args) => runHere([...args, '-c', world.configFile]),
    content: () => present,
    hasUnreadChanges: () => existsSync(join(world.folder, 'in')) && readdirSync(join(world.folder, 'in')).length > 0,
    write(content) {
      writeProducts(content.products);
      writeMaterials(content.materials);
      world.write('exports/lines.csv', csv('ID,PRODUCT,PART,QUANTITY', content.lines.map(lineRow)));
      present = content;
    },
    forget: () => {
      if (setup.hasLog) log.forget();
    },
    trouble({ operation, what, count }) {
      world.sandbox.faults.add({ ...FAULTS[what], operation, count } as FaultRule);
    },
  };
}

const FAULTS: Record<Trouble['what'], object> = {
  refuses: { kind: 'status', status: 422 },
  forbids: { kind: 'status', status: 409 },
  fails: { kind: 'status', status: 500 },
  'loses the answer': { kind: 'reset-after' },
  'loses the request': { kind: 'reset-before' },
};
