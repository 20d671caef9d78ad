// First contact: suspends the creates of a kind until the platform's list of that kind was read and compared.
//
// The table `contacts` has one row for each source and kind, which says whether that source may create. No row is written
// for a single item: a batch counts its creates at its end, and a claim reads one row.

import type { Operation } from '../../domain/delivery/operation.ts';
import type { Reason } from '../../domain/delivery/reason.ts';
import type { ContactEntry, ContactStep, PartsAnswer } from '../../domain/ports/first-contact.ts';
import type { ListableKind } from '../../domain/ports/target.ts';
import type { JsonObject } from '../../lib/json.ts';
import { acknowledgeDesired, setPartsUnknown } from '../items/item-writes.ts';
import { unprovenKinds } from '../items/restored.ts';
import { readMeta, writeMeta } from '../store/meta.ts';
import { column, perDatabase, statement } from '../store/statement.ts';
import { parseJson, type Reads, type Tx } from '../store/tx.ts';
import {
  compareListFrom,
  compareStoredList,
  contactStepOf,
  isListedOrSimilar,
  isListNeeded,
  isNothingListed,
  listReadAt,
  neededLists,
  needList,
  needListAgain,
  releaseAllLists,
  releaseList,
  storeEntries,
} from './listings.ts';

const LISTABLE: readonly ListableKind[] = ['product', 'material'];
/**
 * A source that was in first contact may stage this many creates of a kind in one run before the list is read again.
 */
const CREATES_MAX = 20;
/** How many creates a batch has staged, by source and kind. */
export type CreateCounts = Map<string, { source: string; kind: ListableKind; count: number }>;

const SQL = {
  contacted: statement<[string]>('UPDATE contacts SET contacted = 1, creates = 0 WHERE kind = ?'),
  count: statement<[string, string, number], { contacted: 0 | 1; creates: number }>(
    `INSERT INTO contacts (source, kind, creates) VALUES (?, ?, ?)
     ON CONFLICT (source, kind) DO UPDATE SET creates = contacts.creates + excluded.creates RETURNING contacted, creates`,
  ),
  takeAsContacted: statement<[string, string]>('UPDATE contacts SET contacted = 1 WHERE source = ? AND kind = ?'),
  anyContacted: column<[string], number>('SELECT 1 FROM contacts WHERE kind = ? AND contacted = 1 LIMIT 1'),
  resetCreates: statement<[string]>('UPDATE contacts SET creates = 0 WHERE source = ?'),
  allContacted: statement('UPDATE contacts SET contacted = 1'),
  runBeganAt: column<[string], number>(
    "SELECT started_at FROM runs WHERE source = ? AND cause <> 'upload' ORDER BY id DESC LIMIT 1",
  ),
  // BOM items of adopted products, and whether their rows came with the first complete read of their source.
  ofUnknown: statement<[string], { id: number; isFirst: 0 | 1 }>(
    `SELECT i.id, i.record_id IS NULL OR b.value IS NULL OR i.record_id <= CAST(b.value AS INTEGER) AS isFirst
     FROM json_each(?) listed CROSS JOIN refs f ON f.item_id = listed.value AND f.role = 'product'
     JOIN items p ON p.kind = f.kind AND p.key = f.key AND p.parts_unknown = 1 JOIN items i ON i.id = f.item_id
     LEFT JOIN meta b ON b.name = 'first_read:' || i.source`,
  ),
  any: column('SELECT 1 FROM items WHERE parts_unknown = 1 LIMIT 1'),
  parts: statement<[string], { id: number }>(
    `SELECT i.id FROM json_each(?) k CROSS JOIN refs f ON f.kind = 'product' AND f.key = k.value AND f.role = 'product'
     CROSS JOIN items i ON i.id = f.item_id WHERE i.kind = 'bom_item' ORDER BY i.id`,
  ),
  unanswered: statement<[], { id: number; key: string; naturalKey: string | null }>(
    'SELECT id, key, natural_key AS naturalKey FROM items WHERE parts_unknown = 1 ORDER BY key',
  ),
  sourceOf: column<[number], string>('SELECT source FROM runs WHERE id = ?'),
  lastRecord: column<[], number>('SELECT coalesce(max(id), 0) FROM records'),
};

