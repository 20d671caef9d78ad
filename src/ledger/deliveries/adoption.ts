// Adopts items that the platform had before: binds each item to its entry in the platform's list. domain/adoption.ts
// says what an adopted item is.

import { adoptedBaseline, ambiguousReason, incomparableReason } from '../../domain/adoption.ts';
import type { Reason } from '../../domain/delivery/stored-reason.ts';
import { contentOf, type ItemContent } from '../../domain/item.ts';
import type { Compared, ContactLedger } from '../../domain/ports/ledger/contact-ledger.ts';
import type { ListableKind } from '../../domain/ports/target.ts';
import type { JsonObject } from '../../lib/json.ts';
import { endFirstContact } from '../contact/contact.ts';
import {
  isNothingListed,
  keyFieldOf,
  keysIn,
  type ListedEntry,
  listedEntries,
  type Match,
  removeListed,
  searchListed,
} from '../contact/entries.ts';
import { isFreshlyListed, listStanding, setListEnded, setMatchedTo } from '../contact/listings.ts';
import { type ItemRow, idsOf, isStuck, itemsById, reasonHas } from '../items/item-row.ts';
import { bindItems, noteEvents } from '../items/item-writes.ts';
import { markPartsUnknown, partsOfProducts } from '../items/parts.ts';
import { blockItems, reconcileAll } from '../items/reconcile.ts';
import { releaseWaiting } from '../items/refs.ts';
import { adoptPassports, markPassportsDirtyBy } from '../passports/passport-items.ts';
import { column, parseJson, statement, type Tx } from '../store/tx.ts';

/** How many creates one transaction compares. */
const PAGE = 500;

const SQL = {
  creates: statement<[string, number, number], { id: number; key: string; payload: string }>(
    `SELECT id, key, coalesce(sent, desired) AS payload FROM items
     WHERE state = 'due' AND operation = +? AND id > +? AND uncertain = 0 ORDER BY id LIMIT +?`,
  ),
  ambiguous: column<[string], number>(
    `SELECT i.id FROM items i WHERE ${isStuck('i')} AND i.state = 'blocked' AND i.operation = ?
       AND ${reasonHas('i', 'ambiguous_key')}`,
  ),
  bound: column<[string, string], string>(
    `SELECT i.remote_id FROM json_each(?) k CROSS JOIN items i ON i.kind = +? AND i.remote_id = k.value AND i.remote_id <> 'null'`,
  ),
};

/** An item, and the entry of the platform's list that it is bound to. */
interface Adoption {
  itemId: number;
  entry: ListedEntry;
}

/** Adopts items and binds them to these entries. Returns how many deliveries the adoption of each has released. */
export function adoptItems(tx: Tx, kind: ListableKind, adoptions: readonly Adoption[]): ReadonlyMap<number, number> {
  const entries = new Map(adoptions.map(({ itemId, entry }) => [itemId, entry]));
  const adopted = itemsById(tx, [...entries.keys()]).flatMap((item) => {
    const entry = entries.get(item.id);
    return entry === undefined ? [] : { item, entry };
  });
  // The list was read with the names of the present form.
  const form = tx.forms.presentOf(kind);
  bindItems(
    tx,
    adopted.map(({ item: { id, desired }, entry: { remoteId, fields } }) => {
      // A person may name an entry that cannot be compared. The item's content at the platform is unknown then.
      const known = knownContent(kind, parseJson<JsonObject>(desired), fields) ?? NOTHING_KNOWN;
      return { id, baseline: known.payload, hash: known.hash, remoteId, form, adopted: 1 };
    }),
  );
  noteEvents(
    tx,
    adopted.map(({ item: { id }, entry: { remoteId } }) => {
      const message = `The item was at the platform before, with the id ${remoteId}.`;
      return { id, revision: null, type: 'adopted', detail: { message } };
    }),
  );
  removeListed(
    tx,
    kind,
    adopted.map(({ entry }) => entry),
  );
  reconcileAll(
    tx,
    adopted.map(({ item }) => item.id),
  );
  if (kind === 'product') adoptProducts(tx, adopted);
  markPassportsDirtyBy(
    tx,
    adopted.map(({ item: { id, key } }) => ({ id, kind, key, isNew: true })),
  );
  const released = releaseWaiting(
    tx,
    adopted.map(({ item: { key } }) => ({ kind, key })),
  );
  return new Map(adopted.map(({ item: { id } }, at) => [id, released[at] ?? 0]));
}

