import { OPERATIONS, type Operation } from '../domain/delivery/operation.ts';
import type { DeliveryName } from '../domain/ports/claim.ts';
import type { DueDelivery, SuspendedWork } from '../domain/ports/due.ts';
import type { DeliveryLedger } from '../domain/ports/ledger/delivery-ledger.ts';
import type { Queues, WakeUpJob } from '../domain/ports/queues.ts';
import type { Clock } from '../lib/clock.ts';
import type { ApiHealth } from './admission/api-health.ts';
import { dueJob } from './delivery-jobs.ts';
import type { ReceivedQueue } from './received-queue.ts';

/**
 * The most deliveries that may be enqueued, received or in flight (I9): a million due deliveries never become a million
 * jobs.
 */
const DEPTH_MAX = 2000;
/**
 * The most places that new products may take, and also the most that all other deliveries may take together. So
 * materials and BOM items are sent beside the new products, and a BOM item does not wait until all new products are
 * sent.
 */
const SHARE_MAX = 1500;
/** The most deliveries that one job names. */
const JOB_SIZE = 250;
/**
 * The queue is filled again when it has room for this many deliveries, so that jobs are full while there is much to do.
 */
const ROOM_MIN = 500;
/**
 * The most deliveries that may be received or in flight. Most of them wait, so that a free slot always finds the next
 * one.
 */
const RECEIVED_MAX = 320;
/**
 * The number of extra places for received deliveries that are not new products, so that waiting new products cannot
 * take all places.
 */
const PLACES_BESIDE = 80;
/** The most deliveries asked for by hand that are received without a job at the same time. */
const BY_HAND_MAX = 64;
/** The dispatcher draws a random delivery at most this many times, to find one that is not in flight and has not failed. */
const DRAWS = 20;
/** `onRoom` is called after this many deliveries have ended, and when no delivery is left. */
const LOOK_AFTER = 200;

interface DispatcherOptions {
  ledger: Pick<DeliveryLedger, 'dueDeliveries' | 'dueByHand' | 'someDueDelivery'>;
  queues: Pick<Queues, 'enqueue'>;
  queue: ReceivedQueue;
  /** The work that must not be enqueued, because it could not be sent now. */
  suspended: () => SuspendedWork;
  health: Pick<ApiHealth, 'needsSample' | 'failedLately'>;
  /** The most deliveries that one bulk import takes. */
  importMax: number;
  /** How many full imports may be received or in flight at present. */
  importsMax: () => number;
  /** Called when deliveries were received. */
  onReceived: () => void;
  /** Called when there may be room for more. */
  onRoom: () => void;
  clock: Pick<Clock, 'ticks'>;
  /** Numbers in [0, 1). */
  random: () => number;
}

/**
 * Enqueues due deliveries from the ledger, and knows which are enqueued, received and in flight. It only remembers them
 * in memory: after a restart all of them are enqueued again, and a job that comes twice finds nothing to claim.
 */
