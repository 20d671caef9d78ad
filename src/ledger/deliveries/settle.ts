// Stores the decisions about deliveries that were sent.

import type { DeliveryEvent } from '../../domain/delivery/delivery.ts';
import type { Decision, RequestSettlement, Settled, Settlement } from '../../domain/ports/deliveries.ts';
import { kindCreatedBy } from '../contact/contact.ts';
import { idsOf, reasonText } from '../items/item-row.ts';
import { noteEvents, sendLater, setGroupMax } from '../items/item-writes.ts';
import { reconcileAll, type StagedItems } from '../items/reconcile.ts';
import { leaveRequests } from '../items/requests.ts';
import { markAbsent } from '../items/restored.ts';
import { ignoreDeliveries, move, takeBackDeliveries } from '../items/revisions.ts';
import { markPassportsDirtyBy } from '../passports/passport-items.ts';
import { statement, type Tx } from '../store/tx.ts';
import { adoptFound, deliverAll, type FoundCreate, forgetBaselines, givenIds, settlePlain } from './deliver.ts';
import {
  type DeliveryRow,
  isAsDecided,
  isImportedCreate,
  SELECT_LISTED_DELIVERIES,
  SELECT_SETTLE_ROWS,
  type SettleRow,
} from './delivery-row.ts';
import { failedAgainAmong } from './failed-again.ts';
import { importMembers } from './imports.ts';
import { idsTakenByOthers, resolveIdConflicts } from './remote-ids.ts';

const SQL = {
  plain: statement<[string], SettleRow>(SELECT_SETTLE_ROWS),
  rows: statement<[string], DeliveryRow>(SELECT_LISTED_DELIVERIES),
};

/** A member of a request whose decision still holds. */
interface Member<D extends Decision = Decision> {
  row: DeliveryRow;
  settlement: Settlement;
  decision: D;
  /** True if the delivery is a member of a kept import. */
  isTied: boolean;
}

type Delivered = Extract<Decision, { kind: 'delivered' }>;
type Ignored = Extract<Decision, { kind: 'ignored' }>;
type Failed = Extract<Decision, { kind: 'blocked' | 'rejected' | 'parked' }>;
type OpenDecision = Exclude<Decision, Delivered | Ignored>;

/** How many deliveries each item has released. */
type Released = ReadonlyMap<number, number>;

/**
 * Stores the decisions about deliveries that were sent. An answer is plain if it acknowledges the write of an item whose
 * desired payload has not changed since. The plain answers are settled together, and then all others.
 */
export function settle(tx: Tx, groups: readonly RequestSettlement[]): Settled[] {
  const ids = groups.flatMap(({ settlements }) => idsOf(settlements));
  const present = SQL.plain(tx).all(JSON.stringify(ids));
  const rows = new Map(present.map((row) => [row.id, row]));
  const found = groups.map((group) => ({
    group,
    members: group.settlements.map((settlement) => ({ settlement, row: rows.get(settlement.id) })),
  }));
  const requests = found.flatMap(({ members }) => [...new Set(members.flatMap(({ row }) => row?.requestId ?? []))]);
  const done = new Set<number>();
  // Two groups may name the same delivery, or members of one import, and the second must see what the first has stored.
  // So they are settled in order.
  if (new Set(ids).size < ids.length || new Set(requests).size < requests.length)
    return groups.flatMap((group) => settleGroups(tx, [group], done).flat());
  const plain = settlePlain(tx, found);
  const others = settleGroups(
    tx,
    groups.filter((_, at) => plain[at] === null),
    done,
  ).values();
  return plain.flatMap((settled) => settled ?? others.next().value ?? []);
}

/**
 * Settles the members of requests, whatever was decided about them.
 *
 * @param done deliveries that this transaction has settled. A second decision about one of them changes nothing.
 *   This function adds the deliveries that it settles.
 */
function settleGroups(tx: Tx, groups: readonly RequestSettlement[], done: Set<number>): Settled[][] {
  const ids = groups.flatMap(({ settlements }) => idsOf(settlements)).filter((id) => !done.has(id));
  const rows = new Map((ids.length === 0 ? [] : SQL.rows(tx).all(JSON.stringify(ids))).map((row) => [row.id, row]));
  const found = groups.map((group) => {
    const members = group.settlements.flatMap((settlement): Member[] => {
      const row = rows.get(settlement.id);
      if (row === undefined || done.has(row.id) || !isAsDecided(row, settlement, group.claim)) return [];
      done.add(row.id);
      return [{ row, settlement, decision: settlement.decision, isTied: false }];
    });
    return { group, members };
  });
  settleImports(tx, found);
  const settled = settleMembers(
    tx,
    found.flatMap(({ members }) => members),
  );
  return groups.map(({ settlements }) =>
    settlements.map((one) => {
      const result = settled.get(one) ?? { id: one.id, revision: one.revision, released: 0, applied: false };
      settled.delete(one);
      return result;
    }),
  );
}

