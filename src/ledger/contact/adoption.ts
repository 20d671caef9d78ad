// Adopts items that the platform had before: binds each item to its entry in the platform's list. domain/adoption.ts
// says what an adopted item is.

import { adoptedBaseline, ambiguousReason, incomparableReason } from '../../domain/adoption.ts';
import { contentOf, type ItemContent, type ItemKind } from '../../domain/item.ts';
import type { Compared, PartsAnswer } from '../../domain/ports/first-contact.ts';
import type { ContactLedger } from '../../domain/ports/ledger/contact-ledger.ts';
import type { ListableKind } from '../../domain/ports/target.ts';
import type { JsonObject } from '../../lib/json.ts';
import { hasReason, isStuck, itemById, openDeliveryOf, reasonHas } from '../items/item-row.ts';
import { bindItems, endAdoptions } from '../items/item-writes.ts';
import { blockItems, reconcile, reconcileAll } from '../items/reconcile.ts';
import { releaseWaitingFor } from '../items/refs.ts';
import { noteEvent, noteEvents } from '../items/revisions.ts';
import { adoptPassport, markPassportsDirtyBy } from '../passports/passport-items.ts';
import { column, statement } from '../store/statement.ts';
import { parseJson, type Reads, type Tx } from '../store/tx.ts';
import {
  acknowledgeParts,
  endFirstContact,
  markPartsKnown,
  markPartsUnknown,
  partsOfProduct,
  unansweredProducts,
} from './contact.ts';
import {
  findListed,
  isFreshlyListed,
  isListedAsPublic,
  isNothingListed,
  keyFieldOf,
  type ListedEntry,
  listedEntry,
  listStanding,
  type Match,
  removeListed,
  setListEnded,
  setMatchedTo,
} from './listings.ts';

/** How many creates one transaction compares. */
const PAGE = 500;

/** How many changes one transaction accepts. */
const ACCEPTED_PAGE = 500;

const SQL = {
  creates: statement<[string, number, number], { id: number; key: string; payload: string }>(
    `SELECT id, key, coalesce(sent, desired) AS payload FROM items
     WHERE state = 'due' AND operation = +? AND id > +? AND uncertain = 0 ORDER BY id LIMIT +?`,
  ),
  ambiguous: column<[string], number>(
    `SELECT i.id FROM items i WHERE ${isStuck('i')} AND i.state = 'blocked' AND i.operation = ?
       AND ${reasonHas('i', 'ambiguous_key')}`,
  ),
  isBound: column<[string, string], number>(
    "SELECT 1 FROM items WHERE kind = +? AND remote_id = +? AND remote_id <> 'null' LIMIT 1",
  ),
  named: statement<[{ operation: string; name: string }], { id: number; key: string }>(
    `SELECT i.id, i.key FROM items i
     WHERE ${isStuck('i')} AND i.state = 'blocked' AND i.operation = @operation
       AND ${reasonHas('i', 'ambiguous_key')} AND (i.key = @name OR i.natural_key = @name)
     ORDER BY i.key = @name DESC, i.id LIMIT 1`,
  ),
  adopted: statement<[{ source: string; afterId: number; upTo: number }], { id: number; kind: ItemKind }>(
    `SELECT i.id, i.kind FROM items i
     WHERE ${isStuck('i')} AND i.state = 'blocked' AND i.id > @afterId AND i.id <= @upTo AND i.source = @source
       AND i.adopted = 1 AND ${reasonHas('i', 'adopted_change')} ORDER BY i.id LIMIT ${ACCEPTED_PAGE}`,
  ),
  lastStuck: column<[], number>(`SELECT coalesce(max(i.id), 0) FROM items i WHERE ${isStuck('i')}`),
};

/** Adopts an item and binds it to this entry. Returns how many deliveries the adoption has released. */
function adoptItem(tx: Tx, itemId: number, kind: ListableKind, { remoteId, fields }: ListedEntry): number {
  const item = itemById(tx, itemId);
  if (item === undefined) return 0;
  // A person may name an entry that cannot be compared. The item's content at the platform is unknown then.
  const known = knownContent(kind, parseJson<JsonObject>(item.desired), fields) ?? NOTHING_KNOWN;
  // The list was read with the names of the present form.
  const form = tx.forms.presentOf(kind);
  bindItems(tx, [{ id: itemId, baseline: known.payload, hash: known.hash, remoteId, form, adopted: 1 }]);
  noteEvent(tx, itemId, null, 'adopted', { message: `The item was at the platform before, with the id ${remoteId}.` });
  removeListed(tx, kind, remoteId);
  reconcile(tx, itemId);
  if (kind === 'product') adoptProduct(tx, itemId, item.key, remoteId);
  markPassportsDirtyBy(tx, [{ id: itemId, kind, key: item.key, isNew: true }]);
  return releaseWaitingFor(tx, kind, item.key);
}

