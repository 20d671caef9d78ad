import type { DeliveryName } from '../domain/ports/claim.ts';
import type { DueDelivery, SuspendedWork } from '../domain/ports/due.ts';
import type { Ledger } from '../domain/ports/ledger.ts';
import type { Queues, WakeUpJob } from '../domain/ports/queues.ts';
import type { Clock } from '../lib/clock.ts';
import type { ApiHealth } from './admission/api-health.ts';
import { dueJob } from './delivery-jobs.ts';
import { createKnownDeliveries, type Named } from './known-deliveries.ts';
import type { ReceivedQueue } from './received-queue.ts';

/** How many deliveries may be enqueued, received or in flight at once (I9): a million due deliveries never mean a million jobs. */
const DEPTH_MAX = 2000;
/** How many deliveries one job names. */
const JOB_SIZE = 100;
/** The queue is topped up once it has room for so many, so that jobs are full while there is much to do. */
const ROOM_MIN = 500;
/** How many deliveries are received or in flight at once. Most of them wait for their turn, so that there is always one to take it. */
const RECEIVED_MAX = 320;
/** So many that were asked for by hand are under way at once without a job. */
const BY_HAND_MAX = 64;
/** So often a sample is drawn until it is a delivery that is not under way and has not failed. */
const DRAWS = 20;
/** The dispatcher asks to be called again after so many deliveries have ended, and once none is left. */
const LOOK_AFTER = 200;

/**
 * Keeps the `deliver` queue topped up from the ledger, and knows every delivery that is on its way. It keeps that in memory only:
 * after a restart everything is enqueued again, and a job that comes twice finds nothing to claim.
 */
export interface Dispatcher {
  /** Enqueues due deliveries until the queue is full or nothing is left. Gives how many it enqueued. */
  fill(): Promise<number>;
  /**
   * Receives what is to be sent at once, without a job: deliveries that were asked for by hand, since a job would wait behind
   * thousands of others; and where many writes in a row have failed one from anywhere among those that are due, since those
   * that are at fault stand together in an export.
   */
  fillAtOnce(): Promise<void>;
  /**
   * A job named these deliveries. Resolves once all of them found room, or as soon as the work is stopped: the others are forgotten
   * then, since no job names them any more. Gives how many were received.
   */
  receive(names: readonly DeliveryName[], abort: AbortSignal): Promise<number>;
  /** Receives due deliveries at once, whether or not there is room. */
  receiveNow(due: readonly Named[], byHand: boolean): void;
  /** These deliveries are claimed. */
  claimed(names: readonly Named[]): void;
  /** These deliveries have ended, or were not sent after all: they are enqueued again where they are still due. */
  done(ids: readonly number[]): void;
  /** Deliveries that are enqueued, received or in flight. */
  outstanding(): number;
  /** Deliveries whose job was not received yet. */
  enqueued(): number;
  /** Forgets what is enqueued, since the queue has lost it. */
  lost(): void;
  /** Forgets what was enqueued or received and is not sent any more: it stays as due in the ledger as it was. */
  stop(): void;
}

export interface DispatcherOptions {
  ledger: Pick<Ledger, 'dueDeliveries' | 'dueByHand' | 'someDueDelivery'>;
  queues: Pick<Queues, 'enqueue'>;
  queue: ReceivedQueue;
  /** What is not enqueued, because it could not be sent now. */
  suspended: () => SuspendedWork;
  health: Pick<ApiHealth, 'needsSample' | 'isSuspect'>;
  /** How many deliveries one bulk import takes at most. */
  importMax: number;
  /** Deliveries were received. */
  onReceived: () => void;
  /** There may be room for more. */
  onRoom: () => void;
  clock: Pick<Clock, 'ticks'>;
  /** Numbers in [0, 1). */
  random: () => number;
}

