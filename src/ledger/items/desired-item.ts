import type { Item, ItemContent } from '../../domain/item.ts';
import type { NaturalKey } from '../../domain/natural-key.ts';
import type { ItemRow } from './item-row.ts';

/** The item that a record asks for, and the stored item. */
export interface DesiredItem {
  item: Item;
  content: ItemContent;
  naturalKey: NaturalKey | null;
  known: ItemRow | undefined;
}

/** The record that makes an item. */
export interface ItemOwner {
  id: number;
  source: string;
  missingSince: number | null;
}

/** One of many items that the records of a page ask for. */
export type OwnedDesire = DesiredItem & { owner: ItemOwner };
