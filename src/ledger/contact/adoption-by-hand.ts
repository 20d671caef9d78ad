// What people decide about adopted items: they accept blocked changes, say whether BOM items are at the platform, and name
// the platform's item for an ambiguous create.

import type { ItemKind } from '../../domain/item.ts';
import type { PartsAnswer } from '../../domain/ports/first-contact.ts';
import type { ContactLedger } from '../../domain/ports/ledger/contact-ledger.ts';
import { isStuck } from '../deliveries/delivery-states.ts';
import { hasReason, reasonHas } from '../deliveries/reason-conditions.ts';
import { noteEvent, openDeliveryOf } from '../items/items.ts';
import { reconcile } from '../items/reconcile.ts';
import { markPassportsDirtyBy } from '../passports/passport-items.ts';
import { column, statement } from '../store/statement.ts';
import type { Reads, Tx } from '../store/tx.ts';
import { acknowledgePart, markPartsKnown, partsOfProduct, unansweredProducts } from './adopted-bom.ts';
import { adoptItem } from './adoption.ts';
import { listedEntry } from './search-listed.ts';

type Choice = Parameters<ContactLedger['adoptAs']>[0];

/** How many changes one transaction accepts. */
const PAGE = 500;

const SQL = {
  named: statement<[{ operation: string; name: string }], { id: number; key: string }>(
    `SELECT i.id, i.key FROM items i
     WHERE ${isStuck('i')} AND i.state = 'blocked' AND i.operation = @operation
       AND ${reasonHas('i', 'ambiguous_key')} AND (i.key = @name OR i.natural_key = @name)
     ORDER BY i.key = @name DESC LIMIT 1`,
  ),
  adopted: statement<[{ source: string; afterId: number; upTo: number }], { id: number; kind: ItemKind }>(
    `SELECT i.id, i.kind FROM items i
     WHERE ${isStuck('i')} AND i.state = 'blocked' AND i.id > @afterId AND i.id <= @upTo AND i.source = @source
       AND i.adopted = 1 AND ${reasonHas('i', 'adopted_change')} ORDER BY i.id LIMIT ${PAGE}`,
  ),
  lastStuck: column<[], number>(`SELECT coalesce(max(i.id), 0) FROM items i WHERE ${isStuck('i')}`),
  unadopt: statement<[number]>('UPDATE items SET adopted = 0 WHERE id = ?'),
};

export function lastStuckItem(reads: Reads): number {
  return SQL.lastStuck(reads).get() ?? 0;
}

/** Accepts one page of a source's blocked changes. `lastId` is null at the end. */
export function acceptAdoptedPage(
  tx: Tx,
  source: string,
  { afterId, upTo }: { afterId: number; upTo: number },
): { kinds: ItemKind[]; lastId: number | null } {
  const rows = SQL.adopted(tx).all({ source, afterId, upTo });
  for (const { id } of rows) {
    SQL.unadopt(tx).run(id);
    noteEvent(tx, id, null, 'accepted', { message: 'A person has accepted the changes of the item.' });
    reconcile(tx, id, true);
  }
  return { kinds: rows.map(({ kind }) => kind), lastId: rows.length < PAGE ? null : (rows.at(-1)?.id ?? null) };
}

export function answerParts(
  tx: Tx,
  { products, present }: { products: readonly string[] | null; present: boolean },
): PartsAnswer {
  const { found, unknown } = unansweredProducts(tx, products);
  let bomItems = 0;
  for (const { id, key } of found) {
    const open = partsOfProduct(tx, key).filter((part) => awaitsAnswer(tx, part));
    markPartsKnown(tx, id);
    for (const part of open) {
      if (present) acknowledgePart(tx, part);
      noteEvent(tx, part, null, 'person', { message: present ? PART_PRESENT : PART_ABSENT });
      reconcile(tx, part, true);
      markPassportsDirtyBy(tx, [{ id: part, kind: 'bom_item', key: '', isNew: false }]);
    }
    bomItems += open.length;
    markPassportsDirtyBy(tx, [{ id, kind: 'product', key, isNew: false }]);
  }
  return { products: found.length, bomItems, unknown };
}

export function adoptAs(tx: Tx, { name, kind, remoteId }: Choice): { key: string } | null {
  const row = SQL.named(tx).get({ operation: `${kind}.create`, name });
  if (row === undefined) return null;
  // A person types an id as text. The list shows whether the platform's ids are numbers or texts.
  const id = JSON.stringify(remoteId);
  const entry = listedEntry(tx, kind, id) ?? listedEntry(tx, kind, otherForm(remoteId));
  adoptItem(tx, row.id, kind, entry ?? { remoteId: id, fields: {} });
  return { key: row.key };
}

function awaitsAnswer(tx: Tx, part: number): boolean {
  const open = openDeliveryOf(tx, part);
  return open !== undefined && hasReason(open, 'parts_unknown');
}

/** The same id as JSON of the other type: the number 7 for the text "7". */
function otherForm(id: string | number): string {
  return typeof id === 'number' ? JSON.stringify(String(id)) : id;
}

const PART_PRESENT = 'A person has reported that the item is at the platform.';
const PART_ABSENT = 'A person has reported that the item is not at the platform.';
