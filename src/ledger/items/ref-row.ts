import type { ItemRef } from '../../domain/item.ts';
import { insertMany } from '../store/insert-many.ts';

/** A ref as a row of the table. */
export function refRow(itemId: number, { role, kind, key, either }: ItemRef): (string | number)[] {
  return [itemId, role, kind, key, either === true ? 1 : 0];
}

export const insertRefs = insertMany({ into: 'refs', columns: ['item_id', 'role', 'kind', 'key', 'either'] });
