// Items at the platform that their records no longer make. They count as present until the guard has decided about
// them.

import { statement } from '../store/statement.ts';
import type { Tx } from '../store/tx.ts';
import type { ItemRow } from './item-row.ts';

const SQL = {
  disown: statement<[number]>('UPDATE items SET record_id = NULL WHERE id = ?'),
  add: statement<[number, number]>(
    'INSERT INTO released (item_id, stream_id) SELECT +?, stream_id FROM records WHERE id = +?',
  ),
  remove: statement<[number]>('DELETE FROM released WHERE item_id = ?'),
};

/** Takes an item from the record that made it last. */
export function addReleased(
  tx: Tx,
  { id, recordId, missingSince }: Pick<ItemRow, 'id' | 'missingSince'> & { recordId: number },
): void {
  SQL.disown(tx).run(id);
  // The item of a missing record is missing already.
  if (missingSince === null) SQL.add(tx).run(id, recordId);
}

/** Call it when an item that had no record is made by a record again. */
export function removeReleased(tx: Tx, itemId: number): void {
  SQL.remove(tx).run(itemId);
}
