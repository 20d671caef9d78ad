import type { JsonObject } from '../lib/json.ts';
import type { Issue } from './issue.ts';
import type { Item, ItemKind, RefRole } from './item.ts';
import type { Place } from './place.ts';

/**
 * One mapping as the config gives it: either `to`, `key` and `fields` with expressions, or a `module`. Both may have a
 * `when`.
 */
export interface MappingDefinition {
  stream: string;
  to?: ItemKind;
  /** Expression for the item's key. */
  key?: string;
  /** Expression that says whether the mapping wants a row at all. */
  when?: string;
  /** Expressions for the keys of the items that a BOM item points to. */
  refs?: Partial<Record<RefRole, string>>;
  /** Expressions for the item's fields. */
  fields?: Record<string, string>;
  /** Absolute path of a TypeScript or JavaScript mapping module. */
  module?: string;
  /** Where the mapping stands in the config, as `sources[0].mappings[1]`. */
  path: string;
}

/** What a mapping sees of a record. */
export interface MappableRecord {
  source: string;
  stream: string;
  fields: JsonObject;
  place: Place;
  /** What the connector found wrong: such a record is quarantined without being mapped. */
  issues: readonly Issue[];
}

/**
 * The keys of the products whose passports wait for a quarantined record: of the product that the record makes, or of
 * the product of its BOM item. Null stands for a BOM item whose product is unknown.
 */
export type BlockedProducts = readonly (string | null)[];

/** An item together with the mapping that made it, counted from 0 in the order of the config. */
export interface MappedItem extends Item {
  mapping: number;
}

/** The products that items are about: themselves, or those that BOM items belong to. */
export function productsOf(items: readonly Item[]): BlockedProducts {
  return items.flatMap(({ kind, key, refs }) => {
    if (kind === 'product') return [key];
    return kind === 'bom_item' ? [refs.find(({ role }) => role === 'product')?.key ?? null] : [];
  });
}

/**
 * What becomes of a record. `excluded`: no mapping wanted it. `quarantined`: at least one mapping failed; none of the record's
 * items are used then, the items that it made before count as present, and the passports of its products wait.
 */
export type MapResult =
  | { status: 'mapped'; items: MappedItem[] }
  | { status: 'excluded' }
  | { status: 'quarantined'; issues: Issue[]; blockedProducts: BlockedProducts };

/** The compiled mappings of one source. Pure: the same record gives the same result under the same revision. */
export interface Mapper {
  /**
   * Hash over all that the result of a mapping depends on: expressions, helper version, lookup files, module sources. After a
   * change of it all stored records are mapped again.
   */
  revision: string;
  /** Streams that have at least one mapping. */
  streams: readonly string[];
  map(record: MappableRecord): MapResult;
}
