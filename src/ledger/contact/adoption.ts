// Adopts items that the platform had before: binds each item to its entry in the platform's list. domain/adoption.ts
// says what an adopted item is.

import { adoptedBaseline, ambiguousReason } from '../../domain/adoption.ts';
import { type ItemKind, itemHash } from '../../domain/item.ts';
import type { ContactLedger } from '../../domain/ports/contact-ledger.ts';
import type { Compared, PartsAnswer } from '../../domain/ports/first-contact.ts';
import type { ListableKind } from '../../domain/ports/target.ts';
import { canonicalJson } from '../../lib/canonical-json.ts';
import type { JsonObject } from '../../lib/json.ts';
import { isStuck } from '../deliveries/delivery-states.ts';
import { hasReason, reasonHas } from '../deliveries/reason-conditions.ts';
import type { Items } from '../items/items.ts';
import type { Release } from '../items/release.ts';
import type { PassportItems } from '../passports/passport-items.ts';
import { type LedgerContext, parseJson } from '../store/context.ts';
import type { AdoptedBom } from './adopted-bom.ts';
import type { Contact } from './contact.ts';
import { keyFieldOf, type ListedEntries, type ListedEntry, type Match } from './listed.ts';

type Choice = Parameters<ContactLedger['adoptAs']>[0];

/** Each function is the body of one transaction. Only `resolve` is a part of one. */
export interface Adoption {
  endListing(end: Parameters<ContactLedger['endListing']>[0]): void;
  compare(kind: ListableKind): Compared;
  /**
   * Adopts an item as the stored list's entry, or blocks the item for a person where several entries fit. Returns how
   * many deliveries the adoption has released.
   */
  resolve(itemId: number, kind: ListableKind): number;
  accept(source: string, page: { afterId: number; upTo: number }): { kinds: ItemKind[]; lastId: number | null };
  lastStuck(): number;
  answerParts(answer: { products: readonly string[] | null; present: boolean }): PartsAnswer;
  adoptAs(choice: Choice): { key: string } | null;
}

interface AdoptionParts {
  contact: Contact;
  listed: ListedEntries;
  items: Items;
  adoptedBom: AdoptedBom;
  passports: PassportItems;
  release: Release;
}

/** How many creates one transaction compares. */
const PAGE = 500;

