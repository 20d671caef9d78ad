// What people decide about adopted items: they accept blocked changes, say whether BOM items are at the platform, and name
// the platform's item for an ambiguous create.

import type { ItemKind } from '../../domain/item.ts';
import type { PartsAnswer } from '../../domain/ports/first-contact.ts';
import type { ContactLedger } from '../../domain/ports/ledger/contact-ledger.ts';
import { isStuck } from '../deliveries/delivery-states.ts';
import { hasReason, reasonHas } from '../deliveries/reason-conditions.ts';
import type { Items } from '../items/items.ts';
import type { PassportItems } from '../passports/passport-items.ts';
import type { LedgerContext } from '../store/context.ts';
import type { AdoptedBom } from './adopted-bom.ts';
import type { Adoption } from './adoption.ts';
import type { ListedEntries } from './listed.ts';

type Choice = Parameters<ContactLedger['adoptAs']>[0];

/** Run each function as one transaction. */
export interface AdoptionByHand {
  /** Accepts one page of a source's blocked changes. `lastId` is null at the end. */
  accept(source: string, page: { afterId: number; upTo: number }): { kinds: ItemKind[]; lastId: number | null };
  lastStuck(): number;
  answerParts(answer: { products: readonly string[] | null; present: boolean }): PartsAnswer;
  adoptAs(choice: Choice): { key: string } | null;
}

interface AdoptionByHandParts {
  adoption: Pick<Adoption, 'adopt'>;
  listed: Pick<ListedEntries, 'entry'>;
  items: Items;
  adoptedBom: AdoptedBom;
  passports: Pick<PassportItems, 'markDirtyBy'>;
}

/** How many changes one transaction accepts. */
const PAGE = 500;

export function createAdoptionByHand(
  db: LedgerContext['db'],
  { adoption, listed, items, adoptedBom, passports }: AdoptionByHandParts,
): AdoptionByHand {
  const sql = {
    named: db.prepare<[{ operation: string; name: string }], { id: number; key: string }>(
      `SELECT i.id, i.key FROM items i
       WHERE ${isStuck('i')} AND i.state = 'blocked' AND i.operation = @operation
         AND ${reasonHas('i', 'ambiguous_key')} AND (i.key = @name OR i.natural_key = @name)
       ORDER BY i.key = @name DESC LIMIT 1`,
    ),
    adopted: db.prepare<[{ source: string; afterId: number; upTo: number }], { id: number; kind: ItemKind }>(
      `SELECT i.id, i.kind FROM items i
       WHERE ${isStuck('i')} AND i.state = 'blocked' AND i.id > @afterId AND i.id <= @upTo AND i.source = @source
         AND i.adopted = 1 AND ${reasonHas('i', 'adopted_change')} ORDER BY i.id LIMIT ${PAGE}`,
    ),
    lastStuck: db.prepare<[], number>(`SELECT coalesce(max(i.id), 0) FROM items i WHERE ${isStuck('i')}`).pluck(),
    unadopt: db.prepare<[number]>('UPDATE items SET adopted = 0 WHERE id = ?'),
  };

  function awaitsAnswer(part: number): boolean {
    const open = items.openDelivery(part);
    return open !== undefined && hasReason(open, 'parts_unknown');
  }

  return {
    lastStuck: () => sql.lastStuck.get() ?? 0,

    accept(source, { afterId, upTo }) {
      const rows = sql.adopted.all({ source, afterId, upTo });
      for (const { id } of rows) {
        sql.unadopt.run(id);
        items.note(id, null, 'accepted', { message: 'A person has accepted the changes of the item.' });
        items.reconcile(id, true);
      }
      return { kinds: rows.map(({ kind }) => kind), lastId: rows.length < PAGE ? null : (rows.at(-1)?.id ?? null) };
    },

    answerParts({ products, present }) {
      const { found, unknown } = adoptedBom.unanswered(products);
      let bomItems = 0;
      for (const { id, key } of found) {
        const open = adoptedBom.of(key).filter(awaitsAnswer);
        adoptedBom.answered(id);
        for (const part of open) {
          if (present) adoptedBom.acknowledge(part);
          items.note(part, null, 'person', { message: present ? PART_PRESENT : PART_ABSENT });
          items.reconcile(part, true);
          passports.markDirtyBy([{ id: part, kind: 'bom_item', key: '', isNew: false }]);
        }
        bomItems += open.length;
        passports.markDirtyBy([{ id, kind: 'product', key, isNew: false }]);
      }
      return { products: found.length, bomItems, unknown };
    },

    adoptAs({ name, kind, remoteId }) {
      const row = sql.named.get({ operation: `${kind}.create`, name });
      if (row === undefined) return null;
      // A person types an id as text. The list shows whether the platform's ids are numbers or texts.
      const id = JSON.stringify(remoteId);
      const entry = listed.entry(kind, id) ?? listed.entry(kind, otherForm(remoteId));
      adoption.adopt(row.id, kind, entry ?? { remoteId: id, fields: {} });
      return { key: row.key };
    },
  };
}

/** The same id as JSON of the other type: the number 7 for the text "7". */
function otherForm(id: string | number): string {
  return typeof id === 'number' ? JSON.stringify(String(id)) : id;
}

const PART_PRESENT = 'A person has reported that the item is at the platform.';
const PART_ABSENT = 'A person has reported that the item is not at the platform.';
