import { fault, isLedgerFault, isQueueFault, lostJobsFault, pausedFault } from '../domain/faults.ts';
import type { ItemKind } from '../domain/item.ts';
import type { Mapper, MapResult } from '../domain/mapping.ts';
import type { MappedRows, ReadPage, StagedPage } from '../domain/ports/intake.ts';
import type { IntakeLedger } from '../domain/ports/ledger/intake-ledger.ts';
import type { Emit, OnPageStored } from '../domain/ports/progress.ts';
import type { JobResult, Queues, ReceivedJob } from '../domain/ports/queues.ts';
import type { Clock } from '../lib/clock.ts';
import { type Fault, messageOf } from '../lib/errors.ts';
import type { JsonObject } from '../lib/json.ts';
import { entriesOf, mapRecords, type ReadEntries } from './map-records.ts';
import { createRest, type WritableWait } from './until-writable.ts';

/** How often a pull checks whether the job of its page is still in the queue. */
const LOOK_MS = 1000;

/** Sends pages through the `map` queue, one job for each. */
export function createPageJobs({
  queues,
  ledger,
  emit,
  handover = createPageHandover(),
  clock,
  onPageStored,
}: {
  queues: Queues;
  ledger: Pick<IntakeLedger, 'stagePage' | 'findLookups'>;
  emit: Emit;
  handover?: PageHandover;
  clock?: Clock;
  /** Gets the times of each page, for traces. Without it, no time is measured. */
  onPageStored?: OnPageStored | undefined;
}) {
  async function enqueue({ page }: HandedPage): Promise<Fault | null> {
    const { source, stream, runId, number } = page;
    const name = `map ${source}/${stream}, run ${runId}, page ${number}`;
    try {
      await queues.enqueue('map', [{ name, data: jobDataOf(page) }]);
      return null;
    } catch (error) {
      if (!isQueueFault(error)) throw error;
      return error;
    }
  }

  /**
   * Whether the job of a page still waits or is in work; a fault if that cannot be known, or if no worker can take it: the
   * queue is paused or takes no writes.
   */
  async function lookAt(handed: HandedPage): Promise<'there' | 'lost' | Fault> {
    try {
      await queues.touch();
      const paused = (await queues.paused()).includes('map') ? pausedFault(['map']) : null;
      if (paused !== null) return paused;
      const { waiting } = await queues.counts('map');
      return waiting === 0 && !handed.isTaken ? 'lost' : 'there';
    } catch (error) {
      if (!isQueueFault(error)) throw error;
      return error;
    }
  }

  async function untilStored(handed: HandedPage, wait: WritableWait, abort: AbortSignal): Promise<StagedPage | null> {
    const rest = createRest(wait);
    let losses = 0;
    let trouble = await enqueue(handed);
    while (!abort.aborted || handed.isTaken) {
      const overdue = handed.isTaken ? null : rest.overdue(trouble);
      if (overdue !== null) throw overdue;
      const staged = await within(LOOK_MS, handed.stored, wait, abort);
      if (staged !== null) {
        rest.overdue(null);
        return staged;
      }
      if (handed.isTaken || abort.aborted) continue;
      const found = await lookAt(handed);
      losses = found === 'lost' ? losses + 1 : found === 'there' ? 0 : losses;
      if (found === 'lost') trouble = (await enqueue(handed)) ?? lostJobsFault('map', losses);
      else trouble = found === 'there' ? null : found;
    }
    return null;
  }

  return {
    /**
     * Hands a page to a worker, and waits until it is stored. Null if the page was given up after an abort.
     *
     * @throws the error of mapping or storing the page, or the fault of the queue if it lasts longer than `wait` allows
     */
    async mapPage(page: PageToMap, wait: WritableWait, abort: AbortSignal): Promise<StagedPage | null> {
      const handed = handover.put(page, clock?.now() ?? 0);
      try {
        return await untilStored(handed, wait, abort);
      } finally {
        handover.remove(handed);
      }
    },
    /** Maps and stores the page that a job names. */
    async receive({ data }: ReceivedJob): Promise<JobResult> {
      const handed = handover.take(data);
      if (handed === null) return { status: 'done', note: 'The page is stored already, or its run has ended.' };
      const { page } = handed;
      const mapBeganAt = clock?.now() ?? 0;
      const { number: _, toMap, mapper, ...read } = page;
      try {
        const mapped = await mapRows(page, toMap, { mapper, read: entriesOf(ledger) });
        const stageBeganAt = clock?.now() ?? 0;
        const staged = await ledger.stagePage({ ...read, deferMapping: false, mapped });
        if (onPageStored && clock) {
          const { source, stream, runId: run, number } = page;
          const times = { readAt: handed.at, mapBeganAt, stageBeganAt, storedAt: clock.now() };
          onPageStored({ source, stream, run, page: number, ...times }, itemsOf(mapped));
        }
        if (staged.summary) emitMapped(emit, page.source, staged.summary);
        handed.resolve(staged);
        return { status: 'done' };
      } catch (error) {
        // The pull gets the error, and hands the page over again if that may help.
        handed.reject(error);
        if (isLedgerFault(error)) return { status: 'done', note: messageOf(error) };
        throw error;
      }
    },
    /** Resolves when there is room for another page. */
    room: (abort: AbortSignal) => handover.room(abort),
    /** How many pages are not stored yet. */
    count: () => handover.count(),
    /** Gives up the pages that no worker has taken. */
    stop() {
      handover.giveUp(
        fault('interrupted', 'The process was stopped before it mapped this page.', {
          suggestion: 'Nothing is lost: the next run reads the page again.',
        }),
      );
    },
  };
}

