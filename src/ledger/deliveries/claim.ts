// Marks due deliveries as sending, with few statements for all of them, and makes their requests.

import { type DeliveryState, idempotencyKey } from '../../domain/delivery/delivery.ts';
import type { Operation } from '../../domain/delivery/operation.ts';
import { changedFields, wholePayload } from '../../domain/delivery/reconcile.ts';
import type { FormId } from '../../domain/delivery/wire-form.ts';
import { hasRefs, type RefRole } from '../../domain/item.ts';
import type { NewClaim, ToClaim } from '../../domain/ports/deliveries.ts';
import type { EncodedWrite, Write } from '../../domain/ports/target.ts';
import type { JsonObject, JsonValue } from '../../lib/json.ts';
import { suspendedCreates } from '../contact/contact.ts';
import { acknowledgedContent, idsOf, revisionContent } from '../items/item-row.ts';
import { blockItems } from '../items/reconcile.ts';
import { claimRequestsAgain, insertRequests, nextRequestId, type RequestRow } from '../items/requests.ts';
import { move } from '../items/revisions.ts';
import { takeBackUnlessWanted } from '../passports/passports.ts';
import { parseJson, parseJsonOrNull, statement, type Tx } from '../store/tx.ts';
import {
  claimedDelivery,
  type DeliveryRow,
  keptRequest,
  type RefRow,
  SELECT_LISTED_DELIVERIES,
  SELECT_LISTED_REFS,
} from './delivery-row.ts';
import { changesMax, claimedMember, gatherImport, gatherNewImport, keptImports } from './imports.ts';

/** Steps of a passport that need a complete product. */
const ASKS_FOR_COMPLETENESS: ReadonlySet<Operation> = new Set(['passport.init', 'passport.publish']);

/** The remote ids of the items that one item refers to. */
type Refs = Partial<Record<RefRole, JsonValue>>;

const SQL = {
  rows: statement<[string], DeliveryRow>(SELECT_LISTED_DELIVERIES),
  refs: statement<[string], RefRow>(SELECT_LISTED_REFS),
};

export function claim(tx: Tx, lists: readonly ToClaim[]): NewClaim[] {
  const due = claimable(tx, lists);
  const refs = readRefs(tx, due.flat());
  const claimed: NewClaim[] = [];
  const fresh: RequestRow[] = [];
  const kept: number[] = [];
  const waiting: DeliveryRow[] = [];
  const members: Member[] = [];
  const imports = keptImports(tx, importsOf(due));
  const inImports = new Set<number>();
  const firstId = nextRequestId(tx);
  /** The index of the list whose requests are made now. */
  let at = 0;

  const add = (request: RequestRow, isKept: boolean, rows: readonly DeliveryRow[]): void => {
    const { id, operation, idempotencyKey: key, path, body } = request;
    const sends = request.sends + 1;
    if (isKept) kept.push(id);
    else fresh.push({ ...request, sends });
    const isImport = operation === 'product.import';
    rows.forEach((row, place) => {
      // The bytes of a kept request do not change, and nor does their form.
      const form = isKept ? row.sentForm : tx.forms.presentOf(row.kind);
      members.push({ id: row.id, state: row.state, request: id, place: isImport ? place : null, form });
    });
    const taken = rows.map((row) => (isImport ? claimedMember(tx, row, isKept) : claimedDelivery(row)));
    claimed.push({ list: at, request: id, sends, operation, path, body, idempotencyKey: key, members: taken });
  };

  const addSingle = (row: DeliveryRow): void => {
    const found = keptRequest(row);
    const pointed = refs(row);
    if (found !== null) add(found, true, [row]);
    else if (pointed !== null) add(makeRequest(tx, row, pointed, firstId + fresh.length), false, [row]);
    else waiting.push(row);
  };
  const addChanged = (list: readonly DeliveryRow[]): void => {
    const { countMax, blocked } = changesMax(tx);
    const certain = list.filter(({ uncertain }) => uncertain === 0);
    if (blocked !== null)
      blockItems(
        tx,
        certain.map(({ id }) => ({ id, reason: blocked })),
      );
    // A write that may have arrived is not blocked, because its result has to be found out. An import that is sent
    // again unchanged may have members that another list names.
    const left = list.filter(({ id, uncertain }) => !inImports.has(id) && (uncertain === 1 || blocked === null));
    const gathered = gatherImport(tx, left, { newId: firstId + fresh.length, countMax, imports });
    for (const { id } of gathered?.rows ?? []) inImports.add(id);
    if (gathered !== null) add(gathered.request, gathered.isKept, gathered.rows);
  };
  const addNew = (first: DeliveryRow, others: readonly DeliveryRow[]): void => {
    const gathered = gatherNewImport(tx, [first, ...others], firstId + fresh.length);
    if (gathered === null) addSingle(first);
    else add(gathered.request, false, gathered.rows);
  };

  due.forEach((list, index) => {
    at = index;
    const [first, ...others] = list;
    if (first === undefined) return;
    const same = others.filter(({ operation }) => operation === first.operation);
    if (first.operation === 'product.import') addChanged([first, ...same]);
    else if (lists[at]?.asImport === true) addNew(first, same);
    else for (const row of list) addSingle(row);
  });
  store(tx, { fresh, kept, waiting, members });
  return claimed;
}