/** Limits the imports of these members, and decides which imports are sent again. All others are released. */
function settleImports(tx: Tx, found: readonly { group: RequestSettlement; members: readonly Member[] }[]): void {
  const membersOf = importMembers(tx, [...importsOf(found.flatMap(({ members }) => members)).keys()]);
  const left: DeliveryRow[] = [];
  for (const { group, members } of found) {
    const { groupMax, keep } = group;
    const imports = [...importsOf(members)];
    for (const [requestId, ofImport] of imports) {
      const staying = ofImport.filter(({ decision }) => STAYS_OPEN.has(decision.kind));
      // I3: an import is only kept with all its members. Bytes that a member has left may not be sent again.
      const isKept = keep && staying.length === membersOf.get(requestId)?.length;
      for (const member of ofImport) member.isTied = isKept;
      if (!isKept) left.push(...rowsOf(ofImport));
    }
    if (groupMax === null) continue;
    const created = rowsOf(members).filter(isImportedCreate);
    for (const row of created) row.groupMax = groupMax;
    const changed = imports.flatMap(([requestId]) => membersOf.get(requestId) ?? []);
    setGroupMax(tx, [...idsOf(created), ...changed], groupMax);
  }
  leaveRequests(tx, left);
}

/** The members of imports of changed products, by the id of the request. */
function importsOf(members: readonly Member[]): Map<number, Member[]> {
  const changed = members.filter(({ row }) => row.operation === 'product.import' && row.requestId !== null);
  return Map.groupBy(changed, ({ row }) => row.requestId ?? 0);
}

function settleMembers(tx: Tx, members: readonly Member[]): Map<Settlement, Settled> {
  const taken = idsTakenByOthers(tx, givenIds(members.filter(isDelivered)));
  const free = members.filter(({ row }) => !taken.has(row.id));
  const again = failedAgainAmong(tx, free.filter(isFailed));
  const released = settleDecided(tx, free);
  const settled = new Map(free.map((member) => [member.settlement, settledOf(member, released, again)]));
  // Two items have got the same id. A conflict has to see how each one before it that concerns the same items was resolved.
  let conflicts = members.filter(isDelivered).filter(({ row }) => taken.has(row.id));
  while (conflicts.length > 0) {
    for (const [settlement, result] of settleConflicts(tx, conflicts)) settled.set(settlement, result);
    conflicts = conflicts.filter(({ settlement }) => !settled.has(settlement));
  }
  return settled;
}

/** Settles deliveries whose items have got the ids of other items, except those that depend on an earlier one of them. */
function settleConflicts(tx: Tx, members: readonly Member<Delivered>[]): Map<Settlement, Settled> {
  const present = SQL.rows(tx).all(JSON.stringify(idsOf(rowsOf(members))));
  const rows = new Map(present.map((row) => [row.id, row]));
  const all = members.map((member) => ({ ...member, row: rows.get(member.row.id) ?? member.row }));
  const resolved = resolveIdConflicts(tx, all);
  const decided = all.flatMap((member) => {
    const instead = resolved.get(member.row.id);
    return instead === undefined ? [] : { member, instead };
  });
  const released = settleDecided(
    tx,
    decided.map(({ member, instead }) => ({ ...member, decision: instead ?? member.decision })),
  );
  return new Map(
    decided.map(({ member, instead }) => [
      member.settlement,
      { ...settledOf(member, released), ...(instead !== null && { instead }) },
    ]),
  );
}

function settledOf({ row: { id, revision } }: Member, released: Released, failedAgain?: ReadonlySet<number>): Settled {
  const settled = { id, revision, released: released.get(id) ?? 0, applied: true };
  return failedAgain?.has(id) === true ? { ...settled, failedAgain: true } : settled;
}