/**
 * Adopts items and binds each to its entry in the stored list. If several entries fit, blocks the item for a person.
 * Returns how many deliveries the adoption of each item has released.
 */
export function adoptListed(tx: Tx, kind: ListableKind, itemIds: readonly number[]): ReadonlyMap<number, number> {
  const items = itemsById(tx, itemIds).map(({ id, key, desired }) => {
    return { id, key, payload: parseJson<JsonObject>(desired) };
  });
  const matchOf = matchesOf(
    tx,
    kind,
    items.map(({ payload }) => payload),
  );
  const taken = new Set<string>();
  const adoptions: Adoption[] = [];
  const blocked: { id: number; reason: Reason }[] = [];
  for (const { id, key, payload } of items) {
    const match = matchOf(payload, taken);
    if (match.kind === 'one') {
      adoptions.push({ itemId: id, entry: match.entry });
      taken.add(match.entry.remoteId);
    } else if (match.kind !== 'none') blocked.push({ id, reason: unclearReason(kind, key, match) });
  }
  const released = adoptItems(tx, kind, adoptions);
  blockItems(tx, blocked);
  return released;
}

export function endListing(tx: Tx, { list, count }: Parameters<ContactLedger['endListing']>[0]): void {
  setListEnded(tx, list, count);
  if (list === 'publication') return;
  // An item with several matches in the former list may have one match in the new list.
  reconcileAll(tx, SQL.ambiguous(tx).all(`${list}.create`), true);
}

export function compareListed(tx: Tx, kind: ListableKind): Compared {
  const { matchedTo, shown, hides } = listStanding(tx, kind);
  if (isNothingListed(tx, kind)) {
    endFirstContact(tx, kind);
    return { adopted: 0, ambiguous: 0, next: 'released' };
  }
  if (hides) return { adopted: 0, ambiguous: 0, next: 'unusable' };
  const rows = SQL.creates(tx)
    .all(`${kind}.create`, matchedTo, PAGE)
    .map(({ payload, ...row }) => ({ ...row, payload: parseJson<JsonObject>(payload) }));
  const { adoptions, blocked, lastId, stop } = compareCreates(tx, kind, rows, { shown, lastId: matchedTo });
  adoptItems(tx, kind, adoptions);
  blockItems(tx, blocked);
  const counts = { adopted: adoptions.length, ambiguous: blocked.length };
  if (stop === 'unusable') return { ...counts, next: stop };
  setMatchedTo(tx, kind, lastId);
  if (stop !== null) return { ...counts, next: stop };
  if (rows.length === PAGE) return { ...counts, next: 'more' };
  endFirstContact(tx, kind);
  return { ...counts, next: 'released' };
}

interface ComparedCreate {
  id: number;
  key: string;
  payload: JsonObject;
}

/** Compares creates with the list in their order, up to one that cannot be decided now. */
function compareCreates(
  tx: Tx,
  kind: ListableKind,
  creates: readonly ComparedCreate[],
  { shown, lastId: before }: { shown: readonly string[]; lastId: number },
) {
  const matchOf = matchesOf(
    tx,
    kind,
    creates.map(({ payload }) => payload),
  );
  const publications = kind === 'product' && creates.length > 0 ? publicationsNeeded(tx) : null;
  const adoptions: Adoption[] = [];
  const blocked: { id: number; reason: Reason }[] = [];
  const taken = new Set<string>();
  let lastId = before;
  for (const { id, key, payload } of creates) {
    const field = keyFieldOf(tx.profile, kind, payload);
    if (field !== null && !shown.includes(field)) return { adoptions, blocked, lastId, stop: 'unusable' as const };
    const match = matchOf(payload, taken);
    if (match.kind === 'one') {
      if (publications !== null) return { adoptions, blocked, lastId, stop: publications };
      adoptions.push({ itemId: id, entry: match.entry });
      taken.add(match.entry.remoteId);
    } else if (match.kind !== 'none') blocked.push({ id, reason: unclearReason(kind, key, match) });
    lastId = id;
  }
  return { adoptions, blocked, lastId, stop: null };
}