/** The next step of each kind; empty if no creates are suspended. */
export function contactSteps(reads: Reads): ContactStep[] {
  return comparesLists(reads) ? neededLists(reads).map((kind) => contactStepOf(reads, kind)) : [];
}

/** The create operations that must not be sent now. */
export function suspendedCreates(reads: Reads): Operation[] {
  return comparesLists(reads) ? neededLists(reads).map((kind): Operation => `${kind}.create`) : [];
}

/**
 * Call it after creates were staged. If the stored list has an entry that may be one of these items, all creates of
 * the kind are compared before they are sent.
 */
export function noticeCreates(
  tx: Tx,
  kind: ListableKind,
  creates: readonly { itemId: number; desired: string }[],
): void {
  if (!comparesLists(tx) || isNothingListed(tx, kind)) return;
  if (!isListNeeded(tx, kind)) {
    const payloads = creates.map(({ desired }) => parseJson<JsonObject>(desired));
    if (!isListedOrSimilar(tx, kind, payloads)) return;
    needList(tx, kind);
  }
  // A new create may begin for an item that was compared before, so the comparison goes back to the lowest id.
  compareListFrom(tx, kind, Math.min(...creates.map(({ itemId }) => itemId)));
}

/** Call it at the end of a batch with the creates that the batch has staged, by source and kind. */
export function countCreates(tx: Tx, counts: CreateCounts): void {
  const unproven = unprovenKinds(tx);
  const lists = comparesLists(tx);
  for (const { source, kind, count } of counts.values()) {
    // A restored ledger looks up each create of an unproven kind before it is sent, so the list is not needed here.
    if (unproven.includes(kind)) continue;
    const standing = SQL.count(tx).get(source, kind, count) ?? { contacted: 0, creates: count };
    if (lists && asksForList(tx, source, kind, standing)) needList(tx, kind);
    else if (standing.contacted === 0) SQL.takeAsContacted(tx).run(source, kind);
  }
}

export function resetCreateCounts(tx: Tx, source: string): void {
  SQL.resetCreates(tx).run(source);
}

/**
 * Call it when a create has met an item of the platform, with the entries that its list shows. `isRefused` is true if
 * the platform has refused the create for that reason. Returns true if the create will be compared with these entries
 * before it is sent again.
 */
export function noteDuplicate(
  tx: Tx,
  { kind, found, isRefused }: { kind: ListableKind; found: readonly ContactEntry[]; isRefused: boolean },
): boolean {
  if (isRefused) writeMeta(tx, duplicatesFact(kind), '1');
  storeEntries(tx, kind, found);
  const lists = comparesLists(tx);
  if (lists) compareStoredList(tx, kind);
  return lists;
}

/** Requests that the list is read again before creates of this kind are sent. */
export function listAgain(tx: Tx, kind: ListableKind): void {
  if (comparesLists(tx)) needListAgain(tx, kind);
}

/** Lifts the suspension of a kind for every source, after all its staged creates were compared. */
export function endFirstContact(tx: Tx, kind: ListableKind): void {
  releaseList(tx, kind);
  SQL.contacted(tx).run(kind);
}

/** Applies the config's rules of first contact. Call it once when the ledger is opened. */
export function startContact(tx: Tx): void {
  if (comparesLists(tx)) return;
  SQL.allContacted(tx).run();
  releaseAllLists(tx);
}

/** True if creates are compared with the platform's lists before they are sent. */
function comparesLists({ contactRules }: Reads): boolean {
  return contactRules.firstContact === 'list';
}

function refusesDuplicates(tx: Tx, kind: ListableKind): boolean {
  return tx.profile.duplicateKeys === 'refused' || readMeta(tx, duplicatesFact(kind)) !== null;
}

/** True if these creates of a source have to wait for the list. */
function asksForList(
  tx: Tx,
  source: string,
  kind: ListableKind,
  { contacted, creates }: { contacted: 0 | 1; creates: number },
) {
  // A platform that refuses duplicates needs its list to be read only once, at the first contact.
  if (refusesDuplicates(tx, kind)) return SQL.anyContacted(tx).get(kind) === undefined;
  if (contacted === 0) return true;
  const readAt = listReadAt(tx, kind);
  return creates > CREATES_MAX && (readAt === null || readAt < (SQL.runBeganAt(tx).get(source) ?? 0));
}

const CREATED_BY: ReadonlyMap<Operation, ListableKind> = new Map(
  LISTABLE.map((kind) => [`${kind}.create` satisfies Operation, kind]),
);

