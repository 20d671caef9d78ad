import type { Reason } from '../../../src/domain/delivery/stored-reason.ts';
import type {
  ClaimedDelivery,
  ClaimedRequest,
  ClaimName,
  Decision,
  DeliveryName,
  Settled,
  Settlement,
  ToClaim,
} from '../../../src/domain/ports/deliveries.ts';
import type { SqliteLedger } from '../../../src/ledger/sqlite-ledger.ts';
import type { JsonValue } from '../../../src/lib/json.ts';

/** The last claim of each delivery, by ledger. So a test settles the delivery that it has claimed. */
const claims = new WeakMap<object, Map<number, ClaimName>>();

/** A claimed delivery, with the request that contains it. */
export type ClaimedOne = ClaimedDelivery &
  Omit<ClaimedRequest, 'members'> & {
    /** True if the request was sent before. */
    again: boolean;
    members: ClaimedDelivery[];
  };

type Viewed<T> = T & { views?: SqliteLedger['views'] };

/** The name of a delivery, by default with its present revision. */
function nameOf({ views }: Viewed<object>, { id, revision }: { id: number; revision?: number }): DeliveryName {
  return { id, revision: revision ?? views?.delivery(id)?.revision ?? 0 };
}

/** Deliveries that are claimed in separate requests. Changed products are claimed as one import. */
export function alone(deliveries: readonly DeliveryName[]): ToClaim {
  return { deliveries, asImport: false };
}

/** Deliveries that are claimed as one import. */
export function together(deliveries: readonly DeliveryName[]): ToClaim {
  return { deliveries, asImport: true };
}

/** A new product as a claim returns it. */
export function claimedProduct({ id, groupMax = null }: { id: number; groupMax?: number | null }): ClaimedDelivery {
  const name = { id, kind: 'product', key: `P${id}`, revision: 1, operation: 'product.create', source: 'erp' } as const;
  const known = { remoteId: null, attempts: 0, uncertain: false, busySince: null, awaySince: null };
  return { ...name, ...known, naturalKey: `SKU-${id}`, groupMax };
}

/** Claims one delivery, by its id or its name. Null if it cannot be claimed. */
export async function claimOne(
  ledger: Viewed<Pick<SqliteLedger, 'claim'>>,
  delivery: number | DeliveryName,
): Promise<ClaimedOne | null> {
  const name = typeof delivery === 'number' ? nameOf(ledger, { id: delivery }) : delivery;
  const { id } = name;
  const [claimed] = await ledger.claim([alone([name])]);
  if (claimed === undefined) return null;
  const { members, request, sends } = claimed;
  const known = claims.get(ledger) ?? new Map<number, ClaimName>();
  claims.set(ledger, known);
  for (const member of members) known.set(member.id, { request, sends });
  const own = members.find((member) => member.id === id);
  if (own === undefined) throw new Error(`The claim of ${id} does not hold it.`);
  return { ...own, ...claimed, again: sends > 1, members };
}

/** Claims the delivery that is due first. A test fails here if none is due. */
export async function claimDue(ledger: SqliteLedger): Promise<ClaimedOne> {
  const [due] = await ledger.dueDeliveries({ afterId: 0, limit: 1 });
  if (due === undefined) throw new Error('No delivery is due.');
  const claimed = await claimOne(ledger, due);
  if (claimed === null) throw new Error(`Delivery ${due.id} is due and cannot be claimed.`);
  return claimed;
}

/** Settles one delivery. A claimed delivery is settled by its claim, another one like after a read-back. */
export async function settleOne(
  ledger: Viewed<Pick<SqliteLedger, 'settle'>>,
  settlement: Omit<Settlement, 'revision'> & { revision?: number },
): Promise<Settled> {
  const { id } = settlement;
  const own = claims.get(ledger)?.get(id) ?? null;
  claims.get(ledger)?.delete(id);
  const settlements = [{ ...settlement, ...nameOf(ledger, settlement) }];
  const [settled] = await ledger.settle([{ claim: own, settlements, keep: true, groupMax: null }]);
  if (settled === undefined) throw new Error(`Nothing came of settling ${id}.`);
  return settled;
}

/** Claims all due deliveries, and settles each without an answer. Nothing searches for them on the platform. */
export async function loseAnswers(ledger: SqliteLedger, decision: Decision = NEVER_ANSWERED): Promise<void> {
  for (const { id } of await ledger.dueDeliveries({ afterId: 0, limit: 100 })) {
    if ((await claimOne(ledger, id)) !== null) await settleOne(ledger, { id, decision });
  }
}

/** Claims and settles all due deliveries. Each create gets the next remote id. */
export async function deliverAll(
  ledger: SqliteLedger,
  firstId = 100,
): Promise<{ operation: string; key: string; body: string | null }[]> {
  const sent: { operation: string; key: string; body: string | null }[] = [];
  let remoteId = firstId;
  for (;;) {
    const due = await ledger.dueDeliveries({ afterId: 0, limit: 1000 });
    if (due.length === 0) return sent;
    for (const { id } of due) {
      const claimed = await claimOne(ledger, id);
      if (claimed === null) continue;
      const { operation, key, body } = claimed;
      sent.push({ operation, key, body });
      remoteId += 1;
      const created = operation.endsWith('.create') ? remoteId : null;
      const settlements = claimed.members.map((member) => ({ ...member, decision: delivered(created) }));
      await ledger.settle([{ claim: claimed, settlements, keep: false, groupMax: null }]);
      for (const member of settlements) claims.get(ledger)?.delete(member.id);
    }
  }
}

/** The platform has acknowledged a delivery. For a create, `remoteId` is the id of the new item on the platform. */
export function delivered(remoteId: JsonValue = null, by: 'answer' | 'read_back' = 'answer') {
  return { kind: 'delivered', remoteId, contentKnown: true, by } satisfies Decision;
}

/** The connection was reset before an answer came. */
export const LOST: Reason = { code: 'reset', message: 'The connection was reset.' };

/** No answer came, and nobody searches for the write on the platform. */
export const NEVER_ANSWERED = {
  kind: 'unconfirmed',
  nextLookAt: null,
  spend: true,
  reason: LOST,
} as const satisfies Decision;
