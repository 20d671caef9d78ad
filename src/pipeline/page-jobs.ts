import { fault, isLedgerFault, isQueueFault } from '../domain/faults.ts';
import type { StagedPage } from '../domain/ports/intake.ts';
import type { IntakeLedger } from '../domain/ports/intake-ledger.ts';
import type { Emit } from '../domain/ports/progress.ts';
import type { JobResult, Queues, ReceivedJob } from '../domain/ports/queues.ts';
import { pausedFault } from '../domain/queue-paused.ts';
import { type Fault, messageOf } from '../lib/errors.ts';
import { mapRows } from './map-rows.ts';
import { createPageHandover, type HandedPage, jobDataOf, type PageHandover, type PageToMap } from './page-handover.ts';
import { createRest, type WritableWait } from './until-writable.ts';

/** Pages on their way through the `map` queue: one job each. */
export interface PageJobs {
  /**
   * Hands a page over to a worker and waits until it is stored. Null where `abort` came first and the page was given up.
   *
   * @throws what mapping or storing it throws, or the fault of the queue once that has lasted longer than the caller waits
   */
  mapPage(page: PageToMap, wait: WritableWait, abort: AbortSignal): Promise<StagedPage | null>;
  /** Maps and stores the page that a job names. */
  receive(job: ReceivedJob): Promise<JobResult>;
  /** Resolves when there is room for another page. */
  room(abort: AbortSignal): Promise<void>;
  /** How many pages are not stored yet. */
  count(): number;
  /** Gives up the pages that no worker has taken. */
  stop(): void;
}

/** How often a pull that waits for its page looks whether the job is still in the queue. */
const LOOK_MS = 1000;

export function createPageJobs({
  queues,
  ledger,
  emit,
  handover = createPageHandover(),
}: {
  queues: Queues;
  ledger: Pick<IntakeLedger, 'stagePage'>;
  emit: Emit;
  handover?: PageHandover;
}): PageJobs {
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

  /** Looks after a page that nobody has taken: a job that was lost is enqueued again. Gives what keeps it from being taken. */
  async function lookAfter(handed: HandedPage): Promise<Fault | null> {
    try {
      if ((await queues.paused()).includes('map')) return pausedFault(['map']);
      const { waiting } = await queues.counts('map');
      return waiting === 0 && !handed.isTaken ? await enqueue(handed) : null;
    } catch (error) {
      if (!isQueueFault(error)) throw error;
      return error;
    }
  }

  async function untilStored(handed: HandedPage, wait: WritableWait, abort: AbortSignal): Promise<StagedPage | null> {
    const rest = createRest(wait);
    let trouble = await enqueue(handed);
    while (!abort.aborted || handed.isTaken) {
      const overdue = handed.isTaken ? null : rest.overdue(trouble);
      if (overdue !== null) throw overdue;
      const staged = await within(LOOK_MS, handed.stored, wait, abort);
      if (staged !== null) {
        rest.overdue(null);
        return staged;
      }
      if (!handed.isTaken && !abort.aborted) trouble = await lookAfter(handed);
    }
    return null;
  }

  return {
    async mapPage(page, wait, abort) {
      const handed = handover.put(page);
      try {
        return await untilStored(handed, wait, abort);
      } finally {
        handover.remove(handed);
      }
    },
    async receive({ data }) {
      const handed = handover.take(data);
      if (handed === null) return { status: 'done', note: 'The page is stored already, or its run has ended.' };
      const { page } = handed;
      const { number: _, toMap, mapper, ...read } = page;
      try {
        const mapped = await mapRows(page, toMap, mapper);
        const staged = await ledger.stagePage({ ...read, deferMapping: false, mapped });
        if (staged.summary) emitMapped(emit, page.source, staged.summary);
        handed.resolve(staged);
        return { status: 'done' };
      } catch (error) {
        // The pull receives the error, and hands the page over again where that may help.
        handed.reject(error);
        if (isLedgerFault(error)) return { status: 'done', note: messageOf(error) };
        throw error;
      }
    },
    room: (abort) => handover.room(abort),
    count: () => handover.count(),
    stop() {
      handover.giveUp(
        fault('interrupted', 'The process was stopped before it mapped this page.', {
          suggestion: 'Nothing is lost: the next run reads the page again.',
        }),
      );
    },
  };
}

/** Reports what staging did with mapped records. */
export function emitMapped(
  emit: Emit,
  source: string,
  { mapped, excluded, quarantined }: { mapped: number; excluded: number; quarantined: number },
): void {
  emit({ type: 'mapped', source, mapped, excluded, quarantined });
}

/** Gives what the promise ends with, or null where that takes longer or `abort` comes first. */
async function within<T>(
  ms: number,
  promise: Promise<T>,
  { clock }: WritableWait,
  abort: AbortSignal,
): Promise<T | null> {
  const sleep = new AbortController();
  const wake = (): void => sleep.abort();
  // An abort that came before does not count: the page is taken then, and is waited for.
  if (!abort.aborted) abort.addEventListener('abort', wake);
  try {
    return await Promise.race([promise, clock.sleep(ms, sleep.signal).then(() => null)]);
  } finally {
    abort.removeEventListener('abort', wake);
    sleep.abort();
  }
}
