import { kindToBind, type ManualResolution, manualSettlement } from '../../../src/delivery/outcome/decide.ts';
import { mayBeSettled } from '../../../src/domain/delivery/delivery.ts';
import type { NamedDelivery } from '../../../src/domain/ports/deliveries.ts';
import type { VirtualTime } from '../../support/time/virtual-time.ts';
import { type ItemState, readItems, remoteOf, showsPayload } from '../check/check.ts';
import { deliveryNumber, type Witness } from '../check/witness.ts';
import type { Milestones } from '../script/milestones.ts';
import type { ModelApi } from './model-api.ts';
import type { ModelProcess } from './model-process.ts';

/** What a person does about writes that did not reach the platform. */
export type PersonsWay = 'settle' | 'force' | 'ignore';

/**
 * Looks at the platform for each delivery that only a person can resolve, and reports to `settle` whether the write
 * took effect. With `force` a write that did not is sent again at once, as by `replay --force`. With `ignore` the
 * platform stays as it is if no request is in flight.
 */
export async function helpAsPerson(
  file: string,
  way: PersonsWay,
  parts: { process: ModelProcess; api: ModelApi; witness: Witness; time: VirtualTime; reach: Milestones['reach'] },
): Promise<void> {
  const { process, api, time } = parts;
  // A request that the platform still works on may take effect after the look.
  if (api.working() > 0) return;
  const items = readItems(file);
  if (way === 'ignore') return ignoreStuck(items, parts);
  for (const item of items) {
    if (item.open?.state !== 'in_doubt' || item.open.dueAt > 0) continue;
    const resolving = resolve(item, way, { ...parts, items });
    resolving.catch((error: unknown) => {
      parts.witness.breaches.push(`Threw: ${String(error)}`);
    });
    await time.settle();
    process.wake();
  }
}

async function ignoreStuck(
  items: readonly ItemState[],
  { process, witness, time, reach }: Parameters<typeof helpAsPerson>[2],
): Promise<void> {
  for (const { key } of items) {
    const ignoring = process.ledger.deliveriesNamed(key).then(async (deliveries) => {
      for (const delivery of deliveries.filter((one) => mayBeSettled(one, 'ignored'))) {
        const [settled] = await process.ledger.settle([manualSettlement(delivery, { said: 'ignored' })]);
        if (settled?.applied) reach('a person ended a write');
      }
    });
    ignoring.catch((error: unknown) => {
      witness.breaches.push(`Threw: ${String(error)}`);
    });
    await time.settle();
    process.wake();
  }
}

async function resolve(
  item: ItemState,
  way: PersonsWay,
  { process, api, witness, items, reach }: Parameters<typeof helpAsPerson>[2] & { items: ItemState[] },
): Promise<void> {
  const remote = remoteOf(api, asSent(item), items);
  const hasArrived = remote !== null && showsWrite(item, remote, witness);
  if (!hasArrived && way === 'force') {
    reach('a person had it sent again');
    const selection = { states: ['in_doubt' as const], sources: [], keys: [], deliveryIds: [item.id] };
    await process.replay({ selection, force: true, dryRun: false });
    return;
  }
  // Another one may have begun since the person looked, and nobody has looked at the platform for that one.
  const deliveries = await process.ledger.deliveriesNamed(item.key);
  const delivery = deliveries.find((one) => deliveryNumber(one) === item.open?.number);
  if (delivery === undefined) return;
  const resolution: ManualResolution = hasArrived
    ? { said: 'delivered', remoteId: idFor(delivery, remote) }
    : { said: 'rejected' };
  const [settled] = await process.ledger.settle([manualSettlement(delivery, resolution)]);
  if (!settled?.applied) return;
  reach(hasArrived ? 'a person said that it had arrived' : 'a person said that it had not arrived');
}

/** The item as it was sent, because a person looks for the name in the request and not for a newer one. */
function asSent(item: ItemState): ItemState {
  const name = item.open?.desired?.[item.kind === 'product' ? 'sku' : 'code'];
  return typeof name === 'string' ? { ...item, naturalKey: name } : item;
}

/** The remote id that the person has read at the platform; only a create has one. */
function idFor({ operation }: NamedDelivery, remote: NonNullable<ReturnType<typeof remoteOf>>): PersonsIdOrNull {
  const isNew = kindToBind(operation) !== null || operation === 'bom_item.create';
  return isNew ? (remote['id'] ?? null) : null;
}
type PersonsIdOrNull = Extract<ManualResolution, { said: 'delivered' }>['remoteId'];

function showsWrite(
  { kind, open }: ItemState,
  remote: NonNullable<ReturnType<typeof remoteOf>>,
  witness: Witness,
): boolean {
  const sent = open?.desired ?? {};
  if (kind === 'passport') return remote['status'] === sent['status'];
  // An item that was created since the backup is at the platform, even with another content than the ledger has.
  return (witness.hasRestored() && open?.operation.endsWith('.create') === true) || showsPayload(remote, sent);
}
