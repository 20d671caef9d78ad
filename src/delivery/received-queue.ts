import type { Operation } from '../domain/delivery.ts';
import type { DueDelivery } from '../domain/ports/due.ts';
import { type Scope, writesThatTake } from '../domain/scope.ts';
import { createLinkedList, type LinkedList } from '../lib/linked-list.ts';

/** A delivery whose job was received and that waits to be sent. */
export interface Received extends Pick<DueDelivery, 'id' | 'revision' | 'operation'> {
  /** True if a person may be waiting for it. */
  urgent: boolean;
  /** When it was received, by `Clock.ticks`. */
  receivedAt: number;
  /** When the ledger last confirmed that it is due, by `Clock.ticks`. */
  lookedAt: number;
  /** When the API last refused its scope to this delivery; null if never, undefined if that was not looked up yet. */
  deniedAt?: number | null;
}

/** The priority queue of received deliveries: urgent ones first, then in the order in which they were received. */
export interface ReceivedQueue {
  add(one: Received): void;
  /** Puts deliveries back to the front of their priority. */
  putBack(ones: readonly Received[]): void;
  remove(one: Received): void;
  /** Removes the deliveries with these ids. */
  removeAll(ids: ReadonlySet<number>): void;
  /** All deliveries in their order. The present one may be removed while walking. */
  inOrder(): Iterable<Received>;
  /** How many deliveries of bulk imports wait, and since when the first one has waited. */
  imports(): { count: number; since: number };
  /** Takes out at most `countMax` deliveries of bulk imports. */
  takeImports(countMax: number): Received[];
  count(): number;
  /** True if a waiting delivery needs this scope. */
  has(scope: Scope): boolean;
  /** Takes out all deliveries. */
  clear(): Received[];
}

/**
 * Everything but `clear` costs as much as the deliveries that it is about, however many others wait: members of bulk imports are
 * listed a second time, since they are gathered from among the others.
 */
export function createReceivedQueue(): ReceivedQueue {
  const urgent = createLane();
  const bulk = createLane();
  const lanes = [urgent, bulk];
  const byId = new Map<number, Received>();
  const counts = new Map<Operation, number>();

  function counted({ operation }: Received, by: 1 | -1): void {
    counts.set(operation, (counts.get(operation) ?? 0) + by);
  }
  const isImport = ({ operation }: Received): boolean => operation === 'product.import';
  const laneOf = (one: Received): Lane => (one.urgent ? urgent : bulk);

  function enter(one: Received, end: 'append' | 'prepend'): void {
    const { all, imports } = laneOf(one);
    all[end](one);
    if (isImport(one)) imports[end](one);
    byId.set(one.id, one);
    counted(one, 1);
  }

  function remove(one: Received): void {
    const { all, imports } = laneOf(one);
    if (!all.remove(one)) return;
    imports.remove(one);
    if (byId.get(one.id) === one) byId.delete(one.id);
    counted(one, -1);
  }

  return {
    add: (one) => enter(one, 'append'),
    putBack(ones) {
      for (const one of ones.toReversed()) enter(one, 'prepend');
    },
    remove,
    removeAll(ids) {
      for (const id of ids) {
        const one = byId.get(id);
        if (one !== undefined) remove(one);
      }
    },
    *inOrder() {
      for (const { all } of lanes) yield* all;
    },
    imports: () => ({
      count: counts.get('product.import') ?? 0,
      since: (urgent.imports.first() ?? bulk.imports.first())?.receivedAt ?? 0,
    }),
    takeImports(countMax) {
      const taken: Received[] = [];
      while (taken.length < countMax) {
        const one = urgent.imports.first() ?? bulk.imports.first();
        if (one === undefined) break;
        remove(one);
        taken.push(one);
      }
      return taken;
    },
    count: () => urgent.all.size() + bulk.all.size(),
    has: (scope) => writesThatTake([scope]).some((operation) => (counts.get(operation) ?? 0) > 0),
    clear() {
      const ones = lanes.flatMap(({ all }) => [...all]);
      for (const one of ones) remove(one);
      return ones;
    },
  };
}

/** Deliveries of one urgency, in their order. */
interface Lane {
  all: LinkedList<Received>;
  imports: LinkedList<Received>;
}

function createLane(): Lane {
  return { all: createLinkedList(), imports: createLinkedList() };
}
