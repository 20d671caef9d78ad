// The window has every delivery that this process has taken up and not ended, each in one stage:
//
//        ┌─────────receive, without a job──────────┐
//        │                                         ▼
//       due ──enqueue──► enqueued ──receive──► received ──admit──► admitted ──claim──► in flight
//        ▲                   │                     ▲                   │
//        └───────lose────────┘                     └──────putBack──────┘
//
//   each stage ──end──► due, or no longer due: the ledger has the state
//
//   stage      the delivery                                                   bound
//   due        is due in the ledger, and not in the window                    none: it takes no memory
//   enqueued   is named by a job of the queue `deliver`                       DEPTH_MAX with all later stages
//   received   waits for its admission, in the order of the received queue    RECEIVED_MAX with all later stages
//   admitted   has a slot, and the ledger is asked to claim it                the slots of `admission.ts`
//   in flight  is claimed: it is being sent, or its outcome is being stored   the slots of `admission.ts`
//
//   move       who makes it
//   enqueue    dispatcher: a job names the delivery.
//   receive    dispatcher: the job has come, and there is room. Without a job: a person waits for the delivery, or it is
//              a sample.
//   admit      admission: the request may be sent at once.
//   putBack    claims: the ledger cannot be written, or the import takes fewer deliveries. They become the first again.
//   claim      claims: the claim is durable. From each stage, because an import that is sent again brings its members.
//   lose       dispatcher: the queue has lost the job, or the job could not be enqueued.
//   end        settling: the outcome is stored. Admission: it must not be sent now, or is not due any more. Claims: it
//              cannot be claimed. Stop: it is not sent by this process.
//
// The window is in memory only. After a restart it is empty, and the dispatcher enqueues what is due. A job is only a
// wake-up: the delivery of a lost job is due again, and a job that comes twice finds its delivery in a later stage and
// changes nothing. No stage prevents a second send: the claim in the ledger does (I2, I3).
import type { Operation } from '../domain/delivery/operation.ts';
import type { DeliveryName, DueDelivery } from '../domain/ports/deliveries.ts';
import type { Clock, Wake } from '../lib/clock.ts';
import { createLinkedList, type LinkedList } from '../lib/collections.ts';

export type Stage = 'due' | 'enqueued' | 'received' | 'admitted' | 'inFlight';

/** The stage after each move. From any other stage the move changes nothing. */
const MOVES = {
  enqueue: { due: 'enqueued' },
  receive: { due: 'received', enqueued: 'received' },
  admit: { received: 'admitted' },
  putBack: { admitted: 'received' },
  claim: { due: 'inFlight', enqueued: 'inFlight', received: 'inFlight', admitted: 'inFlight', inFlight: 'inFlight' },
  lose: { enqueued: 'due' },
  end: { enqueued: 'due', received: 'due', admitted: 'due', inFlight: 'due' },
} satisfies Record<string, Partial<Record<Stage, Stage>>>;
type Move = keyof typeof MOVES;

/** The most deliveries in the window, besides those without a job (I9): a million due ones never become a million jobs. */
const DEPTH_MAX = 2000;
/**
 * The most places that new products may take, and also the most that all other deliveries may take together. So
 * materials and BOM items are sent beside the new products, and a BOM item does not wait until all new products are
 * sent.
 */
const SHARE_MAX = 1500;
/**
 * The most deliveries that may be received, admitted or in flight. Most of them wait, so that a free slot always finds
 * the next one.
 */
const RECEIVED_MAX = 320;
/**
 * The number of extra places for received deliveries that are not new products, so that waiting new products cannot
 * take all places.
 */
const PLACES_BESIDE = 80;
/** The most deliveries asked for by hand that are received without a job at the same time. */
const BY_HAND_MAX = 64;
/** The engine is woken after this many deliveries have ended, and when no delivery is left. */
const LOOK_AFTER = 200;

type Named = Pick<DueDelivery, 'id' | 'revision' | 'operation'>;

interface Entry extends Received {
  stage: Stage;
  /** When the delivery came into its stage, in milliseconds since the epoch. */
  since: number;
}

/** How many deliveries are in each stage. */
export interface StageCounts extends Record<Stage, number> {
  /** Since when the first delivery is in flight, in milliseconds since the epoch; null if none is. */
  inFlightSince: number | null;
}

/** The rests of the two loops that move deliveries. */
export interface Wakes {
  /** Woken when something may have become due, or when the window may have room for more. */
  engine: Wake;
  /** Woken when deliveries were received, when a slot is free, or when more may be allowed. */
  admission: Wake;
}

