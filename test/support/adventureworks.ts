import { readFileSync } from 'node:fs';
import { join } from 'node:path';

const PRODUCT_COLUMNS = [
  'ProductID',
  'Name',
  'ProductNumber',
  'MakeFlag',
  'FinishedGoodsFlag',
  'Color',
  'SafetyStockLevel',
  'ReorderPoint',
  'StandardCost',
  'ListPrice',
  'Size',
  'SizeUnit',
  'WeightUnit',
  'Weight',
  'DaysToManufacture',
  'ProductLine',
  'Class',
  'Style',
  'SubcategoryID',
  'ModelID',
  'SellStartDate',
  'SellEndDate',
  'DiscontinuedDate',
  'RowGuid',
  'ModifiedDate',
];
const BOM_COLUMNS = [
  'BillOfMaterialsID',
  'ProductAssemblyID',
  'ComponentID',
  'StartDate',
  'EndDate',
  'UnitMeasureCode',
  'BOMLevel',
  'PerAssemblyQty',
  'ModifiedDate',
];

/** The `sources` section for the export at its place, or for copies of it. */
export function adventureworksSources(folder: string): unknown[] {
  return [
    {
      id: 'erp',
      connector: 'csv',
      options: { delimiter: '\t', quote: null, header: false },
      streams: {
        products: { path: join(folder, 'Product.csv'), key: ['ProductID'], columns: PRODUCT_COLUMNS },
        boms: { path: join(folder, 'BillOfMaterials.csv'), key: ['BillOfMaterialsID'], columns: BOM_COLUMNS },
      },
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
          when: 'row.ProductAssemblyID != "" && row.EndDate == ""',
          refs: { product: 'row.ProductAssemblyID', component: 'row.ComponentID' },
          fields: { quantity: 'decimal(row.PerAssemblyQty)', unit: 'unit(row.UnitMeasureCode)' },
        },
      ],
    },
  ];
}

/** The export as it is, read without any of the project's code. */
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