/**
 * Adopts an item and binds it to its entry in the stored list. If several entries fit, blocks the item for a person.
 * Returns how many deliveries the adoption has released.
 */
export function adoptListed(tx: Tx, itemId: number, kind: ListableKind): number {
  const item = itemById(tx, itemId);
  if (item === undefined) return 0;
  const match = matchOf(tx, kind, parseJson<JsonObject>(item.desired));
  if (match.kind === 'one') return adoptItem(tx, itemId, kind, match.entry);
  if (match.kind !== 'none') leaveToPerson(tx, itemId, kind, item.key, match);
  return 0;
}

export function endListing(tx: Tx, { list, count }: Parameters<ContactLedger['endListing']>[0]): void {
  setListEnded(tx, list, count);
  if (list === 'publication') return;
  // An item with several matches in the former list may have one match in the new list.
  reconcileAll(tx, SQL.ambiguous(tx).all(`${list}.create`), true);
}

export function compareListed(tx: Tx, kind: ListableKind): Compared {
  const { matchedTo, shown, hides } = listStanding(tx, kind);
  const counts = { adopted: 0, ambiguous: 0 };
  if (isNothingListed(tx, kind)) {
    endFirstContact(tx, kind);
    return { ...counts, next: 'released' };
  }
  if (hides) return { ...counts, next: 'unusable' };
  const rows = SQL.creates(tx).all(`${kind}.create`, matchedTo, PAGE);
  let lastId = matchedTo;
  for (const { id, key, payload: text } of rows) {
    const payload = parseJson<JsonObject>(text);
    const field = keyFieldOf(tx.profile, kind, payload);
    if (field !== null && !shown.includes(field)) return { ...counts, next: 'unusable' };
    const match = matchOf(tx, kind, payload);
    const publications = match.kind === 'one' && kind === 'product' ? publicationsNeeded(tx) : null;
    if (publications !== null) {
      setMatchedTo(tx, kind, lastId);
      return { ...counts, next: publications };
    }
    if (match.kind === 'one') {
      adoptItem(tx, id, kind, match.entry);
      counts.adopted += 1;
    } else if (match.kind !== 'none') {
      leaveToPerson(tx, id, kind, key, match);
      counts.ambiguous += 1;
    }
    lastId = id;
  }
  setMatchedTo(tx, kind, lastId);
  if (rows.length === PAGE) return { ...counts, next: 'more' };
  endFirstContact(tx, kind);
  return { ...counts, next: 'released' };
}

/**
 * Sets the passport of an adopted product to the state of its publication, and marks the product's BOM items as
 * unanswered.
 */
function adoptProduct(tx: Tx, itemId: number, key: string, remoteId: string): void {
  const item = itemById(tx, itemId);
  if (item === undefined) return;
  const isPublic = isListedAsPublic(tx, { remoteId, sku: item.naturalKey });
  if (isPublic !== null) adoptPassport(tx, item, isPublic ? 'published' : 'unpublished');
  markPartsUnknown(tx, itemId);
  reconcileAll(tx, partsOfProduct(tx, key));
}

/** Finds an item's entry in the stored list. An entry whose remote id another item has already does not count. */
function matchOf(tx: Tx, kind: ListableKind, payload: JsonObject): Match | Incomparable {
  const match = findListed(tx, kind, payload);
  if (match.kind !== 'one') return match;
  if (SQL.isBound(tx).get(kind, match.entry.remoteId) !== undefined) return { kind: 'none' };
  const isComparable = knownContent(kind, payload, match.entry.fields) !== null;
  return isComparable ? match : { kind: 'incomparable', remoteId: match.entry.remoteId };
}

/** Blocks an item for a person, because its entry in the list is not clear. */
function leaveToPerson(tx: Tx, itemId: number, kind: ListableKind, key: string, match: Unclear): void {
  const isIncomparable = match.kind === 'incomparable';
  const reason = isIncomparable ? incomparableReason(kind, key, match) : ambiguousReason(kind, key, match);
  blockItems(tx, [{ id: itemId, reason }]);
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

// What people decide about adopted items: they accept blocked changes, say whether BOM items are at the platform, and name
// the platform's item for an ambiguous create.

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
  const ids = rows.map(({ id }) => id);
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
  let bomItems = 0;
  for (const { id, key } of found) {
    const open = partsOfProduct(tx, key).filter((part) => awaitsAnswer(tx, part));
    markPartsKnown(tx, id);
    if (present) acknowledgeParts(tx, open);
    noteEvents(
      tx,
      open.map((part) => ({ id: part, revision: null, type: 'person', detail: { message } })),
    );
    reconcileAll(tx, open, true);
    bomItems += open.length;
    markPassportsDirtyBy(tx, [
      ...open.map((part) => ({ id: part, kind: 'bom_item' as const, key: '', isNew: false })),
      { id, kind: 'product', key, isNew: false },
    ]);
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
