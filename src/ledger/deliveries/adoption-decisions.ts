// What people decide about adopted items: they accept blocked changes, say whether BOM items are at the platform, and name
// the platform's item for an ambiguous create.

import type { ItemKind } from '../../domain/item.ts';
import type { ContactLedger, PartsAnswer } from '../../domain/ports/ledger/contact-ledger.ts';
import { listedEntries } from '../contact/entries.ts';
import { hasReason, idsOf, isOpenState, isStuck, itemsById, reasonHas } from '../items/item-row.ts';
import { endAdoptions, noteEvents } from '../items/item-writes.ts';
import { acknowledgeParts, markPartsKnown, partsOfProducts, unansweredProducts } from '../items/parts.ts';
import { reconcileAll } from '../items/reconcile.ts';
import { markPassportsDirtyBy } from '../passports/passport-items.ts';
import { column, type Reads, statement, type Tx } from '../store/tx.ts';
import { adoptItems } from './adoption.ts';

/** How many changes one transaction accepts. */
const ACCEPTED_PAGE = 500;

const SQL = {
  named: statement<[{ operation: string; name: string }], { id: number; key: string }>(
    `SELECT i.id, i.key FROM items i
     WHERE ${isStuck('i')} AND i.state = 'blocked' AND i.operation = @operation
       AND ${reasonHas('i', 'ambiguous_key')} AND (i.key = @name OR i.natural_key = @name)
     ORDER BY i.key = @name DESC, i.id LIMIT 1`,
  ),
  adopted: statement<[{ source: string; afterId: number; upTo: number }], { id: number; kind: ItemKind }>(
    `SELECT i.id, i.kind FROM items i
     WHERE ${isStuck('i')} AND i.state = 'blocked' AND i.id > @afterId AND i.id <= @upTo AND +i.source = @source
       AND i.adopted = 1 AND ${reasonHas('i', 'adopted_change')} ORDER BY i.id LIMIT ${ACCEPTED_PAGE}`,
  ),
  lastStuck: column<[], number>(`SELECT coalesce(max(i.id), 0) FROM items i WHERE ${isStuck('i')}`),
};

type Choice = Parameters<ContactLedger['adoptAs']>[0];

export function lastStuckItem(reads: Reads): number {
  return SQL.lastStuck(reads).get() ?? 0;
}

const ACCEPTED = { message: 'A person has accepted the changes of the item.' };

/** Accepts one page of a source's blocked changes. `lastId` is null at the end. */
export function acceptAdoptedPage(
  tx: Tx,
  source: string,
  { afterId, upTo }: { afterId: number; upTo: number },
): { kinds: ItemKind[]; lastId: number | null } {
  const rows = SQL.adopted(tx).all({ source, afterId, upTo });
  const ids = idsOf(rows);
  endAdoptions(tx, ids);
  noteEvents(
    tx,
    ids.map((id) => ({ id, revision: null, type: 'accepted', detail: ACCEPTED })),
  );
  reconcileAll(tx, ids, true);
  return {
    kinds: rows.map(({ kind }) => kind),
    lastId: rows.length < ACCEPTED_PAGE ? null : (rows.at(-1)?.id ?? null),
  };
}

export function answerParts(
  tx: Tx,
  { products, present }: { products: readonly string[] | null; present: boolean },
): PartsAnswer {
  const { found, unknown } = unansweredProducts(tx, products);
  const message = present ? PART_PRESENT : PART_ABSENT;
  const parts = partsOfProducts(
    tx,
    found.map(({ key }) => key),
  );
  const open = itemsById(tx, idsOf(parts)).filter(
    (item) => isOpenState(item.state) && hasReason(item, 'parts_unknown'),
  );
  const ids = idsOf(open);
  markPartsKnown(tx, idsOf(found));
  if (present) acknowledgeParts(tx, ids);
  noteEvents(
    tx,
    ids.map((id) => ({ id, revision: null, type: 'person', detail: { message } })),
  );
  reconcileAll(tx, ids, true);
  markPassportsDirtyBy(tx, [
    ...ids.map((id) => ({ id, kind: 'bom_item' as const, key: '', isNew: false })),
    ...found.map(({ id, key }) => ({ id, kind: 'product' as const, key, isNew: false })),
  ]);
  return { products: found.length, bomItems: ids.length, unknown };
}

export function adoptAs(tx: Tx, { name, kind, remoteId }: Choice): { key: string } | null {
  const row = SQL.named(tx).get({ operation: `${kind}.create`, name });
  if (row === undefined) return null;
  // A person types an id as text. The list shows whether the platform's ids are numbers or texts.
  const id = JSON.stringify(remoteId);
  const other = otherForm(remoteId);
  const entries = listedEntries(tx, kind, [id, other]);
  const entry = entries.get(id) ?? entries.get(other) ?? { remoteId: id, fields: {} };
  adoptItems(tx, kind, [{ itemId: row.id, entry }]);
  return { key: row.key };
}

/** The same id as JSON of the other type: the number 7 for the text "7". */
function otherForm(id: string | number): string {
  return typeof id === 'number' ? JSON.stringify(String(id)) : id;
}

const PART_PRESENT = 'A person has reported that the item is at the platform.';
const PART_ABSENT = 'A person has reported that the item is not at the platform.';
