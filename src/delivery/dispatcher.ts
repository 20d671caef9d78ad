import { OPERATIONS, type Operation } from '../domain/delivery/operation.ts';
import { lostJobsFault } from '../domain/faults.ts';
import type { DeliveryName, DueDelivery, SuspendedWork } from '../domain/ports/deliveries.ts';
import type { DeliveryLedger } from '../domain/ports/ledger/delivery-ledger.ts';
import type { JobResult, Queues, ReceivedJob, WakeUpJob } from '../domain/ports/queues.ts';
import type { Clock } from '../lib/clock.ts';
import type { Fault } from '../lib/errors.ts';
import { isJsonObject } from '../lib/json.ts';
import type { Logger } from '../lib/logging/logging.ts';
import type { ApiHealth } from './admission/api-health.ts';
import type { DeliveryWindow } from './delivery-window.ts';
import { type FailedJobs, isStuckJob } from './failed-jobs.ts';

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
/**
 * If no job was received for this long although the queue counts active jobs, the jobs were evicted or their worker has
 * died.
 */
const UNRECEIVED_MS = 5000;

interface DispatcherOptions {
  ledger: Pick<DeliveryLedger, 'dueDeliveries' | 'dueByHand' | 'someDueDelivery'>;
  queues: Pick<Queues, 'enqueue' | 'counts'>;
  window: DeliveryWindow;
  /** Null in a process that does not show failed jobs. */
  failedJobs: FailedJobs | null;
  /** The work that must not be enqueued, because it could not be sent now. */
  suspended: () => SuspendedWork;
  health: Pick<ApiHealth, 'needsSample' | 'failedLately'>;
  /** Numbers in [0, 1). */
  random: () => number;
  clock: Pick<Clock, 'ticks'>;
  log: Logger;
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
 * those that cannot wait behind thousands of jobs. Notices when the queue has lost its jobs.
 */
export function createDispatcher(options: DispatcherOptions) {
  const { ledger, queues, window, failedJobs, suspended, health, random, clock, log } = options;
  const shares: Share[] = [
    { name: 'newProducts', leavesOut: OPERATIONS.filter((one) => one !== 'product.create'), afterId: 0 },
    { name: 'others', leavesOut: ['product.create'], afterId: 0 },
  ];
  /** The delivery that was drawn last. */
  let sampled: number | null = null;
  /** How many jobs wait for room in the window. */
  let receiving = 0;
  /** How often the jobs were lost since the last one was received. */
  let losses = 0;
  /** When a job was last enqueued or received. */
  let movedAt = Number.NEGATIVE_INFINITY;

  async function enqueue(due: readonly DueDelivery[]): Promise<void> {
    const jobs: WakeUpJob[] = [];
    for (let at = 0; at < due.length; at += JOB_SIZE) jobs.push(dueJob(due.slice(at, at + JOB_SIZE)));
    window.enqueue(due);
    try {
      await queues.enqueue('deliver', jobs);
      movedAt = clock.ticks();
    } catch (error) {
      window.lose(due.map(({ id }) => id));
      throw error;
    }
  }

  async function fillShare(share: Share): Promise<void> {
    for (;;) {
      const limit = window.placesFor(share.name);
      if (limit < ROOM_MIN) return;
      const work = suspended();
      const operations = [...work.operations, ...share.leavesOut];
      const due = await ledger.dueDeliveries({ afterId: share.afterId, limit, suspended: { ...work, operations } });
      const fresh = due.filter(({ id }) => window.stageOf(id) === 'due');
      if (fresh.length > 0) await enqueue(fresh);
      share.afterId = due.at(-1)?.id ?? 0;
      // After the end of the list the next call begins at the start, because a retry that has become due can have a low
      // id.
      if (due.length < limit) {
        share.afterId = 0;
        return;
      }
    }
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

  /** The number of jobs or deliveries that were enqueued and not received. */
  const awaited = (): number => window.count('enqueued') + (failedJobs?.outstanding() ?? 0);

  /** The fault of a queue that loses its jobs again and again; null while it keeps them. */
  const trouble = (): Fault | null => lostJobsFault('deliver', losses);

  /** Logs the first loss, and once more when the queue seems to keep no job. */
  function noteLoss(outstanding: number): void {
    const former = trouble();
    losses += 1;
    const present = trouble();
    if (losses === 1)
      log.warn({ outstanding }, 'The queue has lost its jobs; dpp-sync enqueues them again from the ledger.');
    else if (former === null && present !== null)
      log.error({ outstanding }, `${present.message} ${present.suggestion ?? ''}`);
  }

  return {
    /** Enqueues due deliveries until the queue is full or none is left. */
    async fill(): Promise<void> {
      for (const share of shares) await fillShare(share);
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
    /** Receives the deliveries that a job names, as soon as the window has room for them. */
    async receive(job: ReceivedJob, abort: AbortSignal): Promise<JobResult> {
      losses = 0;
      if (isStuckJob(job) && failedJobs) return failedJobs.process(job);
      const names = dueNamesOf(job);
      receiving += 1;
      try {
        const count = await window.receiveNamed(names, abort);
        return { status: 'done', note: `${count} of ${names.length} received` };
      } finally {
        receiving -= 1;
        movedAt = clock.ticks();
      }
    },
    /**
     * Finds out whether the queue was wiped. The deliveries of the lost jobs are then due again, and the next `fill`
     * enqueues them from the start of the ledger's list.
     *
     * @returns true if jobs were lost
     */
    async noticeLostJobs(): Promise<boolean> {
      const before = awaited();
      if (before === 0) losses = 0;
      if (before === 0 || receiving > 0) return false;
      const { waiting, active } = await queues.counts('deliver');
      const isReceivedSoon = active > 0 && clock.ticks() - movedAt < UNRECEIVED_MS;
      if (waiting > 0 || isReceivedSoon || receiving > 0 || awaited() !== before) return false;
      noteLoss(before);
      window.lose();
      for (const share of shares) share.afterId = 0;
      failedJobs?.queueLost();
      return true;
    },
    trouble,
  };
}

export type Dispatcher = ReturnType<typeof createDispatcher>;

/** A job that asks for deliveries to be attempted. */
function dueJob(due: readonly DueDelivery[]): WakeUpJob {
  const [first] = due;
  return {
    name: due.length === 1 && first ? `${first.operation} ${first.key} (${first.source})` : `${due.length} deliveries`,
    data: {
      type: 'deliver',
      deliveries: due.map(({ id, kind, key, revision, operation, source }) => ({
        deliveryId: id,
        item: { kind, key },
        revision,
        operation,
        source,
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