/**
 * The deliveries of the lists that may be claimed: due under the named revision, not suspended, and named for the
 * first time.
 */
function claimable(tx: Tx, lists: readonly ToClaim[]): DeliveryRow[][] {
  const named = SQL.rows(tx).all(JSON.stringify(lists.flatMap(({ deliveries }) => idsOf(deliveries))));
  const rows = new Map(named.map((row) => [row.id, row]));
  const suspended = new Set(suspendedCreates(tx));
  const now = tx.clock.now();
  const due = lists.map(({ deliveries }) =>
    deliveries.flatMap(({ id, revision }) => {
      const row = rows.get(id);
      rows.delete(id);
      const isDue = row?.state === 'due' && row.revision === revision && row.dueAt <= now;
      // A create is compared with the platform's list before it is sent for the first time.
      return isDue && !suspended.has(row.operation) ? [row] : [];
    }),
  );
  // The writes of passports whose products are not complete any more. A withdrawal needs no complete product, and the
  // result of an uncertain write has to be found out.
  const asking = due
    .flat()
    .filter(({ operation, uncertain }) => ASKS_FOR_COMPLETENESS.has(operation) && uncertain === 0);
  const takenBack = takeBackUnlessWanted(tx, idsOf(asking));
  return due.map((list) => list.filter(({ id }) => !takenBack.has(id)));
}

/** The imports of changed products that the first deliveries of these lists belong to. */
function importsOf(due: readonly (readonly DeliveryRow[])[]): number[] {
  return due.flatMap(([first]) => (first?.operation === 'product.import' ? (first.requestId ?? []) : []));
}

/** I2: stores path, bytes and key before the first byte is sent. They never change afterwards. */
function store(tx: Tx, claimed: Claimed): void {
  const now = tx.clock.now();
  insertRequests(tx, claimed.fresh, now);
  claimRequestsAgain(tx, claimed.kept, now);
  const { waiting, members } = claimed;
  move(tx, waiting, 'refs_missing', {});
  move(tx, members, 'claim', ({ request, place, form }) => ({ request, place, form }));
}

interface Claimed {
  fresh: readonly RequestRow[];
  kept: readonly number[];
  waiting: readonly DeliveryRow[];
  members: readonly Member[];
}

/** A delivery that is sent in a request. */
interface Member {
  id: number;
  state: DeliveryState;
  request: number;
  place: number | null;
  form: FormId;
}

/**
 * Reads the references of many rows at once. The returned function gives null for a row while a remote id is missing.
 */
function readRefs(tx: Tx, rows: readonly DeliveryRow[]): (row: DeliveryRow) => Refs | null {
  const pointing = rows.filter(({ kind, requestId }) => requestId === null && hasRefs(kind)).map(({ id }) => id);
  const found = new Map<number, Refs | null>();
  for (const { itemId, role, remoteId } of pointing.length === 0 ? [] : SQL.refs(tx).all(JSON.stringify(pointing))) {
    const refs = found.get(itemId) ?? (found.has(itemId) ? null : {});
    if (refs !== null && remoteId !== null) refs[role] = parseJson<JsonValue>(remoteId);
    found.set(itemId, remoteId === null ? null : refs);
  }
  return ({ id, kind }) => (hasRefs(kind) ? (found.get(id) ?? null) : {});
}

/** Makes the path, the bytes and the key of the request that is stored under this id. */
function makeRequest(tx: Tx, row: DeliveryRow, refs: Refs, id: number): RequestRow {
  const { operation, revision } = row;
  const content = revisionContent(row);
  const { path, body } = encodeWrite(tx, row, content.text, refs);
  const key = idempotencyKey({
    epoch: tx.epoch,
    target: tx.target,
    operation,
    subject: row.id,
    naturalKey: row.naturalKey ?? row.key,
    payloadHash: content.hash,
    revision,
  });
  return { id, operation, idempotencyKey: key, path, body, sends: 0 };
}

function encodeWrite(tx: Tx, row: DeliveryRow, text: string, refs: Refs): EncodedWrite {
  const { operation, kind } = row;
  const desired = parseJson<JsonObject>(text);
  const payload = operation.endsWith('.update') ? updateOf(tx, row, desired) : desired;
  // The API knows a passport by its product's id.
  const remoteId = kind === 'passport' ? (refs.product ?? null) : parseJsonOrNull<JsonValue>(row.remoteId);
  return tx.encode({ operation, payload, refs, remoteId } satisfies Write);
}

/** The body of an update: the fields that differ, or all fields if the platform has them in another form. */
function updateOf(tx: Tx, row: DeliveryRow, desired: JsonObject): JsonObject {
  const known = acknowledgedContent(row);
  const before = parseJsonOrNull<JsonObject>(known?.text ?? null) ?? {};
  const isPartial = tx.forms.isPresent(row.kind, row.form) && known?.hash !== revisionContent(row).hash;
  return isPartial ? changedFields(desired, before) : wholePayload(desired, before);
}
