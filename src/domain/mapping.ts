import type { JsonObject, JsonValue } from '../lib/json.ts';
import type { Issue, Place } from './issue.ts';
import type { Item, ItemKind, RefRole } from './item.ts';
import type { FindEntry, LookupTable, LookupUse } from './lookup.ts';
import type { IdentifyingMapping } from './record.ts';

/** The rules for one field of a mapping's items. */
export interface ValueRule {
  /** The least and the greatest number, as decimals. */
  min?: string;
  max?: string;
  /** A pattern that some part of the text must match. With `^` and `$` the whole text must match. */
  pattern?: string;
  /** True if a row without a value is an issue. */
  required?: boolean;
  /** Texts that count as no value, such as `n/a`. */
  empty?: readonly string[];
}

/** The role of a ref in a mapping. `part` is the material or the component that has the key. */
export type MappedRole = RefRole | 'part';

/**
 * One mapping of the config: either `to`, `key` and `fields` with expressions, or a `module`. Both may have `when`,
 * `rules` and `onIssue`.
 */
export interface MappingDefinition {
  stream: string;
  to?: ItemKind;
  /** Expression for a list. The mapping makes one item from each entry. */
  each?: string;
  /** Expression for the item's key. */
  key?: string;
  /** Expression that decides whether the mapping applies to a row. */
  when?: string;
  /** Expressions for the keys of the items that a BOM item points to. */
  refs?: Partial<Record<MappedRole, string>>;
  /** Expressions for the item's fields. */
  fields?: Record<string, string>;
  /** Rules by field; a member of a field is named `mass.value`. */
  rules?: Record<string, ValueRule>;
  /**
   * The effect of an issue. `hold` (the default): none of the record's items are used, and the passports of its
   * products wait. `report`: the record is shown in quarantine, and its other items are used.
   */
  onIssue?: 'hold' | 'report';
  /** Absolute path of a TypeScript or JavaScript mapping module. */
  module?: string;
  /** The place of the mapping in the config, such as `sources[0].mappings[1]`. */
  path: string;
}

/** A lookup table that the config of a source declares. Its rows come from a stream or from a file. */
export interface LookupConfig {
  /** The source of the stream; undefined for the same source. */
  source?: string;
  stream?: string;
  /** A CSV or JSON file, relative to the config. */
  file?: string;
  key: readonly string[];
  /** The columns that are the result: one column gives its value, and a list gives an object. */
  value: string | readonly string[];
}

/** The parts of a record that a mapping can use. */
export interface MappableRecord {
  source: string;
  stream: string;
  fields: JsonObject;
  place: Place;
  /**
   * The issues that the connector has found. A record with issues is quarantined without being mapped, unless each of
   * them is about only one field that nothing uses.
   */
  issues: readonly Issue[];
}

/**
 * The keys of the products whose passports wait for a quarantined record: of the product that the record makes, or of
 * the product of its BOM item. Null stands for a BOM item whose product is unknown.
 */
export type BlockedProducts = readonly (string | null)[];

/**
 * The passports that wait for a quarantined record, by the items that the record makes or belongs to, as far as its columns can
 * still be read.
 */
export interface Blocked {
  products: BlockedProducts;
  /** The keys of the materials that the record makes. BOM items of products wait for them. */
  materials: readonly string[];
}

/** An item together with the mapping that made it, counted from 0 in the order of the config. */
export interface MappedItem extends Item {
  mapping: number;
}

/**
 * The keys of the products that items belong to, without repetition. A product belongs to itself, and a BOM item to its
 * product.
 */
export function productsOf(items: readonly Item[]): BlockedProducts {
  const products = items.flatMap(({ kind, key, refs }) => {
    if (kind === 'product') return [key];
    return kind === 'bom_item' ? [refs.find(({ role }) => role === 'product')?.key ?? null] : [];
  });
  return [...new Set(products)];
}

/** The keys of the materials among items, without repetition. */
export function materialsOf(items: readonly Item[]): string[] {
  return [...new Set(items.flatMap(({ kind, key }) => (kind === 'material' ? [key] : [])))];
}

