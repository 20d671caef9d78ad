import type { JsonObject } from '../lib/json.ts';
import type { Issue } from './issue.ts';
import type { Item } from './item.ts';
import type { Place } from './record.ts';

/** What a mapping sees of a record. */
export interface MappableRecord {
  source: string;
  stream: string;
  fields: JsonObject;
  place: Place;
}

/** An item together with the mapping that made it, counted from 0 in the order of the config. */
export interface MappedItem extends Item {
  mapping: number;
}

/**
 * What a record comes to. `excluded`: no mapping wanted it. `quarantined`: at least one mapping failed; none of the
 * record's items are used then, and those it gave before count as present.
 */
export type MapResult =
  | { status: 'mapped'; items: MappedItem[] }
  | { status: 'excluded' }
  | { status: 'quarantined'; issues: Issue[] };

/** The compiled mappings of one source. Pure: the same record gives the same result under the same revision. */
export interface Mapper {
  /**
   * Hash over all that decides what a record becomes: expressions, helper version, lookup files, module sources. A new
   * revision makes all stored records be mapped anew.
   */
  revision: string;
  /** Streams that have at least one mapping. */
  streams: readonly string[];
  map(record: MappableRecord): MapResult;
}