export function createDeliveryWindow(options: {
  /** How many members the imports have that may be received or in flight at present. They must fit into the window. */
  importMembers: () => number;
  wakes: Wakes;
  clock: Pick<Clock, 'ticks' | 'now'>;
}) {
  const { importMembers, wakes, clock } = options;
  const entries = new Map<number, Entry>();
  const counts: Record<Stage, number> = { due: 0, enqueued: 0, received: 0, admitted: 0, inFlight: 0 };
  const received = createReceivedQueue();
  let newProducts = 0;
  let urgent = 0;
  let ended = 0;
  let room = Promise.withResolvers<void>();

  const stageOf = (id: number): Stage => entries.get(id)?.stage ?? 'due';
  const underWay = (): number => counts.received + counts.admitted + counts.inFlight;

  function count(entry: Entry, by: 1 | -1): void {
    counts[entry.stage] += by;
    if (entry.operation === 'product.create') newProducts += by;
    if (entry.urgent) urgent += by;
  }

  /** Makes a move, and keeps the counts and the order of the received deliveries. False if the move changes nothing. */
  function move(by: Move, one: Named | undefined, isUrgent = false): boolean {
    if (one === undefined) return false;
    const { id, revision, operation } = one;
    const former = entries.get(id);
    const moves: Partial<Record<Stage, Stage>> = MOVES[by];
    const stage = moves[former?.stage ?? 'due'];
    if (stage === undefined) return false;
    if (former !== undefined) {
      count(former, -1);
      if (former.stage === 'received') received.remove(former);
    }
    if (stage === 'due') return entries.delete(id);
    const now = clock.ticks();
    const entry = former ?? { id, revision, operation, stage, since: 0, urgent: false, receivedAt: now, lookedAt: now };
    Object.assign(entry, { revision, operation, stage, since: clock.now(), urgent: entry.urgent || isUrgent });
    entries.set(id, entry);
    count(entry, 1);
    if (by === 'putBack') received.prepend(entry);
    else if (stage === 'received') received.append(Object.assign(entry, { receivedAt: now, lookedAt: now }));
    return true;
  }

  /** Makes room for deliveries that wait for it. */
  function freeRoom(): void {
    room.resolve();
    room = Promise.withResolvers();
  }

  /** The enqueued delivery with this name. */
  function enqueuedOne({ id, revision }: DeliveryName): Entry | undefined {
    const one = entries.get(id);
    return one?.stage === 'enqueued' && one.revision === revision ? one : undefined;
  }

  /** False while there is no room for a received delivery with this operation. */
  function hasRoom({ operation }: Named): boolean {
    const beside = operation === 'product.create' ? 0 : PLACES_BESIDE;
    return underWay() < Math.min(DEPTH_MAX, Math.max(RECEIVED_MAX, importMembers())) + beside;
  }

  return {
    stageOf,
    /** True if the delivery is received or in a later stage. */
    isUnderWay: (id: number) => !['due', 'enqueued'].includes(stageOf(id)),
    /** The received deliveries in their order. */
    received: received as Pick<ReceivedQueue, 'inOrder' | 'waiting' | 'has'>,
    /** The number of deliveries in the window. */
    size: () => entries.size,
    count: (stage: Exclude<Stage, 'due'>) => counts[stage],
    /**
     * The stages as `status` shows them. Some deliveries may have ended after the ledger was read.
     *
     * @param left how many deliveries are due or being sent in the ledger
     */
    stages(left: number): StageCounts {
      const times = [...entries.values()].flatMap(({ stage, since }) => (stage === 'inFlight' ? since : []));
      const inFlightSince = times.length === 0 ? null : Math.min(...times);
      return { ...counts, due: Math.max(0, left - entries.size), inFlightSince };
    },

    /** How many more new products, or how many more other deliveries, may be enqueued. */
    placesFor(share: 'newProducts' | 'others'): number {
      const taken = share === 'newProducts' ? newProducts : entries.size - newProducts;
      return Math.min(SHARE_MAX - taken, DEPTH_MAX - entries.size);
    },
    /** How many more deliveries may be received by hand. */
    placesByHand: () => BY_HAND_MAX - urgent,

    enqueue(due: readonly Named[]) {
      for (const one of due) move('enqueue', one);
    },
    /** Receives due deliveries without a job, even if there is no room. They are sent first if they are urgent. */
    receive(due: readonly Named[], isUrgent: boolean) {
      for (const one of due) move('receive', one, isUrgent);
      if (due.length > 0) wakes.admission.wake();
    },
    /**
     * Receives the deliveries that a job names. Resolves when all of them have found room, or after an abort. After an
     * abort the deliveries without room are due again, because no job names them any more. A name with another revision
     * changes nothing. Returns how many deliveries it received.
     */
    async receiveNamed(names: readonly DeliveryName[], abort: AbortSignal): Promise<number> {
      let count = 0;
      for (const name of names) {
        let one = enqueuedOne(name);
        while (one !== undefined && !hasRoom(one) && !abort.aborted) {
          wakes.admission.wake();
          await room.promise;
          one = enqueuedOne(name);
        }
        if (abort.aborted) break;
        if (move('receive', one)) count += 1;
      }
      for (const name of abort.aborted ? names : []) move('lose', enqueuedOne(name));
      if (count > 0) wakes.admission.wake();
      return count;
    },
    admit: (one: Named) => void move('admit', one),
    /** Admits the first received deliveries with this operation, at most `countMax`. */
    admitFirst(operation: Importable, countMax: number): Received[] {
      const admitted: Received[] = [];
      while (admitted.length < countMax) {
        const one = received.first(operation);
        if (one === undefined) break;
        move('admit', one);
        admitted.push(one);
      }
      return admitted;
    },
    putBack(ones: readonly Named[]) {
      for (const one of ones.toReversed()) move('putBack', one);
    },
    claim(members: readonly Named[]) {
      for (const one of members) move('claim', one);
    },
    /** Call it for deliveries whose jobs were lost. Later stages are kept. */
    lose(ids: Iterable<number> = entries.keys()) {
      for (const id of ids) move('lose', entries.get(id));
    },
    /** Call it when these deliveries have ended or are not sent. If they are still due, they are enqueued again. */
    end(ids: readonly number[]) {
      const before = ended;
      for (const id of ids) if (move('end', entries.get(id))) ended += 1;
      freeRoom();
      const isRound = Math.floor(ended / LOOK_AFTER) > Math.floor(before / LOOK_AFTER);
      if (isRound || (ended > before && underWay() === 0)) wakes.engine.wake();
    },
    /** Empties the stages in which nothing is sent. These deliveries stay due in the ledger. */
    stop() {
      for (const one of entries.values()) if (one.stage === 'enqueued' || one.stage === 'received') move('end', one);
      freeRoom();
    },
  };
}

export type DeliveryWindow = ReturnType<typeof createDeliveryWindow>;

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