/**
 * The result of mapping a record. `excluded`: no mapping applies to it. `quarantined`: at least one mapping failed;
 * none of the record's items are used then, the items that it made before count as present, and the passports of its
 * products wait. With `items`, only mappings with `onIssue: report` have failed: these items are used, and no passport
 * waits.
 */
export type MapResult = (
  | { status: 'mapped'; items: MappedItem[] }
  | { status: 'excluded' }
  | {
      status: 'quarantined';
      issues: Issue[];
      blockedProducts: BlockedProducts;
      /** As in `Blocked`; none if it is left out. */
      blockedMaterials?: readonly string[];
      items?: MappedItem[];
    }
) & {
  /** The keys that the mapping has looked up. When one of their entries changes, the record is mapped again. */
  uses?: readonly LookupUse[];
};

/**
 * The compiled mappings of one source. Pure: the same record gives the same result under the same revision, with the same
 * entries of lookup tables.
 */
export interface Mapper {
  /**
   * The hash of everything on which the result of a mapping depends, except the record and the entries that it looks
   * up: expressions, helper version, definitions of lookup tables, and module sources. When the hash changes, all
   * stored records are mapped again.
   */
  revision: string;
  /** Streams that have at least one mapping. */
  streams: readonly string[];
  /** The absolute paths of the modules and lookup files that the mappings use. */
  files?: readonly string[];
  /** The lookup tables that the mappings use. Absent if there are none. */
  lookups?: readonly LookupTable[];
  /** The mappings that may identify rows. Absent if there are none. */
  identifying?: {
    /** The mappings of each stream, in the order of the config. */
    byStream: ReadonlyMap<string, readonly IdentifyingMapping[]>;
    /** Stands for the functions that expressions call. When it changes, the same expressions may give other keys. */
    functions: string;
  };
  /**
   * The columns of a stream that mappings and lookups use; null if they may use any column. If the connector reports that
   * only another column is at fault, the record is mapped.
   */
  uses?(stream: string): ReadonlySet<string> | null;
  /** `find` gives the entries of lookup tables over streams. The mapper itself has the entries of files. */
  map(record: MappableRecord, find?: FindEntry): MapResult;
}

/**
 * The functions of expressions, for mappings written in TypeScript. Each function returns `""` for an empty value. For
 * a value that it cannot read it throws an error that quarantines the record.
 */
export interface MappingTools {
  country(value: JsonValue): string;
  unit(value: JsonValue): string;
  /** `mark` is the character before the fraction, a point by default. */
  decimal(value: JsonValue, mark?: ',' | '.'): string;
  gtin(value: JsonValue): string;
  /** `format` is for dates that are neither ISO nor YYYYMMDD, such as `DD.MM.YYYY`. */
  date(value: JsonValue, format?: string): string;
  htmlText(value: JsonValue): string;
  decodeEntities(value: JsonValue): string;
  /** The text that a lookup table has for a key. A key of several columns is a list of its parts. */
  lookup(table: string, key: JsonValue, fallback?: string): string;
  /** All values for a key: texts, or objects if the table has several value columns. */
  lookupAll(table: string, key: JsonValue): JsonValue[];
}

/** A mapping that needs more than expressions. It must be pure: no clock, no network, no state between rows. */
export interface MappingModule {
  /**
   * Maps one row to any number of items; none means that the row is excluded. Return issues, or throw, to quarantine
   * the row. Return `products` beside the issues, with the keys of the products that the row belongs to: only their
   * passports wait until the row is corrected. Without `products` the passports of all products wait, since the row
   * might be a part of any.
   */
  map(
    row: JsonObject,
    context: { stream: string; place: Place; tools: MappingTools },
  ): Item[] | { issues: Issue[]; products?: string[] };
}

/** Why each mapping of a stream makes no item of a row that is excluded, one text for each mapping. */
export function whyExcluded(mappings: readonly MappingDefinition[]): string[] {
  return mappings.map(({ path, when, each, module }) => {
    const reasons = [
      ...(when === undefined ? [] : [`when is false: ${when}`]),
      ...(each === undefined ? [] : [`each is an empty list: ${each}`]),
      ...(module === undefined ? [] : ['its module makes no item']),
    ];
    return `${path.slice(path.lastIndexOf('.') + 1)}: ${reasons.join('; or ')}`;
  });
}
