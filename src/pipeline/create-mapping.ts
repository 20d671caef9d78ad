import type { Mapper } from '../domain/mapping.ts';
import type { IntakeLedger } from '../domain/ports/ledger/intake-ledger.ts';
import type { Emit, OnPageStored } from '../domain/ports/progress.ts';
import type { Queues } from '../domain/ports/queues.ts';
import type { Clock } from '../lib/clock.ts';
import { createMapQueue } from './map-queue.ts';
import { createStoredRecordMapper } from './map-stored.ts';
import { createPageJobs } from './page-jobs.ts';

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
