import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { DatabaseServer } from '../servers/database-server.ts';

const PRODUCT_COLUMNS = (
  'ProductID Name ProductNumber MakeFlag FinishedGoodsFlag Color SafetyStockLevel ReorderPoint StandardCost ' +
  'ListPrice Size SizeUnit WeightUnit Weight DaysToManufacture ProductLine Class Style SubcategoryID ModelID ' +
  'SellStartDate SellEndDate DiscontinuedDate RowGuid ModifiedDate'
).split(' ');
const BOM_COLUMNS = (
  'BillOfMaterialsID ProductAssemblyID ComponentID StartDate EndDate UnitMeasureCode BOMLevel PerAssemblyQty ' +
  'ModifiedDate'
).split(' ');

/** The `sources` section that reads the export, or a copy of it, from a folder. */
export function adventureworksSources(folder: string): unknown[] {
  return sourcesOf({
    connector: 'csv',
    options: { delimiter: '\t', quote: null, header: false },
    streams: {
      products: { path: join(folder, 'Product.csv'), key: ['ProductID'], columns: PRODUCT_COLUMNS },
      boms: { path: join(folder, 'BillOfMaterials.csv'), key: ['BillOfMaterialsID'], columns: BOM_COLUMNS },
    },
  });
}

/** The `sources` section that reads the tables of `fillAdventureworks`. */
export function adventureworksTables(options: object): unknown[] {
  const stream = (table: string, key: string) => ({
    query: `SELECT * FROM ${table}`,
    page: [key],
    watermark: 'ModifiedDate',
    key: [key],
  });
  return sourcesOf({
    connector: 'sql',
    options,
    streams: { products: stream('product', 'ProductID'), boms: stream('bill_of_materials', 'BillOfMaterialsID') },
  });
}

/** Makes the tables of the export, with the columns that the mappings read. Empty values become NULL. */
export async function fillAdventureworks(folder: string, server: DatabaseServer, quote: string): Promise<void> {
  await fillTable(join(folder, 'Product.csv'), 'product', PRODUCT_COLUMNS, { server, quote });
  await fillTable(join(folder, 'BillOfMaterials.csv'), 'bill_of_materials', BOM_COLUMNS, { server, quote });
}

async function fillTable(
  file: string,
  table: string,
  columns: readonly string[],
  { server, quote }: { server: DatabaseServer; quote: string },
): Promise<void> {
  const named = columns.map((name) => `${quote}${name}${quote}`);
  const declared = columns.map((name, at) => `${named[at]} ${typeOf(name)}${at === 0 ? ' PRIMARY KEY' : ''}`);
  await server.run(`CREATE TABLE ${table} (${declared.join(', ')})`);
  const literal = (value: string) => (value === '' ? 'NULL' : `'${value.replaceAll("'", "''")}'`);
  const lines = readFileSync(file, 'utf8').split(/\r?\n/);
  const rows = lines.filter((line) => line !== '').map((line) => `(${line.split('\t').map(literal).join(', ')})`);
  await server.run(`INSERT INTO ${table} (${named.join(', ')}) VALUES ${rows.join(', ')}`);
}

function typeOf(column: string): string {
  if (column.endsWith('ID')) return 'INTEGER';
  if (column.endsWith('Date')) return 'TIMESTAMP(3) NULL';
  return /Qty$|Cost$|Price$/.test(column) ? 'DECIMAL(18, 4)' : 'VARCHAR(80)';
}

/** Empty text in a file is NULL in a table. */
const PRESENT = 'row.ProductAssemblyID != null && row.ProductAssemblyID != ""';
const IN_FORCE = '(row.EndDate == null || row.EndDate == "")';

function sourcesOf(source: object): unknown[] {
  return [
    {
      id: 'erp',
      ...source,
      omit: ['StandardCost', 'ListPrice'],
      mappings: [
        {
          stream: 'products',
          to: 'product',
          key: 'row.ProductID',
          fields: { sku: 'row.ProductNumber', name: 'row.Name', status: '"DRAFT"', country_of_origin: '"US"' },
        },
        {
          stream: 'boms',
          to: 'bom_item',
          key: 'row.BillOfMaterialsID',
          when: `${PRESENT} && ${IN_FORCE}`,
          refs: { product: 'row.ProductAssemblyID', component: 'row.ComponentID' },
          fields: { quantity: 'decimal(row.PerAssemblyQty)', unit: 'unit(row.UnitMeasureCode)' },
        },
      ],
    },
  ];
}

/** Reads the export without the project's code. Tests compare its result with that of the project. */
export function readAdventureworks(folder: string): {
  products: { id: string; name: string; number: string }[];
  lines: { id: string; assembly: string; component: string; ended: boolean; quantity: string }[];
} {
  const rows = (name: string): string[][] =>
    readFileSync(join(folder, name), 'utf8')
      .split(/\r?\n/)
      .filter((line) => line !== '')
      .map((line) => line.split('\t'));
  return {
    products: rows('Product.csv').map(([id = '', name = '', number = '']) => ({ id, name, number })),
    lines: rows('BillOfMaterials.csv').map(
      ([id = '', assembly = '', component = '', , end = '', , , quantity = '']) => ({
        id,
        assembly,
        component,
        ended: end !== '',
        quantity,
      }),
    ),
  };
}
