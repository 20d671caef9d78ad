import type { Database } from 'better-sqlite3';
import { BOM_ITEM_COLUMNS } from './bom-items.ts';
import { type Collection, createCollection } from './collection.ts';
import type { IdScheme } from './ids.ts';
import { MATERIAL_COLUMNS } from './materials.ts';
import { PASSPORT_COLUMNS, type PassportCollections, PUBLICATION_COLUMNS } from './passports.ts';
import { PRODUCT_COLUMNS } from './products.ts';

/** The rows of every kind of resource. */
export interface Collections extends PassportCollections {
  reports: Collection;
}

export function createCollections(database: Database, ids: IdScheme): Collections {
  const collection = (table: string, columns: readonly string[]) => createCollection(database, ids, { table, columns });
  return {
    products: collection('product', PRODUCT_COLUMNS),
    materials: collection('material', MATERIAL_COLUMNS),
    bomItems: collection('bom_item', BOM_ITEM_COLUMNS),
    passports: collection('passport', PASSPORT_COLUMNS),
    publications: collection('publication', PUBLICATION_COLUMNS),
    reports: collection('report', []),
  };
}
