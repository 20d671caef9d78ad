import type { DueDelivery } from '../domain/ports/due.ts';

/**
 * The stage of a delivery: named by a job (`enqueued`), waiting to be sent (`received`), or claimed and sent
 * (`in_flight`). A delivery that was asked for by hand is received without a job.
 */
export type Stage = 'enqueued' | 'received' | 'in_flight';

export type Named = Pick<DueDelivery, 'id' | 'revision' | 'operation'>;

interface Known extends Named {
  stage: Stage;
  byHand: boolean;
}

/** Every delivery that is enqueued, received or in flight, with its stage. In memory only. */
export interface KnownDeliveries {
  get(id: number): Known | undefined;
  has(id: number): boolean;
  /** True if the delivery is received or in flight. */
  isUnderWay(id: number): boolean;
  /**
   * Puts a delivery into a stage, whether or not it was known. A delivery that a person has asked for stays marked as
   * asked for by hand.
   */
  enter(one: Named, stage: Stage, byHand?: boolean): void;
  /** Forgets a delivery. Returns false if it was not known. */
  forget(id: number): boolean;
  /** Forgets all deliveries in a stage. */
  forgetAll(stage: Stage): void;
  count(stage: Stage): number;
  /** How many of the deliveries create products. */
  newProducts(): number;
  /** How many of the deliveries were asked for by hand. */
  byHand(): number;
  size(): number;
}

export function createKnownDeliveries(): KnownDeliveries {
  const known = new Map<number, Known>();
  const counts: Record<Stage, number> = { enqueued: 0, received: 0, in_flight: 0 };
  let byHandCount = 0;
  let newProducts = 0;

  function forget(id: number): boolean {
    const one = known.get(id);
    if (one === undefined) return false;
    known.delete(id);
    counts[one.stage] -= 1;
    if (one.byHand) byHandCount -= 1;
    if (isNewProduct(one)) newProducts -= 1;
    return true;
  }

  return {
    get: (id) => known.get(id),
    has: (id) => known.has(id),
    isUnderWay: (id) => (known.get(id)?.stage ?? 'enqueued') !== 'enqueued',
    enter({ id, revision, operation }, stage, byHand = false) {
      const before = known.get(id);
      if (before === undefined) {
        known.set(id, { id, revision, operation, stage, byHand });
      } else {
        counts[before.stage] -= 1;
        if (before.byHand) byHandCount -= 1;
        if (isNewProduct(before)) newProducts -= 1;
        Object.assign(before, { revision, operation, stage, byHand: byHand || before.byHand });
      }
      counts[stage] += 1;
      if (isNewProduct({ operation })) newProducts += 1;
      if (byHand || before?.byHand === true) byHandCount += 1;
    },
    forget,
    forgetAll(stage) {
      for (const one of known.values()) if (one.stage === stage) forget(one.id);
    },
    count: (stage) => counts[stage],
    newProducts: () => newProducts,
    byHand: () => byHandCount,
    size: () => known.size,
  };
}

function isNewProduct({ operation }: Pick<Named, 'operation'>): boolean {
  return operation === 'product.create';
}
