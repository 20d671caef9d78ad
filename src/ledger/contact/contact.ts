// First contact: suspends the creates of a kind until the platform's list of that kind was read and compared.
//
// The table `contacts` has one row for each source and kind, which says whether that source may create. No row is written
// for a single item: a batch counts its creates at its end, and a claim reads one row.

import type { Operation } from '../../domain/delivery/operation.ts';
import type { ContactEntry, ContactStep } from '../../domain/ports/ledger/contact-ledger.ts';
import type { ListableKind } from '../../domain/ports/target.ts';
import type { JsonObject } from '../../lib/json.ts';
import { readMeta, removeMeta, writeMeta } from '../store/meta.ts';
import { column, parseJson, type Reads, statement, type Tx } from '../store/tx.ts';
import { isListedOrSimilar, isNothingListed } from './entries.ts';
import {
  compareListFrom,
  compareStoredList,
  contactStepOf,
  isListNeeded,
  listReadAt,
  neededLists,
  needList,
  needListAgain,
  releaseAllLists,
  releaseList,
  storeEntries,
} from './listings.ts';

const LISTABLE: readonly ListableKind[] = ['product', 'material'];
const UNPROVEN = 'unproven:';
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
  unbound: column<[{ kind: string; keys: string }], number>(
    `SELECT 1 FROM json_each(@keys) k WHERE NOT EXISTS (
       SELECT 1 FROM items i WHERE i.kind = @kind AND i.natural_key = k.value AND i.remote_id IS NOT NULL) LIMIT 1`,
  ),
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
 * Call it when creates have met items of the platform, with the entries that its list shows. `isRefused` is true if
 * the platform has refused one of the creates for that reason. Returns true if the creates will be compared with these
 * entries before they are sent again.
 */
export function noteDuplicates(
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
export function addCreate(counts: CreateCounts, source: string, kind: ListableKind): void {
  const name = `${kind} ${source}`;
  const known = counts.get(name) ?? { source, kind, count: 0 };
  known.count += 1;
  counts.set(name, known);
}

const duplicatesFact = (kind: ListableKind): string => `refuses_duplicates:${kind}`;

// The kinds of a restored ledger whose lists have not yet proven that the ledger knows all items of the platform.

export function unprovenKinds(reads: Reads): ListableKind[] {
  return LISTABLE.filter((kind) => readMeta(reads, proofOf(kind)) !== null);
}

export function hasUnbound(reads: Reads, kind: ListableKind, naturalKeys: readonly string[]): boolean {
  return SQL.unbound(reads).get({ kind, keys: JSON.stringify(naturalKeys) }) !== undefined;
}

export function endProof(tx: Tx, kind: ListableKind): void {
  removeMeta(tx, proofOf(kind));
}

/** Call it when a restored ledger is accepted. */
export function beginProofs(tx: Tx): void {
  for (const kind of LISTABLE) writeMeta(tx, proofOf(kind), '1');
}

/** SQL condition: true if the kind of this item is unproven. `of` is the name of the items table in the statement. */
export function isUnproven(of: string): string {
  return `EXISTS (SELECT 1 FROM meta WHERE name = '${UNPROVEN}' || ${of}.kind)`;
}

const proofOf = (kind: ListableKind): string => `${UNPROVEN}${kind}`;
