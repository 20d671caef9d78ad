import type { Sqlite } from '../store/database.ts';
import type { ItemRow } from './item-row.ts';

/**
 * Items at the platform that their records no longer make. They count as present until the guard has decided about
 * them. Call each function inside a transaction.
 */
export interface Released {
  /** Takes an item from the record that made it last. */
  add(item: Pick<ItemRow, 'id' | 'missingSince'> & { recordId: number }): void;
  /** Call it when an item that had no record is made by a record again. */
  remove(itemId: number): void;
}

export function createReleased(db: Sqlite): Released {
  const sql = {
    disown: db.prepare<[number]>('UPDATE items SET record_id = NULL WHERE id = ?'),
    add: db.prepare<[number, number]>(
      'INSERT INTO released (item_id, stream_id) SELECT +?, stream_id FROM records WHERE id = +?',
    ),
    remove: db.prepare<[number]>('DELETE FROM released WHERE item_id = ?'),
  };
  return {
    add({ id, recordId, missingSince }) {
      sql.disown.run(id);
      // The item of a missing record is missing already.
      if (missingSince === null) sql.add.run(id, recordId);
    },
    remove: (itemId) => void sql.remove.run(itemId),
  };
}