/**
 * Sets the passports of adopted products to the states of their publications, and marks the BOM items of the products as
 * unanswered.
 */
function adoptProducts(tx: Tx, adopted: readonly { item: ItemRow; entry: ListedEntry }[]): void {
  const isPublic = listedAsPublic(
    tx,
    adopted.map(({ item, entry: { remoteId } }) => ({ remoteId, sku: item.naturalKey })),
  );
  adoptPassports(
    tx,
    adopted.flatMap(({ item, entry }) => {
      const status = isPublic.get(entry.remoteId);
      return status === undefined ? [] : { owner: item, status: status ? 'published' : 'unpublished' };
    }),
  );
  markPartsUnknown(
    tx,
    adopted.map(({ item }) => item.id),
  );
  const parts = partsOfProducts(
    tx,
    adopted.map(({ item }) => item.key),
  );
  reconcileAll(tx, idsOf(parts));
}

/** Whether the passports of products are public, by the product's remote id. A product is left out if no publication of it is listed. */
function listedAsPublic(
  tx: Tx,
  products: readonly { remoteId: string; sku: string | null }[],
): ReadonlyMap<string, boolean> {
  const keysOf = ({ remoteId, sku }: { remoteId: string; sku: string | null }) => ({
    byId: { field: 'product_id', value: String(parseJson<string | number>(remoteId)) },
    bySku: sku === null ? null : { field: 'sku', value: sku },
  });
  const wanted = products.map(keysOf);
  const rowsOf = keysIn(
    tx,
    'publication',
    wanted.flatMap(({ byId, bySku }) => (bySku === null ? byId : [byId, bySku])),
  );
  const named = wanted.map(({ byId, bySku }) => {
    const rows = rowsOf(byId);
    // A publication is found by the product's id. The SKU counts only if no publication has that id.
    return (rows.length > 0 || bySku === null ? rows : rowsOf(bySku)).filter(({ standing }) => standing !== 'other');
  });
  const entries = listedEntries(
    tx,
    'publication',
    named.flat().map(({ remoteId }) => remoteId),
  );
  return new Map(
    products.flatMap(({ remoteId }, at) => {
      const publications = (named[at] ?? []).flatMap((row) => entries.get(row.remoteId) ?? []);
      const isPublic = publications.some(({ fields }) => fields['is_public'] === true);
      return publications.length === 0 ? [] : [[remoteId, isPublic] as const];
    }),
  );
}

/**
 * Looks for the entries of items in the stored list. Returns a function that finds the entry of one of them. An entry whose remote id
 * another item has already does not count.
 */
function matchesOf(tx: Tx, kind: ListableKind, payloads: readonly JsonObject[]) {
  const search = searchListed(tx, kind, payloads);
  const found = payloads.map((payload) => search(payload, NONE_TAKEN));
  const ids = found.flatMap((match) => (match.kind === 'one' ? match.entry.remoteId : []));
  const bound = new Set(ids.length === 0 ? [] : SQL.bound(tx).all(JSON.stringify(ids), kind));
  return (payload: JsonObject, taken: ReadonlySet<string>): Match | Incomparable => {
    const match = search(payload, taken);
    if (match.kind !== 'one') return match;
    if (bound.has(match.entry.remoteId)) return { kind: 'none' };
    const isComparable = knownContent(kind, payload, match.entry.fields) !== null;
    return isComparable ? match : { kind: 'incomparable', remoteId: match.entry.remoteId };
  };
}

const NONE_TAKEN: ReadonlySet<string> = new Set();

/** Why an item is blocked for a person: its entry in the list is not clear. */
function unclearReason(kind: ListableKind, key: string, match: Unclear): Reason {
  return match.kind === 'incomparable' ? incomparableReason(kind, key, match) : ambiguousReason(kind, key, match);
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
function publicationsNeeded(tx: Tx): 'publications' | 'unclear_publications' | null {
  if (!isFreshlyListed(tx, 'publication')) return 'publications';
  return listStanding(tx, 'publication').hides ? 'unclear_publications' : null;
}