export function createDispatcher(options: DispatcherOptions) {
  const { ledger, queue, suspended, onReceived, onRoom, clock } = options;
  /** Whole bulk imports must fit into the received deliveries, because their members are gathered from them. */
  const receivedMax = (): number =>
    Math.min(DEPTH_MAX, Math.max(RECEIVED_MAX, options.importsMax() * options.importMax));
  const known = createKnownDeliveries();
  const sample = createSampler(options, known);
  const filler = createFiller(options, known);
  let ended = 0;
  let room = Promise.withResolvers<void>();

  const underWay = (): number => known.count('received') + known.count('in_flight');

  /** False while there is no room for a delivery with this operation. */
  function hasRoom({ operation }: Named): boolean {
    const beside = operation === 'product.create' ? 0 : PLACES_BESIDE;
    return underWay() < receivedMax() + beside;
  }

  function receiveOne(one: Named, byHand: boolean): void {
    const { id, revision, operation } = one;
    known.enter(one, 'received', byHand);
    const now = clock.ticks();
    queue.add({ id, revision, operation, urgent: byHand, receivedAt: now, lookedAt: now });
  }

  /** The delivery with this name, if it is enqueued and its job was not received yet. */
  function enqueuedOne({ id, revision }: DeliveryName): Named | null {
    const one = known.get(id);
    return one?.stage === 'enqueued' && one.revision === revision ? one : null;
  }

  /** Receives due deliveries at once, even if there is no room. */
  function receiveNow(due: readonly Named[], byHand: boolean): void {
    for (const one of due) receiveOne(one, byHand);
    if (due.length > 0) onReceived();
  }

  return {
    receiveNow,
    /** Enqueues due deliveries until the queue is full or none is left. Returns how many it enqueued. */
    fill: (): Promise<number> => filler.fill(),
    /**
     * Receives deliveries at once, without a job. Deliveries that were asked for by hand must not wait behind thousands
     * of jobs. If many writes in a row have failed, it also receives one delivery from anywhere among the due ones,
     * because faulty rows often stand together in an export.
     */
    async fillAtOnce() {
      const places = BY_HAND_MAX - known.byHand();
      if (places > 0) {
        const due = await ledger.dueByHand({ limit: 2 * BY_HAND_MAX, suspended: suspended() });
        receiveNow(due.filter(({ id }) => !known.isUnderWay(id)).slice(0, places), true);
      }
      receiveNow(await sample(), true);
    },
    /**
     * Receives the deliveries that a job names. Resolves when all of them have found room, or after an abort. After an
     * abort the dispatcher forgets the deliveries without room, because no job names them any more. Returns how many it
     * received.
     */
    async receive(names: readonly DeliveryName[], abort: AbortSignal): Promise<number> {
      let count = 0;
      for (const name of names) {
        // A job that names another revision, or a delivery that is not enqueued, changes nothing.
        let one = enqueuedOne(name);
        while (one !== null && !hasRoom(one) && !abort.aborted) {
          onReceived();
          await room.promise;
          one = enqueuedOne(name);
        }
        if (abort.aborted) break;
        if (one === null) continue;
        receiveOne(one, false);
        count += 1;
      }
      for (const name of abort.aborted ? names : []) if (enqueuedOne(name) !== null) known.forget(name.id);
      if (count > 0) onReceived();
      return count;
    },
    /** Call it when these deliveries were claimed. */
    claimed(names: readonly Named[]) {
      for (const one of names) known.enter(one, 'in_flight');
    },
    /** Call it when these deliveries have ended or were not sent. If they are still due, they are enqueued again. */
    done(ids: readonly number[]) {
      const before = ended;
      for (const id of ids) if (known.forget(id)) ended += 1;
      room.resolve();
      room = Promise.withResolvers();
      const isRound = Math.floor(ended / LOOK_AFTER) > Math.floor(before / LOOK_AFTER);
      if (isRound || (ended > before && underWay() === 0)) onRoom();
    },
    /** The number of deliveries that are enqueued, received or in flight. */
    outstanding: () => known.size(),
    /** The number of deliveries whose job was not received yet. */
    enqueued: () => known.count('enqueued'),
    /** Forgets the enqueued deliveries, because the queue has lost their jobs. */
    lost() {
      known.forgetAll('enqueued');
      filler.beginAgain();
    },
    /** Forgets the enqueued and received deliveries, because nothing more is sent. They stay due in the ledger. */
    stop() {
      for (const { id } of queue.clear()) known.forget(id);
      known.forgetAll('enqueued');
      room.resolve();
    },
  };
}

export type Dispatcher = ReturnType<typeof createDispatcher>;

/** A group of due deliveries that has its own places in the queue. */
interface Share {
  /** The operations that belong to other shares. */
  leavesOut: readonly Operation[];
  /** Where the ledger's list of due deliveries continues. */
  afterId: number;
  /** How many deliveries of this share are known. */
  count: () => number;
}

