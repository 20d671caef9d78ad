// What people read about a record that asks for an item, or for a natural key, which belongs to another one.

import { formatPlace, type Issue, type Place } from '../../domain/issue.ts';
import type { MappedItem } from '../../domain/mapping.ts';
import type { NaturalKey } from '../../domain/natural-key.ts';
import { shellValue } from '../../lib/text/safe-text.ts';

/** Where a record comes from, as messages about its items say it. */
export interface RecordOrigin {
  source: string;
  stream: string;
  /** True if the stream has no key columns in the config. */
  hasNoKey: boolean;
  place: Place;
}

/** The record that already makes an item. */
export interface Owner extends RecordOrigin {
  /** True if the guard holds the last read of its stream, and this read does not have its row. */
  isLost: boolean;
}

/** An item with a natural key. */
export interface Namesake {
  key: string;
  recordId: number;
  isMissing: boolean;
  place: Place;
}

/**
 * What to do about two rows that make an item with different values. Rows of two sources may be the same export, read under
 * a former and a present id of its source.
 */
export function conflictCure(owner: Owner, own: RecordOrigin): string {
  const values = 'Give both rows the same values, remove one of them, or give them different keys.';
  if (owner.source !== own.source) {
    return `${values} If the config has given the source ${owner.source} another id, give it its former id again.`;
  }
  const accept = `accept the export: dpp-sync sync --accept ${shellValue(owner.source)}`;
  if (!owner.hasNoKey || owner.stream !== own.stream) {
    return owner.isLost ? `If the former row is rightly gone, ${accept}` : values;
  }
  const key = 'Name the columns that identify a row in `key` of the stream.';
  return owner.isLost
    ? `${key} Or ${accept}`
    : `${key} If two rows still make the same item then, give both the same values, remove one of them, or give them different keys.`;
}

export function conflictMessage(name: string, { place, source, stream, isLost }: Owner): string {
  const from = `${formatPlace(place)}, stream ${stream} of the source ${source}`;
  return isLost
    ? `The ${name} comes from a row of an earlier export, ${from}. The guard holds the present export, which does not have that row. So the values of the earlier row stay.`
    : `Another row makes the ${name} with other values: ${from}. Only the values of that row are sent.`;
}

/** Reports that another item has the natural key of an item. With `hasNewKey`, the record itself has made that item before. */
export function takenIssue(item: MappedItem, { field, value }: NaturalKey, other: Namesake, hasNewKey: boolean): Issue {
  const { place } = other;
  const cure = hasNewKey
    ? `This record has made the ${item.kind} under that key, and the mapping gives another key now. A ${item.kind} keeps the key under which it was delivered, so put \`key\` of the mapping back.`
    : `Give each ${item.kind} a ${field} of its own.`;
  return {
    code: 'natural_key.taken',
    field,
    value,
    message: `The API knows a ${item.kind} by its ${field}, and ${JSON.stringify(value)} belongs to the ${item.kind} with the key ${JSON.stringify(other.key)} (${formatPlace(place)}) already.`,
    cure,
    other: place,
  };
}
