// Marks due deliveries as sending, with few statements for all of them, and makes their requests.

import { idempotencyKey, transition } from '../../domain/delivery/delivery.ts';
import type { Operation } from '../../domain/delivery/operation.ts';
import { changedFields, wholePayload } from '../../domain/delivery/reconcile.ts';
import type { FormId } from '../../domain/delivery/wire-form.ts';
import { hasRefs, type RefRole } from '../../domain/item.ts';
import type { ClaimedRequest, ToClaim } from '../../domain/ports/claim.ts';
import type { EncodedWrite, Write } from '../../domain/ports/target.ts';
import type { JsonObject, JsonValue } from '../../lib/json.ts';
import { suspendedCreates } from '../contact/contact.ts';
import { acknowledgedContent, revisionContent } from '../items/item-row.ts';
import { blockItem } from '../items/reconcile.ts';
import { claimRequestsAgain, insertRequests, nextRequestId, type RequestRow } from '../items/requests.ts';
import { takeBackUnlessWanted } from '../passports/passports.ts';
import { statement } from '../store/statement.ts';
import type { Tx } from '../store/tx.ts';
import { parseJson, parseJsonOrNull } from '../store/tx.ts';
import {
  claimedDelivery,
  type DeliveryRow,
  type RefRow,
  SELECT_LISTED_DELIVERIES,
  SELECT_LISTED_REFS,
} from './delivery-row.ts';
import { changesMax, claimedMember, gatherImport, gatherNewImport } from './imports.ts';

/** Steps of a passport that need a complete product. */
const ASKS_FOR_COMPLETENESS: ReadonlySet<Operation> = new Set(['passport.init', 'passport.publish']);

/** The remote ids of the items that one item refers to. */
type Refs = Partial<Record<RefRole, JsonValue>>;

const SQL = {
  rows: statement<[string], DeliveryRow>(SELECT_LISTED_DELIVERIES),
  refs: statement<[string], RefRow>(SELECT_LISTED_REFS),
  wait: statement<[string, string]>('UPDATE items SET state = ? WHERE id IN (SELECT value FROM json_each(?))'),
  send: statement<[{ state: string; now: number; members: string }]>(
    `UPDATE items SET state = @state, sent_at = @now, due_at = 0, request_id = m.request, request_place = m.place,
       sent_form = m.form
     FROM (SELECT value ->> 0 AS id, value ->> 1 AS request, value ->> 2 AS place, value ->> 3 AS form
           FROM json_each(@members)) m
     WHERE items.id = m.id`,
  ),
};

export function claim(tx: Tx, lists: readonly ToClaim[]): ClaimedRequest[] {
  const due = claimable(tx, lists);
  const refs = readRefs(tx, due.flat());
  const claimed: ClaimedRequest[] = [];
  const fresh: RequestRow[] = [];
  const kept: number[] = [];
  const waiting: number[] = [];
  const members: Member[] = [];
  const inImports = new Set<number>();
  const firstId = nextRequestId(tx);

  const add = (request: RequestRow, isKept: boolean, rows: readonly DeliveryRow[]): void => {
    const { id, operation, idempotencyKey: key, path, body } = request;
    const sends = request.sends + 1;
    if (isKept) kept.push(id);
    else fresh.push({ ...request, sends });
    const isImport = operation === 'product.import';
    rows.forEach((row, place) => {
      // The bytes of a kept request do not change, and nor does their form.
      const form = isKept ? row.sentForm : tx.forms.presentOf(row.kind);
      members.push([row.id, id, isImport ? place : null, form]);
    });
    const taken = rows.map((row) => (isImport ? claimedMember(tx, row, isKept) : claimedDelivery(row)));
    claimed.push({ request: id, sends, operation, path, body, idempotencyKey: key, members: taken });
  };

  const addSingle = (row: DeliveryRow): void => {
    const found = keptRequest(row);
    const pointed = refs(row);
    if (found !== null) add(found, true, [row]);
    else if (pointed !== null) add(makeRequest(tx, row, pointed, firstId + fresh.length), false, [row]);
    else waiting.push(row.id);
  };
  const addChanged = (list: readonly DeliveryRow[]): void => {
    const { countMax, blocked } = changesMax(tx);
    if (blocked !== null) for (const { id, uncertain } of list) if (uncertain === 0) blockItem(tx, id, blocked);
    // A write that may have arrived is not blocked, because its result has to be found out. An import that is sent
    // again unchanged may have members that another list names.
    const left = list.filter(({ id, uncertain }) => !inImports.has(id) && (uncertain === 1 || blocked === null));
    const gathered = gatherImport(tx, left, firstId + fresh.length, countMax);
    for (const { id } of gathered?.rows ?? []) inImports.add(id);
    if (gathered !== null) add(gathered.request, gathered.isKept, gathered.rows);
  };
  const addNew = (first: DeliveryRow, others: readonly DeliveryRow[]): void => {
    const gathered = gatherNewImport(tx, [first, ...others], firstId + fresh.length);
    if (gathered === null) addSingle(first);
    else add(gathered.request, false, gathered.rows);
  };

  due.forEach((list, at) => {
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
  const named = SQL.rows(tx).all(JSON.stringify(lists.flatMap(({ deliveries }) => deliveries.map(({ id }) => id))));
  const rows = new Map(named.map((row) => [row.id, row]));
  const suspended = new Set(suspendedCreates(tx));
  const now = tx.clock.now();
  return lists.map(({ deliveries }) =>
    deliveries.flatMap(({ id, revision }) => {
      const row = rows.get(id);
      rows.delete(id);
      const isDue = row?.state === 'due' && row.revision === revision && row.dueAt <= now;
      // A create is compared with the platform's list before it is sent for the first time.
      return isDue && !suspended.has(row.operation) && !isTakenBack(tx, row) ? [row] : [];
    }),
  );
}

/**
 * True if the write of a passport was taken back because its product is not complete any more. False for a
 * withdrawal, because it needs no complete product, and for an uncertain write, because its result has to be found
 * out.
 */
function isTakenBack(tx: Tx, { id, operation, uncertain }: DeliveryRow): boolean {
  return ASKS_FOR_COMPLETENESS.has(operation) && uncertain === 0 && takeBackUnlessWanted(tx, id);
}

/** I2: stores path, bytes and key before the first byte is sent. They never change afterwards. */
function store(tx: Tx, claimed: Claimed): void {
  const now = tx.clock.now();
  insertRequests(tx, claimed.fresh, now);
  claimRequestsAgain(tx, claimed.kept, now);
  const { waiting, members } = claimed;
  if (waiting.length > 0) SQL.wait(tx).run(transition('due', 'refs_missing'), JSON.stringify(waiting));
  if (members.length > 0)
    SQL.send(tx).run({ state: transition('due', 'claim'), now, members: JSON.stringify(members) });
}

interface Claimed {
  fresh: readonly RequestRow[];
  kept: readonly number[];
  waiting: readonly number[];
  members: readonly Member[];
}

type Member = readonly [id: number, request: number, place: number | null, form: FormId];

/** The earlier request of a delivery, whose bytes are sent again; null if there is none. */
function keptRequest({ requestId, operation, idempotencyKey: key, path, body, sends }: DeliveryRow): RequestRow | null {
  if (requestId === null || key === null || path === null || sends === null) return null;
  return { id: requestId, operation, idempotencyKey: key, path, body, sends };
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