export function createDispatcher(options: DispatcherOptions): Dispatcher {
  const { ledger, queues, queue, suspended, health, onReceived, onRoom, clock, random } = options;
  /** A bulk import is gathered from what was received. */
  const receivedMax = Math.min(DEPTH_MAX, Math.max(RECEIVED_MAX, options.importMax));
  const known = createKnownDeliveries();
  let afterId = 0;
  let sampled: number | null = null;
  let ended = 0;
  let room = Promise.withResolvers<void>();

  const underWay = (): number => known.count('received') + known.count('in_flight');

  function receiveOne(one: Named, byHand: boolean): void {
    const { id, revision, operation } = one;
    known.enter(one, 'received', byHand);
    const now = clock.ticks();
    queue.add({ id, revision, operation, urgent: byHand, receivedAt: now, lookedAt: now });
  }

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

  async function sample(): Promise<DueDelivery[]> {
    if (!health.needsSample() || (sampled !== null && known.isUnderWay(sampled))) return [];
    for (let draw = 0; draw < DRAWS; draw += 1) {
      const one = await ledger.someDueDelivery({ place: random(), held: suspended() });
      if (one === null || known.isUnderWay(one.id) || health.isSuspect(one.id)) continue;
      sampled = one.id;
      return [one];
    }
    return [];
  }

  /** The delivery with this name, where it is known and its job was not received yet. */
  function enqueuedOne({ id, revision }: DeliveryName): Named | null {
    const one = known.get(id);
    return one?.stage === 'enqueued' && one.revision === revision ? one : null;
  }

  function receiveNow(due: readonly Named[], byHand: boolean): void {
    for (const one of due) receiveOne(one, byHand);
    if (due.length > 0) onReceived();
  }

  return {
    receiveNow,
    async fill() {
      let count = 0;
      while (DEPTH_MAX - known.size() >= ROOM_MIN) {
        const limit = DEPTH_MAX - known.size();
        const due = await ledger.dueDeliveries({ afterId, limit, held: suspended() });
        const fresh = due.filter(({ id }) => !known.has(id));
        if (fresh.length > 0) await enqueue(fresh);
        count += fresh.length;
        afterId = due.at(-1)?.id ?? 0;
        // At the end the next call starts over: a retry that has become due has a low id.
        if (due.length < limit) {
          afterId = 0;
          break;
        }
      }
      return count;
    },
    async fillAtOnce() {
      const places = BY_HAND_MAX - known.byHand();
      if (places > 0) {
        const due = await ledger.dueByHand({ limit: 2 * BY_HAND_MAX, held: suspended() });
        receiveNow(due.filter(({ id }) => !known.isUnderWay(id)).slice(0, places), true);
      }
      receiveNow(await sample(), true);
    },
    async receive(names, abort) {
      let count = 0;
      for (const name of names) {
        while (underWay() >= receivedMax && !abort.aborted) {
          onReceived();
          await room.promise;
        }
        if (abort.aborted) break;
        // A job that names another revision, or nothing that is awaited, changes nothing.
        const one = enqueuedOne(name);
        if (one === null) continue;
        receiveOne(one, false);
        count += 1;
      }
      for (const name of abort.aborted ? names : []) if (enqueuedOne(name) !== null) known.forget(name.id);
      if (count > 0) onReceived();
      return count;
    },
    claimed(names) {
      for (const one of names) known.enter(one, 'in_flight');
    },
    done(ids) {
      const before = ended;
      for (const id of ids) if (known.forget(id)) ended += 1;
      room.resolve();
      room = Promise.withResolvers();
      const isRound = Math.floor(ended / LOOK_AFTER) > Math.floor(before / LOOK_AFTER);
      if (isRound || (ended > before && underWay() === 0)) onRoom();
    },
    outstanding: () => known.size(),
    enqueued: () => known.count('enqueued'),
    lost() {
      known.forgetAll('enqueued');
      afterId = 0;
    },
    stop() {
      for (const { id } of queue.clear()) known.forget(id);
      known.forgetAll('enqueued');
      room.resolve();
    },
  };
}
