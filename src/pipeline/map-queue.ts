import { isLedgerFault, isQueueFault } from '../domain/faults.ts';
import type { Consumer, JobResult, Queues, ReceivedJob } from '../domain/ports/queues.ts';
import type { Fault } from '../lib/errors.ts';
import type { StoredRecordMapper } from './map-stored.ts';
import type { PageJobs } from './page-jobs.ts';

/**
 * The jobs of the `map` queue, of two sorts: one names a page that was read and is mapped before it is stored, the other names a
 * source whose stored records wait to be mapped. A job of a source maps all of them, so one for each source is enough at a time.
 */
export interface MapQueue extends Pick<PageJobs, 'mapPage' | 'room'> {
  start(): Promise<void>;
  /** Stored records of this source wait. Where the queue is out of reach, the watch enqueues the job later. */
  mapStored(source: string): Promise<void>;
  /** Enqueues jobs for sources whose records wait although nobody maps them: their job was lost. */
  watch(pendingSources: readonly string[]): Promise<void>;
  /** Why stored records cannot be mapped at the moment, or null: the ledger cannot be written. */
  trouble(): Fault | null;
  /** True while a job is in the queue or being worked on. */
  busy(): boolean;
  stop(): Promise<void>;
}

/** So many jobs are worked on at once: a source with very many stored records keeps no page of another source waiting. */
const CONCURRENCY = 8;
/** A job that was enqueued this many watches ago and not received is taken for lost. */
const LOST_AFTER_WATCHES = 2;

export function createMapQueue({
  queues,
  pages,
  storedRecords,
}: {
  queues: Queues;
  pages: PageJobs;
  storedRecords: StoredRecordMapper;
}): MapQueue {
  const abort = new AbortController();
  /** By source, the watches since its job was enqueued; it leaves the map when it is received. */
  const enqueued = new Map<string, number>();
  /** Sources whose stored records are being mapped. */
  const working = new Set<string>();
  let trouble: Fault | null = null;
  let consumer: Consumer | null = null;

  async function enqueueOrThrow(source: string): Promise<void> {
    if (enqueued.has(source)) return;
    enqueued.set(source, 0);
    try {
      await queues.enqueue('map', [{ name: `map ${source}`, data: { source } }]);
    } catch (error) {
      enqueued.delete(source);
      throw error;
    }
  }

  async function receiveSource(source: string): Promise<JobResult> {
    // Records that begin to wait from here on need another job: this one may have passed them already.
    enqueued.delete(source);
    working.add(source);
    try {
      await storedRecords.mapSource(source, abort.signal);
      trouble = null;
      return { status: 'done' };
    } catch (error) {
      if (!isLedgerFault(error)) throw error;
      // What waits to be mapped still waits; the watch enqueues another job for it.
      trouble = error;
      return { status: 'done', note: error.message };
    } finally {
      working.delete(source);
    }
  }

  async function receive(job: ReceivedJob): Promise<JobResult> {
    if (job.data['page'] !== undefined) return await pages.receive(job);
    const { source } = job.data;
    return await receiveSource(typeof source === 'string' ? source : '');
  }

  /** A job that was lost with nothing left to map would make the queue look busy for ever. */
  function forgetNeedless(pendingSources: readonly string[]): void {
    for (const [source, watches] of enqueued) {
      if (pendingSources.includes(source) || working.has(source)) continue;
      if (watches < LOST_AFTER_WATCHES) enqueued.set(source, watches + 1);
      else enqueued.delete(source);
    }
  }

  return {
    mapPage: (page, wait, stop) => pages.mapPage(page, wait, stop),
    room: (stop) => pages.room(stop),
    async mapStored(source) {
      try {
        await enqueueOrThrow(source);
      } catch (error) {
        // The records are in the ledger: a pull does not end because their job could not be enqueued.
        if (!isQueueFault(error)) throw error;
      }
    },
    async start() {
      await queues.clearWaiting('map');
      consumer = await queues.consume('map', { concurrency: CONCURRENCY }, receive);
    },
    async watch(pendingSources) {
      forgetNeedless(pendingSources);
      for (const source of pendingSources) {
        if (working.has(source)) continue;
        const watches = enqueued.get(source);
        if (watches !== undefined && watches < LOST_AFTER_WATCHES) {
          enqueued.set(source, watches + 1);
          continue;
        }
        // What still waits is not lost: the queue may be paused for hours.
        if (watches !== undefined && (await queues.counts('map')).waiting > 0) continue;
        enqueued.delete(source);
        await enqueueOrThrow(source);
      }
    },
    trouble: () => trouble,
    busy: () => enqueued.size > 0 || working.size > 0 || pages.count() > 0,
    async stop() {
      abort.abort();
      pages.stop();
      await consumer?.close();
    },
  };
}
