// The examples of docs/connectors: each is written into a folder unchanged, checked, and synced.

import { join } from 'node:path';
import Database from 'better-sqlite3';
import { describe, expect, it, onTestFinished } from 'vitest';
import { BUILT_IN } from '../../../connectors/index.ts';
import { startExampleApi } from './example-server.ts';
import { type Delivered, type ExampleSetup, syncExample } from './page-example.ts';

const GTIN = '04006381333931';

const DELIVERED: Record<string, Pick<Delivered, 'products' | 'bomItems'> & Partial<Delivered>> = {
  csv: {
    products: [`000100, Pump "P1"; 12 V, DE, ${GTIN}`, '000200, Seal, IT'],
    bomItems: ['000100 ← 2.5 KGM 000200'],
  },
  json: { products: ['A-100, Pump', `A-200, Seal, ${GTIN}`], bomItems: ['A-100 ← 2.5 A-200'] },
  xlsx: { products: [`000100, Pump, ${GTIN}`, '000200, Seal'], bomItems: ['000100 ← 2.5 000200'] },
  'fixed-width': {
    products: [`000000000000004711, Mechanical seal 12 mm, ${GTIN}`, '000000000000004712, O-ring 12 x 3'],
    bomItems: ['000000000000004711 ← 1.5 KGM 000000000000004712', '000000000000004711 ← 2.5 C62 000000000000004712'],
  },
  xml: { products: ['000100, Lüfterrad, DE', '000200, Blade'], bomItems: ['000100 ← 6 C62 000200'] },
  bmecat: { products: [`TW-0100, Duct fan 100 mm, ${GTIN}`, 'TW-0900, Laufrad'], bomItems: ['TW-0100 ← 6 TW-0900'] },
  gdsn: { products: [`${GTIN}, Rohrventilator 100 mm, ${GTIN}`], bomItems: [] },
  'sap-idoc': {
    products: [`000000000000000100, Duct fan 100 mm, ${GTIN}`],
    materials: ['000000000000000900, Fan wheel'],
    bomItems: ['000000000000000100 ← 2 C62 000000000000000900'],
  },
  sql: { products: [`A-100, Pump, ${GTIN}`, 'A-200, Seal'], bomItems: ['A-100 ← 2.5 A-200'] },
  rest: { products: [`A-100, Pump, ${GTIN}`, 'A-200, Seal'], bomItems: ['A-100 ← 2.5 A-200'] },
};

/** The example for databases has the options of a server. test/integration/connectors/sql-servers.test.ts runs it on servers. */
const ON_SQLITE: ExampleSetup = {
  options: { dialect: 'sqlite', file: './erp.db' },
  prepare(folder, files) {
    const database = new Database(join(folder, 'erp.db'));
    database.exec(String(files['erp.sql']));
    database.close();
  },
};

/** The example for REST has the address of a server, which is one of the test here. */
async function onApi(): Promise<ExampleSetup> {
  const api = await startExampleApi();
  onTestFinished(() => api.close());
  return { options: api.options };
}

const SETUPS: Record<string, () => ExampleSetup | Promise<ExampleSetup>> = { sql: () => ON_SQLITE, rest: onApi };

describe('the example of docs/connectors', () => {
  it('each built-in connector has an example in docs/connectors', () => {
    expect(Object.keys(DELIVERED).toSorted()).toEqual(Object.keys(BUILT_IN).toSorted());
  });

  it.each(Object.entries(DELIVERED))('the example of %s passes `check` and is delivered', async (id, expected) => {
    const found = await syncExample(`${id}.md`, (await SETUPS[id]?.()) ?? {});
    expect(found).toEqual({ materials: [], ...expected });
  });

  it('the example of the page about tables passes `check` and is delivered', async () => {
    expect(await syncExample('tables.md')).toEqual({
      products: ['P-1, P-1', 'A-1, A-1'],
      materials: ['M-1, M-1', 'M-2, M-2'],
      bomItems: ['A-1 ← 4 M-1', 'P-1 ← 1 M-2', 'P-1 ← 2 A-1'],
    });
  });
});
