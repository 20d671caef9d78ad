// Bulk imports: several deliveries that are sent as one request. The products of one import are all new or all changed.
//
// Each product has its own delivery. A claim puts several of these deliveries into one request. While it is unknown
// whether an import of changed products arrived, the request is kept and sent again with the same bytes and key.
// Otherwise the request is released, and its members are put into other imports when they are claimed next. All these
// members change their state together: if one member left the import, the same bytes would restore that member's older
// content (I3).
//
// An import of new products is sent once. A member that is unconfirmed belongs to it until it is known whether that
// product was made, and then leaves it alone: delivered, or with a new revision.

import { idempotencyKey } from '../../domain/delivery/delivery.ts';
import {
  type ImportProof,
  type ImportProofs,
  type ImportUse,
  isPutOff,
  nextProofSize,
  UNTRIED,
} from '../../domain/delivery/import-proof.ts';
import type { Operation } from '../../domain/delivery/operation.ts';
import { wholePayload } from '../../domain/delivery/reconcile.ts';
import type { Reason } from '../../domain/delivery/stored-reason.ts';
import { naturalKeyOf } from '../../domain/natural-key.ts';
import type { ClaimedDelivery, DeliveryName } from '../../domain/ports/deliveries.ts';
import type { Profile } from '../../domain/profile.ts';
import { UNUSED_IMPORTS } from '../../domain/words/holds.ts';
import { sha256Url } from '../../lib/hash.ts';
import { canonicalJson, type JsonObject, type JsonValue } from '../../lib/json.ts';
import { acknowledgedContent, idsOf, isOpen, isStuck, revisionContent } from '../items/item-row.ts';
import { setDueAt } from '../items/item-writes.ts';
import { reconcileAll } from '../items/reconcile.ts';
import { leaveRequests, type RequestRow } from '../items/requests.ts';
import { readMeta, writeMeta } from '../store/meta.ts';
import { column, parseJson, perDatabase, type Reads, statement, type Tx } from '../store/tx.ts';
import { claimedDelivery, type DeliveryRow, keptRequest, SELECT_DELIVERIES } from './delivery-row.ts';

/** An import that is sent next, with its members in the order of its body. */
interface GatheredImport {
  request: RequestRow;
  /** True if this import was sent before. */
  isKept: boolean;
  rows: readonly DeliveryRow[];
}

/** The members of imports that were sent before, by the id of the request. */
type KeptImports = ReadonlyMap<number, readonly DeliveryRow[]>;

/** The name under which the proofs are stored that bulk imports may be used. */
const NAME = 'import_proof';

interface Stored {
  /** The hash of the part of the profile that decides how imports look and are read. */
  under: string;
  proofs: ImportProofs;
}

/** What earlier releases have stored: a proof for new products alone, which one product has given. */
interface StoredBefore {
  under: string;
  proof: Exclude<ImportProof, { state: 'proven' }> | { state: 'proven'; answersIds: boolean };
}

const IS_MEMBER = 'i.request_place IS NOT NULL AND i.request_id IN (SELECT value FROM json_each(+?))';

const SQL = {
  members: statement<[string], DeliveryRow>(
    `${SELECT_DELIVERIES} WHERE ${IS_MEMBER} ORDER BY i.request_id, i.request_place`,
  ),
  memberIds: statement<[string], { requestId: number; id: number }>(
    `SELECT i.request_id AS requestId, i.id FROM items i WHERE ${IS_MEMBER} ORDER BY i.request_id, i.request_place`,
  ),
  due: column<[Operation, number], number>(
    "SELECT count(*) FROM (SELECT 1 FROM items WHERE state = 'due' AND operation = ? LIMIT +?) d",
  ),
  // The index of the unconfirmed deliveries that are looked up.
  lost: statement<[Operation], DeliveryName & { importId: number }>(
    `SELECT i.id, i.revision, i.request_id AS importId FROM items i
     WHERE i.state IN ('due', 'in_doubt') AND i.due_at > 0 AND i.state = 'in_doubt' AND i.operation = ?
       AND i.request_place IS NOT NULL ORDER BY i.request_id, i.request_place`,
  ),
  open: column<[{ id: number; revision: number }], number>(
    `SELECT 1 FROM items i WHERE i.id = @id AND i.revision = @revision AND ${isOpen('i')}`,
  ),
  bound: column<[], number>("SELECT count(*) FROM items WHERE kind = 'product' AND remote_id <> 'null'"),
  others: column<[], number>("SELECT count(*) FROM listed WHERE kind = 'product'"),
  blocked: column<[], number>(
    `SELECT id FROM items i WHERE ${isStuck('i')} AND i.state = 'blocked' AND i.operation = 'product.import'
       AND i.reason ->> '$.code' = 'import_unproven' ORDER BY i.id`,
  ),
};

