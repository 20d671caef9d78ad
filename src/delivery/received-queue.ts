import type { Operation } from '../domain/delivery/operation.ts';
import type { DueDelivery } from '../domain/ports/due.ts';
import { createLinkedList, type LinkedList } from '../lib/collections/linked-list.ts';

/** The ledger is asked about this many received deliveries at once. */
export const LOOKED_UP_AT_ONCE = 64;

/** A delivery whose job was received and that waits to be sent. */
export interface Received extends Pick<DueDelivery, 'id' | 'revision' | 'operation'> {
  /** True if a person may be waiting for this delivery. */
  urgent: boolean;
  /** When the delivery was received, by `Clock.ticks`. */
  receivedAt: number;
  /** When the ledger last confirmed that the delivery is due, by `Clock.ticks`. */
  lookedAt: number;
  /** When the API last refused its scope to this delivery; null if never, undefined if the ledger was not asked yet. */
  deniedAt?: number | null;
}

/** The operations that a bulk import can carry: changed products, and new ones. */
export type Importable = 'product.import' | 'product.create';

/**
 * The order of the received deliveries, as a priority queue: urgent ones first. New products and all other deliveries take turns, each in
 * the order in which they were received, so that a BOM item does not wait until all new products are sent.
 *
 * The cost of each method depends only on the deliveries that it returns or changes, not on the number of waiting ones.
 * For this, changed products are in a second list too.
 */
export function createReceivedQueue() {
  const urgent = createLane();
  const bulk = createLane();
  const lanes = [urgent, bulk];
  const counts = new Map<Operation, number>();

  function counted({ operation }: Received, by: 1 | -1): void {
    counts.set(operation, (counts.get(operation) ?? 0) + by);
  }
  const laneOf = (one: Received): Lane => (one.urgent ? urgent : bulk);

  function add(one: Received, end: 'append' | 'prepend'): void {
    const lane = laneOf(one);
    lane[partOf(one)][end](one);
    if (one.operation === 'product.import') lane.changes[end](one);
    counted(one, 1);
  }

  const listOf = (lane: Lane, operation: Importable): LinkedList<Received> =>
    operation === 'product.create' ? lane.creates : lane.changes;
  const first = (operation: Importable): Received | undefined =>
    listOf(urgent, operation).first() ?? listOf(bulk, operation).first();

  return {
    append: (one: Received) => add(one, 'append'),
    /** Puts a delivery to the front of its priority. */
    prepend: (one: Received) => add(one, 'prepend'),
    remove(one: Received) {
      const lane = laneOf(one);
      const part = partOf(one);
      if (!lane[part].remove(one)) return;
      if (one.operation === 'product.import') lane.changes.remove(one);
      lane.turn = part === 'creates' ? 'others' : 'creates';
      counted(one, -1);
    },
    /** All deliveries in their order. The caller may remove the current delivery during the iteration. */
    *inOrder(): Iterable<Received> {
      for (const lane of lanes) yield* inTurns(lane);
    },
    /** The first delivery with an operation that imports can carry. */
    first,
    /** For an operation that imports can carry: how many deliveries wait, and since when the first one has waited. */
    waiting: (operation: Importable): { count: number; since: number } => ({
      count: counts.get(operation) ?? 0,
      since: first(operation)?.receivedAt ?? 0,
    }),
    /** True if a delivery of this operation waits. */
    has: (operation: Operation) => (counts.get(operation) ?? 0) > 0,
  };
}

export type ReceivedQueue = ReturnType<typeof createReceivedQueue>;

/** Deliveries of one urgency, in their order. */
interface Lane {
  creates: LinkedList<Received>;
  others: LinkedList<Received>;
  /** The changed products among the other deliveries. */
  changes: LinkedList<Received>;
  /** The part from which the next delivery is taken, unless that part is empty. */
  turn: 'creates' | 'others';
}

function createLane(): Lane {
  return { creates: createLinkedList(), others: createLinkedList(), changes: createLinkedList(), turn: 'creates' };
}

const partOf = ({ operation }: Received): 'creates' | 'others' =>
  operation === 'product.create' ? 'creates' : 'others';

/** The deliveries of a lane, from both parts in turns. This is asked for with each request, and mostly one part is empty. */
function inTurns({ creates, others, turn }: Lane): Iterable<Received> {
  if (others.size() === 0) return creates;
  if (creates.size() === 0) return others;
  return turn === 'creates' ? alternating(creates, others) : alternating(others, creates);
}

function* alternating(first: Iterable<Received>, second: Iterable<Received>): Generator<Received> {
  const [ones, others] = [first[Symbol.iterator](), second[Symbol.iterator]()];
  for (;;) {
    const one = ones.next();
    if (one.done !== true) yield one.value;
    const other = others.next();
    if (other.done !== true) yield other.value;
    if (one.done === true && other.done === true) return;
  }
}

export function isImportable(operation: Operation): operation is Importable {
  return operation === 'product.import' || operation === 'product.create';
}