/** Stores decisions. No item gets the id of another one. */
function settleDecided(tx: Tx, members: readonly Member[]): Released {
  return new Map([
    ...settleDelivered(tx, members.filter(isDelivered)),
    ...settleIgnored(tx, members.filter(isIgnored)),
    ...settleOpen(tx, members.filter(isOpenDecision)),
  ]);
}

function settleDelivered(tx: Tx, members: readonly Member<Delivered>[]): Released {
  noteEvents(
    tx,
    members.flatMap(({ row: { id, revision }, decision: { by, shownAs } }) => [
      ...(shownAs === undefined ? [] : [{ id, revision, type: 'shown_as', detail: { message: shownAs } }]),
      ...(by === 'answer' ? [] : [{ id, revision, type: by, detail: by === 'person' ? ARRIVED : null }]),
    ]),
  );
  const creates: FoundCreate[] = [];
  const known: Member<Delivered>[] = [];
  for (const member of members) {
    const { row, decision } = member;
    const kind = kindCreatedBy(row.operation);
    if (decision.shown === undefined || kind === undefined) known.push(member);
    else creates.push({ row, kind, found: decision.shown });
  }
  return new Map([...adoptFound(tx, creates), ...deliverAll(tx, known)]);
}

function settleIgnored(tx: Tx, members: readonly Member<Ignored>[]): Released {
  ignoreDeliveries(
    tx,
    members.map(({ row, decision: { reason } }) => ({ item: row, reason })),
  );
  // The items do not block a passport any more.
  markPassportsDirtyBy(
    tx,
    members.map(({ row: { id, kind, key } }) => ({ id, kind, key, isNew: false })),
  );
  return countDue(reconcileAll(tx, idsOf(rowsOf(members))));
}

/** Stores the decisions that do not end with an acknowledged write. */
function settleOpen(tx: Tx, members: readonly Member<OpenDecision>[]): Released {
  const now = tx.clock.now();
  const changes = members.map((member): Changed => ({ ...member, ...changeBy(member, now) }));
  leaveRequests(tx, rowsOf(changes.filter(leavesRequest)));
  for (const [event, moved] of Map.groupBy(changes, (one) => one.event)) {
    const rows = moved.map(({ row: { id, state }, change }) => ({ id, state, change }));
    move(tx, rows, event, ({ change }) => change);
  }
  // A wait for a limit is not stored as an event, and nor is a delivery that stays unconfirmed: such events would
  // hide the other ones. The delivery's reason shows them.
  const noted = changes.filter(({ decision }) => decision.kind !== 'retry' || decision.spend).filter(isNews);
  noteEvents(
    tx,
    noted.map(({ row: { id, revision }, decision: { kind: type, reason: detail } }) => ({
      id,
      revision,
      type,
      detail,
    })),
  );
  const ended = changes.filter(({ decision }) => ENDS.has(decision.kind));
  // A passport's result is looked up before its delivery ends, and its next step depends on its status.
  const unclear = ended.filter(({ row, decision }) => row.uncertain === 1 && !provesAbsence(decision));
  forgetBaselines(
    tx,
    rowsOf(unclear).filter(({ kind }) => kind !== 'passport'),
  );
  markAbsent(
    tx,
    idsOf(rowsOf(ended.filter(({ decision }) => decision.kind === 'rejected' && provesAbsence(decision)))),
  );
  const again = changes.filter(({ row, decision }) => decision.kind === 'resend' && isImportedCreate(row));
  // A newer payload is staged after a decision that ends the revision. It is also staged if the older payload would
  // be sent again after it is known to have had no effect.
  const untouched = changes.filter(
    ({ row, decision, change, isTied }) =>
      decision.kind === 'retry' && change.uncertain === 0 && !isTied && row.kind !== 'passport',
  );
  return new Map([...beginAgain(tx, again), ...countDue(reconcileAll(tx, idsOf(rowsOf([...ended, ...untouched]))))]);
}

/**
 * Begins new revisions of new products that their import has not made. The import is not sent again, and another
 * request must not use the same revision (I2).
 */
function beginAgain(tx: Tx, members: readonly Changed[]): Released {
  const ids = idsOf(rowsOf(members));
  markAbsent(tx, ids);
  takeBackDeliveries(tx, ids);
  const staged = reconcileAll(tx, ids);
  sendLater(
    tx,
    members.map(({ row: { id, groupMax }, change: { dueAt } }) => ({ id, dueAt, groupMax })),
  );
  return countDue(staged);
}

/** A member, and what its decision changes. */
type Changed = Member<OpenDecision> & ReturnType<typeof changeBy>;

