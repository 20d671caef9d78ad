import type { JobJson } from 'bullmq';

export const JOB_STATES = ['waiting', 'active', 'completed', 'failed'] as const;
export type StoredState = (typeof JOB_STATES)[number];

/** BullMQ's type requires two fields that the backends of BullMQ leave out until the job has ended. */
export type JobFields = Omit<JobJson, 'failedReason' | 'returnvalue'> &
  Partial<Pick<JobJson, 'failedReason' | 'returnvalue'>>;

/** A job of the embedded queue. */
export interface StoredJob {
  readonly id: string;
  /**
   * The data that BullMQ reads. The object is replaced and never changed, because BullMQ keeps the object that it has
   * received.
   */
  fields: JobFields;
  state: StoredState;
  /** The token of the worker that has reserved the job, and the tick at which the reservation ends. */
  lock: { token: string; until: number } | null;
  logs: string[];
  /** The neighbours of a job in the list of its state. */
  older: StoredJob | null;
  newer: StoredJob | null;
}

/**
 * Jobs from the oldest to the newest. The jobs themselves are the links of the list, so adding a job, removing a job
 * and reading either end takes the same time for any number of jobs. A job is in one list at a time.
 */
export interface JobList {
  size(): number;
  oldest(): StoredJob | null;
  addNewest(job: StoredJob): void;
  /** Adds a job at the front of the list, from which the next job is taken. */
  addOldest(job: StoredJob): void;
  remove(job: StoredJob): void;
  /** The caller may remove the job that it has received last. */
  fromOldest(): Iterable<StoredJob>;
  fromNewest(): Iterable<StoredJob>;
}

export function createJobList(): JobList {
  let oldest: StoredJob | null = null;
  let newest: StoredJob | null = null;
  let size = 0;

  function* walk(from: StoredJob | null, side: 'older' | 'newer'): Iterable<StoredJob> {
    for (let job = from; job !== null; ) {
      const next: StoredJob | null = job[side];
      yield job;
      job = next;
    }
  }

  return {
    size: () => size,
    oldest: () => oldest,
    addNewest(job) {
      job.older = newest;
      job.newer = null;
      if (newest === null) oldest = job;
      else newest.newer = job;
      newest = job;
      size += 1;
    },
    addOldest(job) {
      job.older = null;
      job.newer = oldest;
      if (oldest === null) newest = job;
      else oldest.older = job;
      oldest = job;
      size += 1;
    },
    remove(job) {
      if (job.older === null) oldest = job.newer;
      else job.older.newer = job.newer;
      if (job.newer === null) newest = job.older;
      else job.newer.older = job.older;
      job.older = null;
      job.newer = null;
      size -= 1;
    },
    fromOldest: () => walk(oldest, 'newer'),
    fromNewest: () => walk(newest, 'older'),
  };
}