export type PageJobs = ReturnType<typeof createPageJobs>;

function* itemsOf({ results }: MappedRows): Generator<{ kind: ItemKind; key: string }> {
  for (const result of results.values()) if (result.status === 'mapped') yield* result.items;
}

/** Reports the results of staging mapped records. */
export function emitMapped(
  emit: Emit,
  source: string,
  { mapped, excluded, quarantined }: { mapped: number; excluded: number; quarantined: number },
): void {
  emit({ type: 'mapped', source, mapped, excluded, quarantined });
}

/** Waits for a promise. Null if it takes too long, or after an abort. */
async function within<T>(
  ms: number,
  promise: Promise<T>,
  { clock }: WritableWait,
  abort: AbortSignal,
): Promise<T | null> {
  const sleep = new AbortController();
  const wake = (): void => sleep.abort();
  // If a worker took the page before the abort, the pull still waits for it.
  if (!abort.aborted) abort.addEventListener('abort', wake);
  try {
    return await Promise.race([promise, clock.sleep(ms, sleep.signal).then(() => null)]);
  } finally {
    abort.removeEventListener('abort', wake);
    sleep.abort();
  }
}

/**
 * Maps rows of a page. It maps them in the form in which they are stored, so that mapping them again from the ledger
 * gives the same items.
 *
 * @param rows the rows' positions in the page
 */
async function mapRows(
  { source, stream, records }: Pick<ReadPage, 'source' | 'stream' | 'records'>,
  rows: readonly number[],
  { mapper, read }: { mapper: Mapper; read: ReadEntries },
): Promise<MappedRows> {
  const toMap = rows.filter((at) => records[at] !== undefined);
  const mappable = toMap.flatMap((at) => {
    const record = records[at];
    if (record === undefined) return [];
    const { raw, place, issues } = record;
    return [{ source, stream, fields: JSON.parse(raw) as JsonObject, place, issues }];
  });
  const mapping = mapRecords(mapper, mappable, read);
  const mapped = mapping instanceof Promise ? await mapping : mapping;
  const results = new Map<number, MapResult>();
  for (const [index, result] of mapped.entries()) results.set(toMap[index] ?? 0, result);
  return { mappingRevision: mapper.revision, results };
}

