import type { JobJson } from 'bullmq';

export const JOB_STATES = ['waiting', 'active', 'completed', 'failed'] as const;
export type HeldState = (typeof JOB_STATES)[number];

/** BullMQ's type requires two fields that its own backends leave out until the job has ended. */
export type JobFields = Omit<JobJson, 'failedReason' | 'returnvalue'> &
  Partial<Pick<JobJson, 'failedReason' | 'returnvalue'>>;

/** A job of the embedded queue. */
export interface HeldJob {
  readonly id: string;
  /** What BullMQ reads. It is replaced and never changed, because BullMQ holds on to what it was given. */
  fields: JobFields;
  state: HeldState;
  /** Who works on it, and until which tick it is reserved for that worker. */
  lock: { token: string; until: number } | null;
  logs: string[];
  /** Its neighbours in the list of its state. */
  older: HeldJob | null;
  newer: HeldJob | null;
}

/**
 * Jobs from the oldest to the newest. A job is a link of the list itself, so that adding, removing and looking at an end take
 * the same time however many jobs there are. A job is in one list at a time.
 */
export interface JobList {
  size(): number;
  oldest(): HeldJob | null;
  addNewest(job: HeldJob): void;
  /** Puts a job back to where the next one is taken from. */
  addOldest(job: HeldJob): void;
  remove(job: HeldJob): void;
  /** A job may be removed while it is looked at. */
  fromOldest(): Iterable<HeldJob>;
  fromNewest(): Iterable<HeldJob>;
}

export function createJobList(): JobList {
  let oldest: HeldJob | null = null;
  let newest: HeldJob | null = null;
  let size = 0;

  function* walk(from: HeldJob | null, side: 'older' | 'newer'): Iterable<HeldJob> {
    for (let job = from; job !== null; ) {
      const next: HeldJob | null = job[side];
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