export function createAdoption(
  { db, profile }: Pick<LedgerContext, 'db' | 'profile'>,
  { contact, listed, items, adoptedBom, passports, release }: AdoptionParts,
): Adoption {
  const sql = {
    creates: db.prepare<[string, number, number], { id: number; key: string; payload: string }>(
      `SELECT id, key, coalesce(sent, desired) AS payload FROM items
       WHERE state = 'due' AND operation = +? AND id > +? AND uncertain = 0 ORDER BY id LIMIT +?`,
    ),
    ambiguous: db
      .prepare<[string], number>(
        `SELECT i.id FROM items i WHERE ${isStuck('i')} AND i.state = 'blocked' AND i.operation = ?
           AND ${reasonHas('i', 'ambiguous_key')}`,
      )
      .pluck(),
    named: db.prepare<[{ operation: string; name: string }], { id: number; key: string }>(
      `SELECT i.id, i.key FROM items i
       WHERE ${isStuck('i')} AND i.state = 'blocked' AND i.operation = @operation
         AND ${reasonHas('i', 'ambiguous_key')} AND (i.key = @name OR i.natural_key = @name)
       ORDER BY i.key = @name DESC LIMIT 1`,
    ),
    bind: db.prepare<[{ id: number; baseline: string; hash: string; remoteId: string }]>(
      `UPDATE items SET acknowledged = 2, baseline = @baseline, baseline_hash = @hash, remote_id = @remoteId, adopted = 1
       WHERE id = @id`,
    ),
    isBound: db
      .prepare<[string, string], number>(
        "SELECT 1 FROM items WHERE kind = +? AND remote_id = +? AND remote_id <> 'null' LIMIT 1",
      )
      .pluck(),
    adopted: db.prepare<[{ source: string; afterId: number; upTo: number }], { id: number; kind: ItemKind }>(
      `SELECT i.id, i.kind FROM items i
       WHERE ${isStuck('i')} AND i.state = 'blocked' AND i.id > @afterId AND i.id <= @upTo AND i.source = @source
         AND i.adopted = 1 AND ${reasonHas('i', 'adopted_change')} ORDER BY i.id LIMIT ${PAGE}`,
    ),
    lastStuck: db.prepare<[], number>(`SELECT coalesce(max(i.id), 0) FROM items i WHERE ${isStuck('i')}`).pluck(),
    unadopt: db.prepare<[number]>('UPDATE items SET adopted = 0 WHERE id = ?'),
  };

  function adopt(itemId: number, kind: ListableKind, { remoteId, fields }: ListedEntry): number {
    const item = items.byId(itemId);
    if (item === undefined) return 0;
    const baseline = adoptedBaseline(kind, parseJson<JsonObject>(item.desired), fields);
    const hash = itemHash({ payload: baseline, refs: [] });
    sql.bind.run({ id: itemId, baseline: canonicalJson(baseline), hash, remoteId });
    items.note(itemId, null, 'adopted', { message: `It was at the platform before, as ${remoteId}.` });
    listed.remove(kind, remoteId);
    items.reconcile(itemId);
    if (kind === 'product') adoptProduct(itemId, item.key, remoteId);
    passports.markDirtyBy([{ id: itemId, kind, key: item.key, isNew: true }]);
    return release.release(kind, item.key);
  }

  /**
   * Sets the passport of an adopted product to the state of its publication, and marks the product's BOM items as
   * unanswered.
   */
  function adoptProduct(itemId: number, key: string, remoteId: string): void {
    const item = items.byId(itemId);
    if (item === undefined) return;
    const isPublic = listed.isPublic({ remoteId, sku: item.naturalKey });
    if (isPublic !== null) passports.adopt(item, isPublic ? 'published' : 'unpublished');
    adoptedBom.productAdopted(itemId);
    for (const part of adoptedBom.of(key)) items.reconcile(part);
  }

  /** Finds an item's entry in the stored list. An entry whose remote id another item has already does not count. */
  function matchOf(kind: ListableKind, payload: JsonObject): Match {
    const match = listed.find(kind, payload);
    const isTaken = match.kind === 'one' && sql.isBound.get(kind, match.entry.remoteId) !== undefined;
    return isTaken ? { kind: 'none' } : match;
  }

  /** The reason why a product cannot be adopted together with its publication yet, or null. */
  function publicationsNeeded(): 'publications' | 'unclear_publications' | null {
    if (!contact.isFreshlyListed('publication')) return 'publications';
    return contact.standing('publication').hides ? 'unclear_publications' : null;
  }

  function awaitsAnswer(part: number): boolean {
    const open = items.openDelivery(part);
    return open !== undefined && hasReason(open, 'parts_unknown');
  }

  return {
    resolve(itemId, kind) {
      const item = items.byId(itemId);
      if (item === undefined) return 0;
      const match = matchOf(kind, parseJson<JsonObject>(item.desired));
      if (match.kind === 'one') return adopt(itemId, kind, match.entry);
      if (match.kind === 'unclear') items.block(itemId, ambiguousReason(kind, item.key, match));
      return 0;
    },

    endListing({ list, count }) {
      contact.ended(list, count);
      if (list === 'publication') return;
      // An item with several matches in the former list may have one match in the new list.
      for (const itemId of sql.ambiguous.all(`${list}.create`)) items.reconcile(itemId, true);
    },

    compare(kind) {
      const { matchedTo, shown, hides } = contact.standing(kind);
      const counts = { adopted: 0, ambiguous: 0 };
      if (listed.isEmpty(kind)) {
        contact.release(kind);
        return { ...counts, next: 'released' };
      }
      if (hides) return { ...counts, next: 'unusable' };
      const rows = sql.creates.all(`${kind}.create`, matchedTo, PAGE);
      let lastId = matchedTo;
      for (const { id, key, payload: text } of rows) {
        const payload = parseJson<JsonObject>(text);
        const field = keyFieldOf(profile, kind, payload);
        if (field !== null && !shown.includes(field)) return { ...counts, next: 'unusable' };
        const match = matchOf(kind, payload);
        const publications = match.kind === 'one' && kind === 'product' ? publicationsNeeded() : null;
        if (publications !== null) {
          contact.matchedTo(kind, lastId);
          return { ...counts, next: publications };
        }
        if (match.kind === 'one') {
          adopt(id, kind, match.entry);
          counts.adopted += 1;
        } else if (match.kind === 'unclear') {
          items.block(id, ambiguousReason(kind, key, match));
          counts.ambiguous += 1;
        }
        lastId = id;
      }
      contact.matchedTo(kind, lastId);
      if (rows.length === PAGE) return { ...counts, next: 'more' };
      contact.release(kind);
      return { ...counts, next: 'released' };
    },

    lastStuck: () => sql.lastStuck.get() ?? 0,

    accept(source, { afterId, upTo }) {
      const rows = sql.adopted.all({ source, afterId, upTo });
      for (const { id } of rows) {
        sql.unadopt.run(id);
        items.note(id, null, 'accepted', { message: 'A person has accepted its changes.' });
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
      adopt(row.id, kind, entry ?? { remoteId: id, fields: {} });
      return { key: row.key };
    },
  };
}

/** The same id as JSON of the other type: 7 for "7". */
function otherForm(id: string | number): string {
  return typeof id === 'number' ? JSON.stringify(String(id)) : id;
}

const PART_PRESENT = 'A person has said that it is at the platform.';
const PART_ABSENT = 'A person has said that it is not at the platform.';