/** Fills the `deliver` queue with due deliveries. */
function createFiller(
  { ledger, queues, suspended }: Pick<DispatcherOptions, 'ledger' | 'queues' | 'suspended'>,
  known: KnownDeliveries,
) {
  const shares: Share[] = [
    {
      leavesOut: OPERATIONS.filter((operation) => operation !== 'product.create'),
      afterId: 0,
      count: () => known.newProducts(),
    },
    { leavesOut: ['product.create'], afterId: 0, count: () => known.size() - known.newProducts() },
  ];

  async function enqueue(due: readonly DueDelivery[]): Promise<void> {
    const jobs: WakeUpJob[] = [];
    for (let at = 0; at < due.length; at += JOB_SIZE) jobs.push(dueJob(due.slice(at, at + JOB_SIZE)));
    for (const one of due) known.enter(one, 'enqueued');
    try {
      await queues.enqueue('deliver', jobs);
    } catch (error) {
      for (const { id } of due) if (!known.isUnderWay(id)) known.forget(id);
      throw error;
    }
  }

  async function fillShare(share: Share): Promise<number> {
    let count = 0;
    for (;;) {
      const limit = Math.min(SHARE_MAX - share.count(), DEPTH_MAX - known.size());
      if (limit < ROOM_MIN) break;
      const due = await ledger.dueDeliveries({ afterId: share.afterId, limit, suspended: without(share.leavesOut) });
      const fresh = due.filter(({ id }) => !known.has(id));
      if (fresh.length > 0) await enqueue(fresh);
      count += fresh.length;
      share.afterId = due.at(-1)?.id ?? 0;
      // After the end of the list the next call begins at the start, because a retry that has become due can have a low
      // id.
      if (due.length < limit) {
        share.afterId = 0;
        break;
      }
    }
    return count;
  }

  function without(operations: readonly Operation[]): SuspendedWork {
    const work = suspended();
    return { ...work, operations: [...work.operations, ...operations] };
  }

  return {
    /** Enqueues as many deliveries as there is room for, and returns their number. */
    async fill(): Promise<number> {
      let count = 0;
      for (const share of shares) count += await fillShare(share);
      return count;
    },
    /** Makes the next `fill` begin at the start of the ledger's list. */
    beginAgain() {
      for (const share of shares) share.afterId = 0;
    },
  };
}

/**
 * Returns a function that draws a due delivery from any place in the ledger, if `health` needs a sample and the last
 * drawn delivery has ended. The drawn delivery has not failed lately and is not received yet.
 */
function createSampler(
  { ledger, suspended, health, random }: DispatcherOptions,
  known: KnownDeliveries,
): () => Promise<DueDelivery[]> {
  let sampled: number | null = null;
  return async () => {
    if (!health.needsSample() || (sampled !== null && known.isUnderWay(sampled))) return [];
    for (let draw = 0; draw < DRAWS; draw += 1) {
      const one = await ledger.someDueDelivery({ place: random(), suspended: suspended() });
      if (one === null || known.isUnderWay(one.id) || health.failedLately(one.id)) continue;
      sampled = one.id;
      return [one];
    }
    return [];
  };
}

/**
 * The stage of a delivery: named by a job (`enqueued`), waiting to be sent (`received`), or claimed and sent
 * (`in_flight`). A delivery that was asked for by hand is received without a job.
 */
type Stage = 'enqueued' | 'received' | 'in_flight';

type Named = Pick<DueDelivery, 'id' | 'revision' | 'operation'>;

interface Known extends Named {
  stage: Stage;
  byHand: boolean;
}

/** Every delivery that is enqueued, received or in flight, with its stage. In memory only. */
function createKnownDeliveries() {
  const known = new Map<number, Known>();
  const counts: Record<Stage, number> = { enqueued: 0, received: 0, in_flight: 0 };
  let byHandCount = 0;
  let newProducts = 0;

  /** Forgets a delivery. Returns false if it was not known. */
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
    get: (id: number): Known | undefined => known.get(id),
    has: (id: number) => known.has(id),
    /** True if the delivery is received or in flight. */
    isUnderWay: (id: number) => (known.get(id)?.stage ?? 'enqueued') !== 'enqueued',
    /**
     * Puts a delivery into a stage, whether or not it was known. A delivery that a person has asked for stays marked as
     * asked for by hand.
     */
    enter({ id, revision, operation }: Named, stage: Stage, byHand: boolean = false) {
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
    /** Forgets all deliveries in a stage. */
    forgetAll(stage: Stage) {
      for (const one of known.values()) if (one.stage === stage) forget(one.id);
    },
    count: (stage: Stage) => counts[stage],
    /** How many of the deliveries create products. */
    newProducts: () => newProducts,
    /** How many of the deliveries were asked for by hand. */
    byHand: () => byHandCount,
    size: () => known.size,
  };
}

type KnownDeliveries = ReturnType<typeof createKnownDeliveries>;

function isNewProduct({ operation }: Pick<Named, 'operation'>): boolean {
  return operation === 'product.create';
}
