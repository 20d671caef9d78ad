// A world with everything that the dashboard can show: passports in each state, rows in quarantine, a product that the
// API refuses, a missing part, and names that try to inject HTML.

import { vi } from 'vitest';
import { textOf } from '../connectors/connector-reader.ts';
import { WAIT_MS } from '../runner/limits.ts';
import { type ServedWorld, startDaemon, WEB_TOKEN } from './daemon-world.ts';
import { createWorld, type World } from './world.ts';

export const HOSTILE = '<script>alert("x")</script> & \'quoted\'';
/** A key with characters that have a meaning in a path, a query or an attribute. */
export const ODD_KEY = 'A/B ?c=d&e#f%20"ü';

const PRODUCT_ROWS = [
  'P-1;Kettle;DRAFT;DE',
  'P-2;Toaster;DRAFT;DE',
  `P-3;"${HOSTILE.replaceAll('"', '""')}";DRAFT;FR`,
  'P-4;Lamp without a known country;DRAFT;Atlantis',
  'P-5;Heater that the platform refuses;RETIRED;DE',
  'P-6;Fan with a missing part;DRAFT;AT',
  `"${ODD_KEY.replaceAll('"', '""')}";Key with odd characters;DRAFT;CH`,
  'P-8;Second lamp without a country;DRAFT;Atlantis',
];
const MATERIAL_ROWS = ['M-1;Steel', 'M-2;Copper', 'M-3;Glass'];
const BOM_ROWS = [
  'P-1;10;M-1;1.5',
  'P-1;20;M-2;0.2',
  'P-2;10;M-1;0.7',
  'P-2;20;P-1;1',
  'P-3;10;M-3;2',
  'P-6;10;M-404;3',
  `"${ODD_KEY.replaceAll('"', '""')}";10;M-2;4`,
];

export function productsFile(rows: readonly string[] = PRODUCT_ROWS): string {
  return `SKU;NAME;STATUS;COUNTRY\n${rows.join('\n')}\n`;
}

export const ALL_PRODUCTS: readonly string[] = PRODUCT_ROWS;

const DASHBOARD_SOURCE = {
  id: 'erp',
  connector: 'csv',
  options: { delimiter: ';' },
  streams: {
    products: { path: './products.csv', key: ['SKU'] },
    materials: { path: './materials.csv', key: ['CODE'] },
    boms: { path: './boms.csv', key: ['SKU', 'POS'] },
  },
  mappings: [
    {
      stream: 'products',
      to: 'product',
      key: 'row.SKU',
      fields: { sku: 'row.SKU', name: 'row.NAME', status: 'row.STATUS', country_of_origin: 'country(row.COUNTRY)' },
    },
    { stream: 'materials', to: 'material', key: 'row.CODE', fields: { code: 'row.CODE', name: 'row.NAME' } },
    {
      stream: 'boms',
      to: 'bom_item',
      key: 'row.SKU + "/" + row.POS',
      refs: { product: 'row.SKU', part: 'row.PART' },
      fields: { quantity: 'decimal(row.QTY)', unit: '"KGM"' },
    },
  ],
  guard: { maxMissing: '20%', maxDrop: '50%' },
};

/** Cases of the mappings: one that passes, and one that fails. */
const MAPPING_CASES = `cases:
  - name: steel
    given: { stream: materials, row: { CODE: M-1, NAME: Steel } }
    expect: { items: [{ kind: material, key: M-1, fields: { code: M-1, name: Steel } }] }
  - name: glass
    given: { stream: materials, row: { CODE: M-3, NAME: Pane } }
    expect: { items: [{ kind: material, key: M-3, fields: { code: M-3, name: Glass } }] }
`;

export function createDashboardWorld({ port = 0 } = {}): Promise<World> {
  return createWorld({
    config: {
      web: { port, token: WEB_TOKEN },
      sources: [DASHBOARD_SOURCE],
      passports: { init: 'when-complete', publish: 'manual', publicUrl: 'https://passports.example.com/p/{sku}' },
    },
    files: {
      'products.csv': productsFile(),
      'materials.csv': `CODE;NAME\n${MATERIAL_ROWS.join('\n')}\n`,
      'dpp-sync.cases.yaml': MAPPING_CASES,
      'boms.csv': `SKU;POS;PART;QTY\n${BOM_ROWS.join('\n')}\n`,
    },
    sandbox: {
      gates: { productComplete: { enabled: false }, bomPresent: { enabled: false }, materialData: { enabled: false } },
    },
  });
}

/**
 * Starts a daemon over this world and runs its source once. P-1, P-2, P-3 and the odd key are complete then; P-5 was
 * refused, which its failed job shows, and P-6 lacks a part.
 */
export async function serveDashboardWorld(): Promise<ServedWorld> {
  const served = await startDaemon(await createDashboardWorld());
  await served.daemon.startRun('erp', 'schedule');
  const { reads, queues } = served.daemon.runtime;
  await vi.waitUntil(async () => (await reads.passportCounts({})).initialized === 4, { timeout: WAIT_MS });
  await vi.waitUntil(async () => (await queues.failed('deliver')).length === 1, { timeout: WAIT_MS });
  return served;
}

/** The passports that the platform has, each with its status. */
export function publicationsOf(world: World): string[] {
  return world
    .contents()
    .publications.map(({ sku, status }) => `${textOf(sku)} ${textOf(status)}`)
    .toSorted();
}
