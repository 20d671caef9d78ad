import type { JsonObject } from '../lib/json.ts';
import type { Issue } from './issue.ts';
import type { Item, ItemKind, RefRole } from './item.ts';
import type { FindEntry, LookupTable, LookupUse } from './lookup.ts';
import type { Place } from './place.ts';

/** The rules for one field of a mapping's items. */
export interface ValueRule {
  /** The least and the greatest number, as decimals. */
  min?: string;
  max?: string;
  /** A pattern that the text has somewhere; with `^` and `$` the text as a whole. */
  pattern?: string;
  /** True if a row without a value is an issue. */
  required?: boolean;
  /** Texts that count as no value, such as `n/a`. */
  empty?: readonly string[];
}

/** The role of a ref as a mapping writes it. `part` is a material or a component, whichever has the key. */
export type MappedRole = RefRole | 'part';

/**
 * One mapping as the config gives it: either `to`, `key` and `fields` with expressions, or a `module`. Both may have
 * `when`, `rules` and `onIssue`.
 */
export interface MappingDefinition {
  stream: string;
  to?: ItemKind;
  /** Expression for a list: the mapping makes one item of each entry. */
  each?: string;
  /** Expression for the item's key. */
  key?: string;
  /** Expression that says whether the mapping wants a row at all. */
  when?: string;
  /** Expressions for the keys of the items that a BOM item points to. */
  refs?: Partial<Record<MappedRole, string>>;
  /** Expressions for the item's fields. */
  fields?: Record<string, string>;
  /** Rules by field; a member of a field is named `mass.value`. */
  rules?: Record<string, ValueRule>;
  /**
   * What an issue does. `hold` (the default): none of the record's items are used, and the passports of its products
   * wait. `report`: the record is shown in quarantine, and all other items of it are used.
   */
  onIssue?: 'hold' | 'report';
  /** Absolute path of a TypeScript or JavaScript mapping module. */
  module?: string;
  /** Where the mapping stands in the config, as `sources[0].mappings[1]`. */
  path: string;
}

/** A lookup table as the config of a source declares it: over a stream, or over a file. */
export interface LookupConfig {
  /** The source of the stream; undefined for the same source. */
  source?: string;
  stream?: string;
  /** A CSV or JSON file, relative to the config. */
  file?: string;
  key: readonly string[];
  /** Of one column its value, of several an object. */
  value: string | readonly string[];
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

/** The products that items are about, each once: themselves, or those that BOM items belong to. */
export function productsOf(items: readonly Item[]): BlockedProducts {
  const products = items.flatMap(({ kind, key, refs }) => {
    if (kind === 'product') return [key];
    return kind === 'bom_item' ? [refs.find(({ role }) => role === 'product')?.key ?? null] : [];
  });
  return [...new Set(products)];
}

/**
 * What becomes of a record. `excluded`: no mapping wanted it. `quarantined`: at least one mapping failed; none of the
 * record's items are used then, the items that it made before count as present, and the passports of its products wait.
 * With `items` only mappings have failed that report their issues: these items are used, and no passport waits.
 */
export type MapResult = (
  | { status: 'mapped'; items: MappedItem[] }
  | { status: 'excluded' }
  | { status: 'quarantined'; issues: Issue[]; blockedProducts: BlockedProducts; items?: MappedItem[] }
) & {
  /** What the mapping has looked up. When it changes, the record is mapped again. */
  uses?: readonly LookupUse[];
};

/**
 * The compiled mappings of one source. Pure: the same record gives the same result under the same revision, with the same
 * entries of lookup tables.
 */
export interface Mapper {
  /**
   * Hash over all that the result of a mapping depends on besides the record and what it looks up: expressions, helper
   * version, definitions of lookup tables, module sources. After a change of it all stored records are mapped again.
   */
  revision: string;
  /** Streams that have at least one mapping. */
  streams: readonly string[];
  /** The files that the mappings are made of besides the config: modules and lookup files; absolute. */
  files?: readonly string[];
  /** The lookup tables that the mappings use. Absent for none. */
  lookups?: readonly LookupTable[];
  /** `find` gives the entries of lookup tables over streams. Entries of files are known to the mapper. */
  map(record: MappableRecord, find?: FindEntry): MapResult;
}