/**
 * Chooses the import to send: the kept import of the first delivery with all its members, or a new one of as many due
 * deliveries as fit. Stores no import. Returns null if a member of a kept import is due later. All of its members are then
 * due at that time. A new import has at most `countMax` members.
 */
export function gatherImport(
  tx: Tx,
  due: readonly DeliveryRow[],
  { newId, countMax, imports }: { newId: number; countMax: number; imports: KeptImports },
): GatheredImport | null {
  const [first] = due;
  if (first === undefined) return null;
  const found = keptImport(tx, first, imports);
  if (found !== null) return putOff(tx, found) ? null : found;
  // Members of an import that was refused as a whole may share an import only with each other. Otherwise they could
  // cause the refusal of other deliveries.
  const members = due.filter((row) => row.groupMax === first.groupMax && row.requestId === first.requestId);
  return assembled(tx, members.slice(0, countMax), newId);
}

/**
 * Makes one import of these new products, with as many of them as it can hold. Returns null if the first has to be sent alone.
 * A product that was sent alone keeps its request, and with it the key of its revision (I2). Stores nothing.
 */
export function gatherNewImport(
  tx: Tx,
  due: readonly [DeliveryRow, ...DeliveryRow[]],
  newId: number,
): GatheredImport | null {
  const [{ groupMax, requestId }] = due;
  if (groupMax === 1 || requestId !== null) return null;
  return assembled(
    tx,
    due.filter((row) => row.groupMax === groupMax && row.requestId === null),
    newId,
  );
}

/** A member as the claim returns it. */
export function claimedMember(tx: Tx, row: DeliveryRow, isKept: boolean): ClaimedDelivery {
  const payload = parseJson<JsonObject>(revisionContent(row).text);
  const naturalKey = naturalKeyOf(tx.profile, 'product', payload)?.value ?? null;
  return { ...claimedDelivery(row), naturalKey, uncertain: isKept, busySince: null };
}

/** The members of imports, in the order of their bodies, by the id of the request. */
export function importMembers(tx: Tx, requestIds: readonly number[]): ReadonlyMap<number, number[]> {
  if (requestIds.length === 0) return new Map();
  const rows = SQL.memberIds(tx).all(JSON.stringify(requestIds));
  return new Map([...Map.groupBy(rows, ({ requestId }) => requestId)].map(([id, of]) => [id, of.map((one) => one.id)]));
}

/** How many members imports have. */
export function importSizes(tx: Tx, requestIds: readonly number[]): ReadonlyMap<number, number> {
  return new Map([...importMembers(tx, requestIds)].map(([id, members]) => [id, members.length]));
}

/** The kept imports of deliveries, with their members, by the id of the request. */
export function keptImports(tx: Tx, requestIds: readonly number[]): KeptImports {
  const rows = requestIds.length === 0 ? [] : SQL.members(tx).all(JSON.stringify(requestIds));
  return Map.groupBy(rows, ({ requestId }) => requestId ?? 0);
}

/** The kept import of a delivery; null if there is none, or if a member of it is not due. */
function keptImport(tx: Tx, first: DeliveryRow, imports: KeptImports): GatheredImport | null {
  const request = keptRequest(first);
  if (request === null) return null;
  const rows = imports.get(request.id) ?? [];
  if (rows.every(({ state }) => state === 'due')) return { request, isKept: true, rows };
  leaveRequests(tx, [first]);
  return null;
}

/** Each member may have its own wait. The members are sent together, so all wait for the longest time. */
function putOff(tx: Tx, { rows }: GatheredImport): boolean {
  const dueAt = Math.max(...rows.map((row) => row.dueAt));
  if (dueAt <= tx.clock.now()) return false;
  setDueAt(tx, idsOf(rows), dueAt);
  return true;
}

/** Makes a new import of as many deliveries as fit. */
function assembled(tx: Tx, due: readonly DeliveryRow[], id: number): GatheredImport {
  const candidates = due.slice(0, Math.min(tx.profile.imports.membersMax, due[0]?.groupMax ?? due.length));
  const { path, body, memberCount } = tx.encodeImport(candidates.map(payloadOf));
  const rows = candidates.slice(0, memberCount);
  const key = idempotencyKey({
    epoch: tx.epoch,
    target: tx.target,
    operation: 'product.import',
    // After a released import the same members make a new request, with a new key.
    subject: id,
    naturalKey: rows.map((row) => `${row.id}.${row.revision}`).join(' '),
    payloadHash: sha256Url(body ?? ''),
    revision: 1,
  });
  return {
    request: { id, operation: 'product.import', idempotencyKey: key, path, body, sends: 0 },
    isKept: false,
    rows,
  };
}

function payloadOf(row: DeliveryRow): JsonObject {
  const baseline = acknowledgedContent(row)?.text ?? '{}';
  return wholePayload(parseJson<JsonObject>(revisionContent(row).text), parseJson<JsonObject>(baseline));
}

