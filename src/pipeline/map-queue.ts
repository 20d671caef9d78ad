import { isLedgerFault, isQueueFault, lostJobsFault } from '../domain/faults.ts';
import type { Mapper } from '../domain/mapping.ts';
import type { IntakeLedger } from '../domain/ports/ledger/intake-ledger.ts';
import type { Emit, OnPageStored } from '../domain/ports/progress.ts';
import type { Consumer, JobResult, Queues, ReceivedJob } from '../domain/ports/queues.ts';
import type { Clock } from '../lib/clock.ts';
import type { Fault } from '../lib/errors.ts';
import { entriesOf, mapStoredRecords } from './map-records.ts';
import { createPageJobs, emitMapped, type PageJobs } from './page-jobs.ts';

/**
 * How many jobs are processed at once, so that a source with very many stored records does not delay the pages of other
 * sources.
 */
const CONCURRENCY = 8;
/** A job that was not received after this many calls of `watch` may be lost. */
const LOST_AFTER_WATCHES = 2;

/**
 * Processes the jobs of the `map` queue. There are two kinds of jobs. One names a page that was read and is mapped
 * before it is stored. The other names a source whose stored records wait for the mapping; it maps all of them, so one
 * such job for each source is enough.
 */
export function createMapQueue({
  queues,
  pages,
  storedRecords,
}: {
  queues: Queues;
  pages: PageJobs;
  storedRecords: StoredRecordMapper;
}) {
  const abort = new AbortController();
  /**
   * For each source, how many calls of `watch` have passed since its job was enqueued. Receiving the job removes the
   * entry.
   */
  const enqueued = new Map<string, number>();
  /** How often the job of a source was lost since a worker has last taken one. */
  const losses = new Map<string, number>();
  /** The sources whose stored records are being mapped. */
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
    // Records that begin to wait from now on need another job, because this job may not find them.
    enqueued.delete(source);
    losses.delete(source);
    working.add(source);
    try {
      await storedRecords.mapSource(source, abort.signal);
      trouble = null;
      return { status: 'done' };
    } catch (error) {
      if (!isLedgerFault(error)) throw error;
      // The records still wait, so `watch` enqueues another job for them.
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

  /** Without this, a lost job that has nothing to map any more would make `busy` true for ever. */
  function forgetNeedless(pendingSources: readonly string[]): void {
    for (const [source, watches] of enqueued) {
      if (pendingSources.includes(source) || working.has(source)) continue;
      if (watches < LOST_AFTER_WATCHES) enqueued.set(source, watches + 1);
      else enqueued.delete(source);
    }
    for (const source of losses.keys()) if (!pendingSources.includes(source)) losses.delete(source);
  }

  return {
    mapPage: (...page: Parameters<PageJobs['mapPage']>) => pages.mapPage(...page),
    room: pages.room,
    /**
     * Enqueues the mapping of a source's stored records. If the queue is out of reach, `watch` enqueues the job later.
     */
    async mapStored(source: string) {
      try {
        await enqueueOrThrow(source);
      } catch (error) {
        // The records are in the ledger, so a pull must not fail when the queue is out of reach.
        if (!isQueueFault(error)) throw error;
      }
    },
    async start() {
      await queues.clearWaiting('map');
      consumer = await queues.consume('map', { concurrency: CONCURRENCY }, receive);
    },
    /** Enqueues jobs for sources whose records wait for the mapping although their job was lost. */
    async watch(pendingSources: readonly string[]) {
      forgetNeedless(pendingSources);
      for (const source of pendingSources) {
        if (working.has(source)) continue;
        const watches = enqueued.get(source);
        if (watches !== undefined && watches < LOST_AFTER_WATCHES) {
          enqueued.set(source, watches + 1);
          continue;
        }
        // A job that still waits in the queue is not lost: a person may have paused the queue for hours.
        if (watches !== undefined && (await queues.counts('map')).waiting > 0) continue;
        if (watches !== undefined) losses.set(source, (losses.get(source) ?? 0) + 1);
        enqueued.delete(source);
        await enqueueOrThrow(source);
      }
    },
    /**
     * Why stored records cannot be mapped now, such as a ledger that cannot be written or a queue that loses its jobs; null
     * if they can.
     */
    trouble: (): Fault | null => trouble ?? lostJobsFault('map', Math.max(0, ...losses.values())),
    /** True while a job is enqueued or in work. */
    busy: () => enqueued.size > 0 || working.size > 0 || pages.count() > 0,
    async stop() {
      abort.abort();
      pages.stop();
      await consumer?.close();
    },
  };
}

export type MapQueue = ReturnType<typeof createMapQueue>;

/** The part of the program that makes items in the ledger from the pages that were read. */
export function createMapping({
  queues,
  ledger,
  mapperOf,
  emit,
  clock,
  onPageStored,
}: {
  queues: Queues;
  ledger: IntakeLedger;
  mapperOf: (source: string) => Mapper | null;
  emit: Emit;
  clock: Clock;
  /** Gets the times of each page, for traces. */
  onPageStored?: OnPageStored | undefined;
}) {
  const mapQueue = createMapQueue({
    queues,
    pages: createPageJobs({ queues, ledger, emit, clock, onPageStored }),
    storedRecords: createStoredRecordMapper({ ledger, mapperOf, emit }),
  });
  /**
   * The sources whose stored records wait to be mapped. The records of a source that is no longer in the config cannot
   * be mapped until it is back, so this source is not listed.
   */
  const pendingSources = (): string[] => ledger.pendingSources().filter((source) => mapperOf(source) !== null);
  return {
    mapQueue,
    pendingSources,
    /** True while a record waits for the mapping or is being mapped. */
    busy: () => mapQueue.busy() || pendingSources().length > 0,
    /** Enqueues jobs for stored records that wait for the mapping without a job. Call it at intervals. */
    look: () => mapQueue.watch(pendingSources()),
  };
}

export type Mapping = ReturnType<typeof createMapping>;

/** How many records are mapped and staged at once. An answer of the API waits for no more than this many records. */
const BATCH = 100;

/**
 * Maps stored records: records of streams without keys, records that were mapped with an earlier mapping or an earlier
 * lookup entry, and contenders for an item that has changed.
 */
export function createStoredRecordMapper(options: {
  ledger: Pick<IntakeLedger, 'pendingRecords' | 'stage' | 'findLookups'>;
  mapperOf: (source: string) => Mapper | null;
  emit: Emit;
}) {
  const { ledger, mapperOf, emit } = options;
  const running = new Map<string, { again: boolean; done: Promise<void> }>();

  async function mapOnce(source: string, mapper: Mapper, abort: AbortSignal): Promise<void> {
    let afterId = 0;
    while (!abort.aborted) {
      const records = await ledger.pendingRecords({ source, afterId, limit: BATCH });
      const last = records.at(-1);
      if (!last) return;
      afterId = last.id;
      const mapped = mapStoredRecords(mapper, records, entriesOf(ledger));
      const { held = [], ...summary } = await ledger.stage(mapped instanceof Promise ? await mapped : mapped);
      emitMapped(emit, source, summary);
      for (const stream of held) emit({ type: 'guard_held', ...stream });
    }
  }

  async function mapUntilQuiet(source: string, state: { again: boolean }, abort: AbortSignal): Promise<void> {
    try {
      while (state.again && !abort.aborted) {
        state.again = false;
        const mapper = mapperOf(source);
        if (mapper) await mapOnce(source, mapper, abort);
      }
    } finally {
      running.delete(source);
    }
  }

  return {
    /**
     * Maps and stages every record of a source that waits for the mapping. A call during the mapping of the same source
     * makes the mapping run once more at its end, so records that begin to wait meanwhile are mapped too.
     */
    mapSource(source: string, abort: AbortSignal): Promise<void> {
      const present = running.get(source);
      if (present) {
        present.again = true;
        return present.done;
      }
      const state = { again: true, done: Promise.resolve() };
      running.set(source, state);
      state.done = mapUntilQuiet(source, state, abort);
      return state.done;
    },
  };
}

type StoredRecordMapper = ReturnType<typeof createStoredRecordMapper>;
