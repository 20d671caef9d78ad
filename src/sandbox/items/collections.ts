import type { Collection } from './collection.ts';

/** The additional columns of each table. Exactly one of the two columns of a material has a value. */
export const PRODUCT_COLUMNS = ['sku'] as const;
export const MATERIAL_COLUMNS = ['code', 'uncoded_name'] as const;
export const BOM_ITEM_COLUMNS = ['product_id', 'material_id', 'component_id'] as const;
export const PASSPORT_COLUMNS = ['product_id'] as const;
export const PUBLICATION_COLUMNS = ['product_id', 'sku'] as const;

/** The collections that the operations on passports use. */
export interface PassportCollections {
  products: Collection;
  materials: Collection;
  bomItems: Collection;
  passports: Collection;
  publications: Collection;
}

/** The rows of every kind of resource. */
export interface Collections extends PassportCollections {
  reports: Collection;
}
