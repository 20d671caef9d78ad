import { OPERATIONS, type Operation } from '../domain/delivery/operation.ts';
import type { DueDelivery, SuspendedWork } from '../domain/ports/due.ts';
import type { DeliveryLedger } from '../domain/ports/ledger/delivery-ledger.ts';
import type { Queues, WakeUpJob } from '../domain/ports/queues.ts';
import type { ApiHealth } from './admission/api-health.ts';
import { dueJob } from './delivery-jobs.ts';
import type { DeliveryWindow } from './delivery-window.ts';

/** The most deliveries that one job names. */
const JOB_SIZE = 250;
/**
 * The queue is filled again when it has room for this many deliveries, so that jobs are full while there is much to do.
 */
const ROOM_MIN = 500;
/** The most deliveries that are read to find those that were asked for by hand. */
const BY_HAND_READ = 128;
/** The dispatcher draws a random delivery at most this many times, to find one that is not in flight and has not failed. */
const DRAWS = 20;

interface DispatcherOptions {
  ledger: Pick<DeliveryLedger, 'dueDeliveries' | 'dueByHand' | 'someDueDelivery'>;
  queues: Pick<Queues, 'enqueue'>;
  window: DeliveryWindow;
  /** The work that must not be enqueued, because it could not be sent now. */
  suspended: () => SuspendedWork;
  health: Pick<ApiHealth, 'needsSample' | 'failedLately'>;
  /** Numbers in [0, 1). */
  random: () => number;
}

/** A group of due deliveries that has its own places in the window. */
interface Share {
  name: 'newProducts' | 'others';
  /** The operations that belong to other shares. */
  leavesOut: readonly Operation[];
  /** Where the ledger's list of due deliveries continues. */
  afterId: number;
}

/**
 * Takes due deliveries from the ledger into the window: most of them as jobs of the queue `deliver`, and without a job
 * those that cannot wait behind thousands of jobs.
 */
export function createDispatcher({ ledger, queues, window, suspended, health, random }: DispatcherOptions) {
  const shares: Share[] = [
    { name: 'newProducts', leavesOut: OPERATIONS.filter((one) => one !== 'product.create'), afterId: 0 },
    { name: 'others', leavesOut: ['product.create'], afterId: 0 },
  ];
  /** The delivery that was drawn last. */
  let sampled: number | null = null;

  async function enqueue(due: readonly DueDelivery[]): Promise<void> {
    const jobs: WakeUpJob[] = [];
    for (let at = 0; at < due.length; at += JOB_SIZE) jobs.push(dueJob(due.slice(at, at + JOB_SIZE)));
    window.enqueue(due);
    try {
      await queues.enqueue('deliver', jobs);
    } catch (error) {
      window.lose(due.map(({ id }) => id));
      throw error;
    }
  }

  async function fillShare(share: Share): Promise<number> {
    let count = 0;
    for (;;) {
      const limit = window.placesFor(share.name);
      if (limit < ROOM_MIN) break;
      const work = suspended();
      const operations = [...work.operations, ...share.leavesOut];
      const due = await ledger.dueDeliveries({ afterId: share.afterId, limit, suspended: { ...work, operations } });
      const fresh = due.filter(({ id }) => window.stageOf(id) === 'due');
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

  /**
   * Draws a due delivery from any place in the ledger, if `health` needs a sample and the last drawn delivery has
   * ended. The drawn delivery has not failed lately and is not received yet.
   */
  async function sample(): Promise<DueDelivery[]> {
    if (!health.needsSample() || (sampled !== null && window.isUnderWay(sampled))) return [];
    for (let draw = 0; draw < DRAWS; draw += 1) {
      const one = await ledger.someDueDelivery({ place: random(), suspended: suspended() });
      if (one === null || window.isUnderWay(one.id) || health.failedLately(one.id)) continue;
      sampled = one.id;
      return [one];
    }
    return [];
  }

  return {
    /** Enqueues due deliveries until the queue is full or none is left. Returns how many it enqueued. */
    async fill(): Promise<number> {
      let count = 0;
      for (const share of shares) count += await fillShare(share);
      return count;
    },
    /**
     * Receives deliveries at once, without a job. Deliveries that were asked for by hand must not wait behind thousands
     * of jobs. If many writes in a row have failed, it also receives one delivery from anywhere among the due ones,
     * because faulty rows often stand together in an export.
     */
    async fillAtOnce() {
      const places = window.placesByHand();
      if (places > 0) {
        const due = await ledger.dueByHand({ limit: BY_HAND_READ, suspended: suspended() });
        window.receive(due.filter(({ id }) => !window.isUnderWay(id)).slice(0, places), true);
      }
      window.receive(await sample(), true);
    },
    /** Call it when the queue has lost its jobs. Their deliveries are enqueued again, from the start of the ledger's list. */
    lost() {
      window.lose();
      for (const share of shares) share.afterId = 0;
    },
  };
}

export type Dispatcher = ReturnType<typeof createDispatcher>;