const OPERATION_OF: Record<ImportUse, Operation> = { creates: 'product.create', changes: 'product.import' };

const NOTHING_PROVEN: ImportProofs = { creates: UNTRIED, changes: UNTRIED };

/** The hashes under which proofs are stored. Each import asks for them, and another profile needs another process. */
const formsOf = perDatabase(({ profile }: Reads) => ({ form: formOf(profile), before: formBefore(profile) }));

export function importProofs(reads: Reads): ImportProofs {
  const stored = readStored(reads);
  const { form, before } = formsOf(reads);
  return stored?.under === form || stored?.under === before ? stored.proofs : NOTHING_PROVEN;
}

export function storeImportProof(tx: Tx, use: ImportUse, proof: ImportProof): void {
  const stored: Stored = { under: formsOf(tx).form, proofs: { ...importProofs(tx), [use]: proof } };
  writeMeta(tx, NAME, JSON.stringify(stored));
  if (use === 'changes') releaseChanges(tx);
}

/** Call it when a person asks for another import of a blocked change: imports of changes have to be proven again. */
export function tryChangesAgain(tx: Tx): void {
  if (isPutOff(importProofs(tx).changes, tx.clock.now())) storeImportProof(tx, 'changes', UNTRIED);
}

/** Stages the changes that were blocked while imports were not used, if imports may be used again. */
export function releaseChanges(tx: Tx): void {
  if (isPutOff(importProofs(tx).changes, tx.clock.now())) return;
  reconcileAll(tx, SQL.blocked(tx).all(), true);
}

/**
 * The most changed products that a new import may have. `blocked` is the reason if no change may be imported, except
 * a change that may have arrived; else null.
 */
export function changesMax(tx: Tx): { countMax: number; blocked: Reason | null } {
  const { changes } = importProofs(tx);
  const size = nextProofSize(changes, tx.clock.now());
  if (size > 0 || !('message' in changes)) return { countMax: Math.max(1, size), blocked: null };
  return {
    countMax: 1,
    blocked: {
      code: 'import_unproven',
      message: `${changes.message} No change of a product is imported until then. ${UNUSED_IMPORTS.changes.cure}`,
    },
  };
}

export function lostImports(reads: Reads, use: ImportUse): DeliveryName[][] {
  return [...Map.groupBy(SQL.lost(reads).all(OPERATION_OF[use]), ({ importId }) => importId).values()];
}

export function isOpenDelivery(reads: Reads, { id, revision }: DeliveryName): boolean {
  return SQL.open(reads).get({ id, revision }) !== undefined;
}

export function importGain(
  reads: Reads,
  { use, dueMax }: { use: ImportUse; dueMax: number },
): { due: number; listed: number } {
  return {
    due: SQL.due(reads).get(OPERATION_OF[use], dueMax) ?? 0,
    listed: (SQL.bound(reads).get() ?? 0) + (SQL.others(reads).get() ?? 0),
  };
}

/** The proofs that were stored last, even if the profile has changed since. */
export function readImportProofs(reads: Pick<Reads, 'db'>): ImportProofs {
  return readStored(reads)?.proofs ?? NOTHING_PROVEN;
}

function readStored(reads: Pick<Reads, 'db'>): Stored | null {
  const text = readMeta(reads, NAME);
  if (text === null) return null;
  const stored = parseJson<Stored | StoredBefore>(text);
  return 'proofs' in stored
    ? stored
    : { under: stored.under, proofs: { ...NOTHING_PROVEN, creates: fromBefore(stored) } };
}

/** An earlier release has sent imports of many products after one product alone had been shown by the list. */
function fromBefore({ proof }: StoredBefore): ImportProof {
  return proof.state === 'proven' ? { ...proof, size: 1, form: [] } : proof;
}

/** The hash that earlier releases have stored. Their profile had no words. */
function formBefore({ imports: given, wireNames, idPaths }: Profile): string {
  const { words: _, ...imports } = given;
  const form = { imports, names: wireNames.product, ids: idPaths.product };
  return sha256Url(canonicalJson(form as unknown as JsonValue));
}

/** A hash of the settings of the profile for imports. If one of them changes, imports have to be proven again. */
function formOf({ imports, wireNames, idPaths, idUrlPaths, list, requests }: Profile): string {
  const form = {
    imports,
    names: wireNames.product,
    ids: idPaths.product,
    // Without these settings the form is the one that earlier versions have stored.
    ...(idUrlPaths.product.length > 0 && { addresses: idUrlPaths.product }),
    ...(list.entry !== null && { entry: list.entry }),
    ...(requests.productRow !== null && { row: requests.productRow }),
  };
  return sha256Url(canonicalJson(form as unknown as JsonValue));
}
