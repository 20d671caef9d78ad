// Adopts items that the platform had before: binds each item to its entry in the platform's list. domain/adoption.ts
// says what an adopted item is.

import { adoptedBaseline, ambiguousReason, incomparableReason } from '../../domain/adoption.ts';
import { contentOf, type ItemContent } from '../../domain/item.ts';
import type { Compared } from '../../domain/ports/first-contact.ts';
import type { ContactLedger } from '../../domain/ports/ledger/contact-ledger.ts';
import type { ListableKind } from '../../domain/ports/target.ts';
import type { JsonObject } from '../../lib/json.ts';
import { isStuck } from '../deliveries/delivery-states.ts';
import { reasonHas } from '../deliveries/reason-conditions.ts';
import type { Items } from '../items/items.ts';
import type { Release } from '../items/release.ts';
import type { FormId } from '../items/wire-forms.ts';
import type { PassportItems } from '../passports/passport-items.ts';
import { type LedgerContext, parseJson } from '../store/context.ts';
import type { AdoptedBom } from './adopted-bom.ts';
import type { Contact } from './contact.ts';
import type { ListedEntries } from './listed.ts';
import type { Listings } from './listings.ts';
import { keyFieldOf, type ListedEntry, type Match } from './search-listed.ts';

/** Run `endListing` and `compare` as whole transactions. Call the other functions inside a transaction. */
export interface Adoption {
  endListing(end: Parameters<ContactLedger['endListing']>[0]): void;
  compare(kind: ListableKind): Compared;
  /** Adopts an item and binds it to this entry. Returns how many deliveries the adoption has released. */
  adopt(itemId: number, kind: ListableKind, entry: ListedEntry): number;
  /**
   * Adopts an item and binds it to its entry in the stored list. If several entries fit, blocks the item for a person.
   * Returns how many deliveries the adoption has released.
   */
  resolve(itemId: number, kind: ListableKind): number;
}

interface AdoptionParts {
  contact: Pick<Contact, 'release'>;
  listings: Listings;
  listed: ListedEntries;
  items: Items;
  adoptedBom: AdoptedBom;
  passports: PassportItems;
  release: Release;
}

/** How many creates one transaction compares. */
const PAGE = 500;

export function createAdoption(
  { db, profile, forms }: Pick<LedgerContext, 'db' | 'profile' | 'forms'>,
  { contact, listings, listed, items, adoptedBom, passports, release }: AdoptionParts,
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
    bind: db.prepare<[{ id: number; baseline: string; hash: string; remoteId: string; form: FormId }]>(
      `UPDATE items SET acknowledged = 2, baseline = @baseline, baseline_hash = @hash, remote_id = @remoteId, adopted = 1,
         form = @form
       WHERE id = @id`,
    ),
    isBound: db
      .prepare<[string, string], number>(
        "SELECT 1 FROM items WHERE kind = +? AND remote_id = +? AND remote_id <> 'null' LIMIT 1",
      )
      .pluck(),
  };

  function adopt(itemId: number, kind: ListableKind, { remoteId, fields }: ListedEntry): number {
    const item = items.byId(itemId);
    if (item === undefined) return 0;
    // A person may name an entry that cannot be compared. The item's content at the platform is unknown then.
    const known = knownContent(kind, parseJson<JsonObject>(item.desired), fields) ?? NOTHING_KNOWN;
    // The list was read with the names of the present form.
    const form = forms.presentOf(kind);
    sql.bind.run({ id: itemId, baseline: known.payload, hash: known.hash, remoteId, form });
    items.note(itemId, null, 'adopted', { message: `The item was at the platform before, with the id ${remoteId}.` });
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
  function matchOf(kind: ListableKind, payload: JsonObject): Match | Incomparable {
    const match = listed.find(kind, payload);
    if (match.kind !== 'one') return match;
    if (sql.isBound.get(kind, match.entry.remoteId) !== undefined) return { kind: 'none' };
    const isComparable = knownContent(kind, payload, match.entry.fields) !== null;
    return isComparable ? match : { kind: 'incomparable', remoteId: match.entry.remoteId };
  }

  /** Blocks an item for a person, because its entry in the list is not clear. */
  function leaveToPerson(itemId: number, kind: ListableKind, key: string, match: Unclear): void {
    const isIncomparable = match.kind === 'incomparable';
    items.block(itemId, isIncomparable ? incomparableReason(kind, key, match) : ambiguousReason(kind, key, match));
  }

  return {
    adopt,

    resolve(itemId, kind) {
      const item = items.byId(itemId);
      if (item === undefined) return 0;
      const match = matchOf(kind, parseJson<JsonObject>(item.desired));
      if (match.kind === 'one') return adopt(itemId, kind, match.entry);
      if (match.kind !== 'none') leaveToPerson(itemId, kind, item.key, match);
      return 0;
    },

    endListing({ list, count }) {
      listings.ended(list, count);
      if (list === 'publication') return;
      // An item with several matches in the former list may have one match in the new list.
      for (const itemId of sql.ambiguous.all(`${list}.create`)) items.reconcile(itemId, true);
    },

    compare(kind) {
      const { matchedTo, shown, hides } = listings.standing(kind);
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
        const publications = match.kind === 'one' && kind === 'product' ? publicationsNeeded(listings) : null;
        if (publications !== null) {
          listings.matchedTo(kind, lastId);
          return { ...counts, next: publications };
        }
        if (match.kind === 'one') {
          adopt(id, kind, match.entry);
          counts.adopted += 1;
        } else if (match.kind !== 'none') {
          leaveToPerson(id, kind, key, match);
          counts.ambiguous += 1;
        }
        lastId = id;
      }
      listings.matchedTo(kind, lastId);
      if (rows.length === PAGE) return { ...counts, next: 'more' };
      contact.release(kind);
      return { ...counts, next: 'released' };
    },
  };
}

/** An entry that has the item's natural key, and whose fields cannot be compared with the fields of the item. */
interface Incomparable {
  kind: 'incomparable';
  remoteId: string;
}

type Unclear = Incomparable | Extract<Match, { kind: 'unclear' }>;

const NOTHING_KNOWN = contentOf({ payload: {}, refs: [] });

/**
 * The content that the list shows of an item. Null if canonical JSON cannot express a field of the entry: one such
 * entry must not prevent the comparison of all other items.
 */
function knownContent(kind: ListableKind, desired: JsonObject, fields: JsonObject): ItemContent | null {
  try {
    return contentOf({ payload: adoptedBaseline(kind, desired, fields), refs: [] });
  } catch (error) {
    if (error instanceof TypeError || error instanceof RangeError) return null;
    throw error;
  }
}

/** The reason why a product cannot be adopted together with its publication yet, or null. */
function publicationsNeeded(listings: Listings): 'publications' | 'unclear_publications' | null {
  if (!listings.isFreshlyListed('publication')) return 'publications';
  return listings.standing('publication').hides ? 'unclear_publications' : null;
}