/** A page that was read and is not mapped yet. */
interface PageToMap extends ReadPage {
  /** The number of the page in its stream and run, from 1. */
  number: number;
  /** The positions of the rows that may be new or changed. */
  toMap: readonly number[];
  /** The mapping that the run began with. */
  mapper: Mapper;
  /** How many unchanged records of earlier pages are not counted yet. */
  uncounted: number;
}

/** A page that the pull has read and a worker will map. */
interface HandedPage {
  page: PageToMap;
  /** When the page was read, in milliseconds since the epoch; 0 if the time was not measured. */
  at: number;
  /** True once a worker has begun to map it. */
  isTaken: boolean;
  /** Resolves or rejects when the mapping of the page ends. */
  stored: Promise<StagedPage>;
  resolve(staged: StagedPage): void;
  reject(reason: unknown): void;
}

/**
 * A pull continues to read while all handed pages together have fewer bytes than this. Each pull can exceed the limit
 * by one page.
 */
const HANDED_BYTES_MAX = 16 * 1024 * 1024;

/**
 * The pages that are being mapped. Their rows stay in the memory of this process, and their total size is bounded (I9).
 * A job of the `map` queue only names its page, so no row is ever in a queue (I7). A page that is lost with the process
 * is read again by the next run, because the cursor has not moved (I1).
 */
export function createPageHandover(bytesMax = HANDED_BYTES_MAX) {
  const pages = new Map<string, HandedPage>();
  let bytes = 0;
  /** The functions to call when a page is removed. */
  const waiting = new Set<() => void>();

  return {
    /** @param at when the page was read, in milliseconds since the epoch */
    put(page: PageToMap, at: number = 0): HandedPage {
      const { promise: stored, resolve, reject } = Promise.withResolvers<StagedPage>();
      // If the pull has stopped meanwhile, no code waits for this promise, so its rejection needs a handler.
      stored.catch(() => undefined);
      const handed: HandedPage = { page, at, isTaken: false, stored, resolve, reject };
      pages.set(nameOf(jobDataOf(page)), handed);
      bytes += bytesOf(page);
      return handed;
    },
    /** Returns the page that a job names, once. Null if the page is gone, or if another job has taken it. */
    take(job: JsonObject): HandedPage | null {
      const handed = pages.get(nameOf(job));
      if (handed === undefined || handed.isTaken) return null;
      handed.isTaken = true;
      return handed;
    },
    /** Removes a page that was stored or given up. */
    remove(handed: HandedPage) {
      const name = nameOf(jobDataOf(handed.page));
      if (pages.get(name) !== handed) return;
      pages.delete(name);
      bytes -= bytesOf(handed.page);
      for (const look of waiting) look();
    },
    count: () => pages.size,
    /** Resolves when there is room for another page, or after an abort. */
    async room(abort: AbortSignal) {
      while (bytes >= bytesMax && !abort.aborted) {
        const { promise, resolve } = Promise.withResolvers<void>();
        const look = () => resolve();
        waiting.add(look);
        abort.addEventListener('abort', look);
        await promise;
        abort.removeEventListener('abort', look);
        waiting.delete(look);
      }
    },
    /** Rejects the pages that no worker has taken. */
    giveUp(reason: Error) {
      for (const handed of pages.values()) if (!handed.isTaken) handed.reject(reason);
    },
  };
}

export type PageHandover = ReturnType<typeof createPageHandover>;

/** The data of a job: the names of source and stream, and two numbers. */
function jobDataOf({ source, stream, runId, number }: PageToMap): JsonObject {
  return { source, stream, run: runId, page: number };
}

function nameOf({ source, stream, run, page }: JsonObject): string {
  return JSON.stringify([source, stream, run, page]);
}

function bytesOf({ records }: PageToMap): number {
  return records.reduce((sum, { raw, identity }) => sum + raw.length + identity.length, 0);
}