/** The kind of item that a create makes, if that kind can be listed; undefined for all other operations. */
export function kindCreatedBy(operation: Operation): ListableKind | undefined {
  return CREATED_BY.get(operation);
}

/** Adds creates to the counts of a batch. */
export function addCreates(counts: CreateCounts, source: string, kind: ListableKind, count = 1): void {
  const name = `${kind} ${source}`;
  const known = counts.get(name) ?? { source, kind, count: 0 };
  known.count += count;
  counts.set(name, known);
}

const duplicatesFact = (kind: ListableKind): string => `refuses_duplicates:${kind}`;

// BOM items of adopted products. The API cannot list BOM items, so it is unknown whether the platform already has the
// BOM items of an adopted product. Creating them on a guess could double each of them.

/**
 * What to do with a BOM item that the API has not acknowledged: create it, ask a person first, or count it as present.
 */
type PartStanding = 'create' | 'ask' | 'present';

/** Whether a product was adopted. If none was, no BOM item has to be looked up, and each page asks. */
const adopted = perDatabase((of) => ({ any: SQL.any(of).get() !== undefined }));

/** True if there is an adopted product for which no person has said yet whether its BOM items are at the platform. */
export function mayAskAboutParts(tx: Tx): boolean {
  return adopted(tx).any;
}

/** The standing of BOM items that are not simply created, by id. */
export function partStandings(tx: Tx, itemIds: readonly number[]): ReadonlyMap<number, PartStanding> {
  const { bom } = tx.contactRules;
  if (itemIds.length === 0 || !adopted(tx).any) return new Map();
  const standingOf = (isFirst: 0 | 1): PartStanding =>
    bom !== 'assume-present' ? bom : isFirst === 1 ? 'present' : 'create';
  return new Map(
    SQL.ofUnknown(tx)
      .all(JSON.stringify(itemIds))
      .map(({ id, isFirst }) => [id, standingOf(isFirst)]),
  );
}

/** Call it after products were adopted. */
export function markPartsUnknown(tx: Tx, itemIds: readonly number[]): void {
  if (tx.contactRules.bom === 'create' || itemIds.length === 0) return;
  adopted(tx).any = true;
  setPartsUnknown(tx, itemIds, 1);
}

/** Call it when BOM items are known to be at the platform, with the content that their source has. */
export function acknowledgeParts(tx: Tx, itemIds: readonly number[]): void {
  acknowledgeDesired(tx, itemIds, tx.forms.presentOf('bom_item'));
}

/** The BOM items of these products. */
export function partsOfProducts(tx: Tx, productKeys: readonly string[]): { id: number }[] {
  return productKeys.length === 0 ? [] : SQL.parts(tx).all(JSON.stringify(productKeys));
}

/**
 * The products whose BOM items wait for a person's answer. `products` narrows the result to these keys or natural
 * keys.
 */
export function unansweredProducts(
  tx: Tx,
  products: readonly string[] | null,
): {
  found: { id: number; key: string }[];
  unknown: PartsAnswer['unknown'];
} {
  const all = SQL.unanswered(tx).all();
  if (products === null) return { found: all, unknown: [] };
  const found = all.filter(({ key, naturalKey }) => products.includes(key) || products.includes(naturalKey ?? ''));
  const known = new Set(found.flatMap(({ key, naturalKey }) => [key, naturalKey]));
  return { found, unknown: products.filter((name) => !known.has(name)) };
}

export function markPartsKnown(tx: Tx, productIds: readonly number[]): void {
  setPartsUnknown(tx, productIds, 0);
}

/**
 * Call it after a complete read of a source. Rows that come after the first complete read are new, so they can be
 * created.
 */
export function noteFirstRead(tx: Tx, runId: number): void {
  const name = `first_read:${SQL.sourceOf(tx).get(runId) ?? ''}`;
  if (readMeta(tx, name) === null) writeMeta(tx, name, String(SQL.lastRecord(tx).get() ?? 0));
}

export const ADOPTED_BOM: Reason = {
  code: 'adopted_bom',
  message:
    'Its product was at the platform before, and the API cannot show whether the platform has this BOM item. Look at the platform, and record what is there with `dpp-sync settle --bom present SKU` or `dpp-sync settle --bom absent SKU`, or with --all for all products.',
};
