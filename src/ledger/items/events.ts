// The events in the history of items.

import { visibleText } from '../../lib/text/odd-character.ts';
import { shellValue } from '../../lib/text/shell-word.ts';
import { insertMany } from '../store/many.ts';
import { column } from '../store/statement.ts';
import type { Tx } from '../store/tx.ts';
import type { ItemRow } from './item-row.ts';

/** The type of the event that notes once that an item keeps the natural key of the platform. */
export const KEPT_KEY = 'kept_key';

/** What happened to an item. The revision is null for an event of the item as a whole. */
interface ItemEvent {
  id: number;
  revision: number | null;
  type: string;
  detail: object | null;
}

const haveEvent = column<[string, string], number>(
  'SELECT item_id FROM events WHERE item_id IN (SELECT value FROM json_each(?)) AND type = ?',
);

const insertEvents = insertMany({ into: 'events', columns: ['item_id', 'revision', 'at', 'type', 'detail'] });

/** Adds events to the history of items. */
export function noteEvents(tx: Tx, events: readonly ItemEvent[]): void {
  if (events.length === 0) return;
  const now = tx.clock.now();
  insertEvents(
    tx,
    events.map(({ id, revision, type, detail }) => [id, revision, now, type, detail && JSON.stringify(detail)]),
  );
}

/** An item that keeps a natural key which the source does not give any more. */
export interface KeptKey {
  item: Pick<ItemRow, 'id' | 'kind' | 'key'>;
  naturalKey: string;
}

/** Notes once in the history of items that they keep the natural keys of the platform. */
export function noteKeptKeys(tx: Tx, kept: readonly KeptKey[]): void {
  if (kept.length === 0) return;
  const noted = new Set(haveEvent(tx).all(JSON.stringify(kept.map(({ item }) => item.id)), KEPT_KEY));
  noteEvents(
    tx,
    kept
      .filter(({ item }) => !noted.has(item.id))
      .map(({ item, naturalKey }) => ({
        id: item.id,
        revision: null,
        type: KEPT_KEY,
        detail: keptReason(item, naturalKey),
      })),
  );
}

function keptReason({ kind, key }: KeptKey['item'], naturalKey: string): object {
  return {
    message: `The platform knows this ${kind} as "${visibleText(naturalKey)}", with characters around its key that nobody can see. It keeps this key, because another key may make a second ${kind}. To change it, change it at the platform by hand, and run \`dpp-sync replay --key ${shellValue(key)}\`.`,
  };
}