/**
 * A decision that is stored within this time keeps its times, so that deliveries that were decided together are due together.
 * If more time has passed, or less than none, the clock may have been set, and the wait begins now.
 */
const STORED_WITHIN_MS = 1000;

function changeBy({ row, settlement: { decidedAt }, decision }: Member<OpenDecision>, now: number) {
  const { event, dueAt, spent, uncertain = row.uncertain } = DECISION_CHANGES[decision.kind](decision as never);
  const sinceMs = decidedAt === undefined ? 0 : now - decidedAt;
  const keeps = dueAt === 0 || (sinceMs >= 0 && sinceMs <= STORED_WITHIN_MS);
  return { event, change: { dueAt: keeps ? dueAt : dueAt + sinceMs, spent, uncertain, reason: decision.reason } };
}

/** False if the request is kept, because its bytes may be sent again. The members of imports left before. */
function leavesRequest({ row, decision }: Member<OpenDecision>): boolean {
  if (row.operation === 'product.import') return false;
  const isOver = !STAYS_OPEN.has(decision.kind) && decision.reason.lookAgain !== true;
  return isOver || (decision.kind === 'retry' && isImportedCreate(row));
}

/** False for a delivery that stays unconfirmed for the same reason. */
function isNews({ row, decision }: Member<OpenDecision>): boolean {
  return decision.kind !== 'unconfirmed' || row.state !== 'in_doubt' || reasonText(decision.reason) !== row.reason;
}

/** True if a decision proves that the write had no effect. */
function provesAbsence(decision: OpenDecision): boolean {
  if (decision.kind === 'parked') return decision.open !== true;
  return decision.kind === 'rejected' && decision.absent === true;
}

const isDelivered = (member: Member): member is Member<Delivered> => member.decision.kind === 'delivered';
const isIgnored = (member: Member): member is Member<Ignored> => member.decision.kind === 'ignored';
const isFailed = (member: Member): member is Member<Failed> => ENDS.has(member.decision.kind);
const isOpenDecision = (member: Member): member is Member<OpenDecision> => !isDelivered(member) && !isIgnored(member);

function rowsOf(members: readonly Member[]): DeliveryRow[] {
  return members.map(({ row }) => row);
}

function countDue(staged: StagedItems): Released {
  return new Map([...staged].map(([id, state]) => [id, state === 'due' ? 1 : 0]));
}

/** The text that the timeline shows for a manual resolution. */
const ARRIVED = { message: 'A person has reported that the write arrived.' };

/** The decisions after which the same revision may be sent again. */
const STAYS_OPEN: ReadonlySet<Decision['kind']> = new Set(['unconfirmed', 'resend', 'retry']);

/** The decisions that end a revision without its effect. */
const ENDS: ReadonlySet<Decision['kind']> = new Set(['blocked', 'rejected', 'parked']);

/** What a decision changes that does not end with an acknowledged write. */
interface DecisionChange {
  event: Exclude<DeliveryEvent, 'claim' | 'accept'>;
  dueAt: number;
  spent: -1 | 0 | 1;
  /** Left out if the decision does not change this column. */
  uncertain?: 0 | 1;
}

/** The columns that each decision changes, except the decisions that end a delivery. */
const DECISION_CHANGES: {
  [K in OpenDecision['kind']]: (decision: Extract<Decision, { kind: K }>) => DecisionChange;
} = {
  retry: ({ dueAt, spend, uncertain }) => ({
    event: 'retry',
    dueAt,
    spent: spend ? 1 : 0,
    ...(uncertain ? { uncertain: 1 } : {}),
  }),
  unconfirmed: ({ nextLookAt, spend }) => ({
    event: 'unconfirmed',
    dueAt: nextLookAt ?? 0,
    spent: spend ? 1 : 0,
    uncertain: 1,
  }),
  resend: ({ dueAt, absent, refund }) => ({
    event: 'resend',
    dueAt,
    spent: refund ? -1 : 0,
    ...(absent ? { uncertain: 0 } : {}),
  }),
  blocked: ({ recheckAt }) => ({ event: 'block', dueAt: recheckAt ?? 0, spent: 0, uncertain: 0 }),
  rejected: () => ({ event: 'reject', dueAt: 0, spent: 0, uncertain: 0 }),
  parked: () => ({ event: 'exhaust', dueAt: 0, spent: 0, uncertain: 0 }),
};
