import type { ItemKind } from '../item.ts';

/** The times of one page between the source and the ledger, in milliseconds since the epoch. */
export interface PageTimes {
  source: string;
  stream: string;
  run: number;
  /** The number of the page in its stream and run, from 1. */
  page: number;
  /** When the page was read and its job was enqueued. */
  readAt: number;
  mapBeganAt: number;
  stageBeganAt: number;
  storedAt: number;
}

/** Called when a page was stored, with the items that its mapping has made. It must not throw. */
export type OnPageStored = (times: PageTimes, items: Iterable<{ kind: ItemKind; key: string }>) => void;
