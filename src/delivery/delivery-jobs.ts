import type { DeliveryName } from '../domain/ports/claim.ts';
import type { DueDelivery } from '../domain/ports/due.ts';
import type { StuckDelivery } from '../domain/ports/ledger/ledger-views.ts';
import type { WakeUpJob } from '../domain/ports/queues.ts';
import { stateWord } from '../domain/words.ts';
import { isJsonObject } from '../lib/json.ts';

/**
 * The name of a delivery in the jobs of the `deliver` queue: id, item and revision. After a restore an id can belong to another
 * delivery. Then the item or the revision differs.
 */
type NamedDelivery = Pick<DueDelivery, 'id' | 'kind' | 'key' | 'revision'>;

/** A job that asks for deliveries to be attempted. */
export function dueJob(due: readonly DueDelivery[]): WakeUpJob {
  const [first] = due;
  return {
    name: due.length === 1 && first ? `${first.operation} ${first.key} (${first.source})` : `${due.length} deliveries`,
    data: {
      type: 'deliver',
      deliveries: due.map((delivery) => ({
        ...nameOf(delivery),
        operation: delivery.operation,
        source: delivery.source,
      })),
    },
  };
}

/** The deliveries that a job asks for. The other fields of the job are for people, because the ledger has the facts. */
export function dueNamesOf({ data }: Pick<WakeUpJob, 'data'>): DeliveryName[] {
  const { type, deliveries } = data;
  if (type !== 'deliver' || !Array.isArray(deliveries)) return [];
  return deliveries.flatMap((entry) => {
    if (!isJsonObject(entry)) return [];
    const { deliveryId: id, revision } = entry;
    return typeof id === 'number' && typeof revision === 'number' ? [{ id, revision }] : [];
  });
}

/** A job that ends as failed. It shows a person a delivery that needs attention. */
export function stuckJob(stuck: StuckDelivery): WakeUpJob {
  const { key, naturalKey, operation, source, state, reason } = stuck;
  return {
    name: `${operation} ${naturalKey ?? key}${source === null ? '' : ` (${source})`}: ${stateWord(state)}`,
    data: { type: 'failed', ...nameOf(stuck), naturalKey, operation, source, state, reason: reason.message },
  };
}

export function isStuckJob({ data }: Pick<WakeUpJob, 'data'>): boolean {
  return data['type'] === 'failed';
}

/** The delivery that a failed job shows; null if the job does not name it fully. */
export function stuckDeliveryOf({ data }: Pick<WakeUpJob, 'data'>): number | null {
  return typeof data['deliveryId'] === 'number' ? data['deliveryId'] : null;
}

/** True if a job shows this delivery, and not an earlier one with the same id. */
export function shows({ data }: Pick<WakeUpJob, 'data'>, { id, kind, key, revision }: NamedDelivery): boolean {
  const { item } = data;
  const isOfItem = isJsonObject(item) && item['kind'] === kind && item['key'] === key;
  return isOfItem && data['deliveryId'] === id && data['revision'] === revision;
}

function nameOf({ id, kind, key, revision }: NamedDelivery) {
  return { deliveryId: id, item: { kind, key }, revision };
}
