import { ErrorCode, type JobJson, type KeepJobs } from 'bullmq';
import type { Clock } from '../../lib/clock.ts';
import { createLinkedList, type LinkedList } from '../../lib/collections.ts';

/** The field of the queue's own data in which BullMQ stores whether the queue is paused. */
const PAUSED = 'paused';

export interface JobEnd {
  state: 'completed' | 'failed';
  token: string;
  at: number;
  fields: Partial<Pick<JobJson, 'returnvalue' | 'failedReason' | 'stacktrace'>>;
  keep: Keep;
}

/**
 * The jobs of one queue, in memory, with the rules of BullMQ's Redis scripts. Every method is synchronous, so no other
 * method runs between its steps.
 *
 * Methods that end a job throw BullMQ's own errors: `Missing key`, `Missing lock`, `Lock mismatch`, `is not in the … state`.
 */
export function createJobStore(clock: Clock) {
  const jobs = new Map<string, StoredJob>();
  const lists = Object.fromEntries(JOB_STATES.map((state) => [state, createLinkedList()])) as Record<
    StoredState,
    JobList
  >;
  const listeners = new Set<() => void>();
  const meta = new Map<string, string>();
  let ids = 0;

  const hasNext = (): boolean => !meta.has(PAUSED) && lists.waiting.size() > 0;

  function announce(): void {
    if (!hasNext()) return;
    for (const listener of listeners) listener();
  }

  function leave(job: StoredJob): void {
    lists[job.state].remove(job);
    job.lock = null;
  }

  function drop(job: StoredJob): void {
    leave(job);
    jobs.delete(job.id);
  }

  function wait(job: StoredJob, side: 'append' | 'prepend'): void {
    leave(job);
    job.state = 'waiting';
    lists.waiting[side](job);
    announce();
  }

  const isLocked = (job: StoredJob): boolean => isReserved(job, clock.ticks());

  function lockedJob(id: string, token: string, command: string): StoredJob {
    return reservedJob(jobs.get(id), { id, token, command, now: clock.ticks() });
  }

  return {
    /** Adds a job behind the waiting ones, unless there is a job with this id. Returns the job's id. */
    add({ name, data, opts, timestamp }: JobJson, givenId: string): string {
      ids += 1;
      const id = givenId || `${ids}`;
      if (jobs.has(id)) return id;
      const job = newJob(id, { name, data, opts, timestamp });
      jobs.set(id, job);
      lists.waiting.append(job);
      announce();
      return id;
    },

    find: (id: string): StoredJob | undefined => jobs.get(id),
    list: (state: StoredState): JobList => lists[state],
    /** True if a worker could take a job now. */
    hasNext,

    /** Takes the oldest waiting job for a worker; null if no job waits or the queue is paused. */
    take({
      token,
      lockMs,
      workerName,
    }: {
      token: string;
      lockMs: number;
      workerName: string | undefined;
    }): StoredJob | null {
      const job = hasNext() ? lists.waiting.first() : undefined;
      if (job === undefined) return null;
      leave(job);
      job.state = 'active';
      lists.active.append(job);
      if (token !== NO_LOCK) job.lock = { token, until: clock.ticks() + lockMs };
      const attemptsStarted = job.fields.attemptsStarted + 1;
      const by = workerName === undefined ? {} : { processedBy: workerName };
      job.fields = { ...job.fields, processedOn: clock.now(), attemptsStarted, ...by };
      return job;
    },

    /** Ends an active job. Then drops the oldest jobs with the same end that need not be kept. */
    finish(id: string, { state, token, at, fields, keep }: JobEnd): void {
      const job = lockedJob(id, token, 'moveToFinished');
      leave(job);
      const { deferredFailure: _, ...before } = job.fields;
      job.state = state;
      job.fields = { ...before, ...fields, finishedOn: at, attemptsMade: before.attemptsMade + 1 };
      lists[state].append(job);
      for (const old of jobsToDrop(job, lists[state], { keep, at })) drop(old);
    },

    /** Puts an active job back in front of the waiting ones. */
    giveBack(id: string, token: string): void {
      wait(lockedJob(id, token, 'moveJobFromActiveToWait'), 'prepend');
    },

    /** Puts a job that has ended behind the waiting ones. */
    retry(job: StoredJob): void {
      const { finishedOn: _, processedOn: __, ...fields } = job.fields;
      delete fields[job.state === 'failed' ? 'failedReason' : 'returnvalue'];
      job.fields = fields;
      wait(job, 'append');
    },

    /** Puts active jobs whose reservation has ended back in front of the waiting ones. Returns their ids. */
    recoverStalled(stalledCountMax: number): string[] {
      // The newest stalled job is put back first, so that the oldest one is taken next.
      const stalled = [...lists.active.reversed()].filter((job) => !isLocked(job));
      for (const job of stalled) {
        job.fields = stalledOnce(job.fields, stalledCountMax);
        wait(job, 'prepend');
      }
      return stalled.map(({ id }) => id);
    },

    extendLock(id: string, token: string, lockMs: number): boolean {
      const job = jobs.get(id);
      if (job === undefined || !isLocked(job) || job.lock?.token !== token) return false;
      job.lock = { token, until: clock.ticks() + lockMs };
      return true;
    },

    isLocked,
    drop,
    /** The data that BullMQ stores about the queue itself. */
    meta,
    setPaused(paused: boolean): void {
      if (paused) meta.set(PAUSED, '1');
      else meta.delete(PAUSED);
      announce();
    },
    /** Calls the listener when there may be a job to take. Returns a function that unsubscribes it. */
    onNext(listener: () => void): () => void {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
  };
}

export type JobStore = ReturnType<typeof createJobStore>;

function newJob(
  id: string,
  { name, data, opts, timestamp }: Pick<JobJson, 'name' | 'data' | 'opts' | 'timestamp'>,
): StoredJob {
  const fields = {
    id,
    name,
    data,
    timestamp,
    opts: { ...opts },
    delay: 0,
    priority: 0,
    progress: 0,
    attemptsMade: 0,
    attemptsStarted: 0,
    stalledCounter: 0,
  };
  return { id, fields, state: 'waiting', lock: null, logs: [] };
}

/** The fields of a job that has stalled once more. BullMQ fails the job if it has stalled more often than allowed. */
function stalledOnce(fields: JobFields, countMax: number): JobFields {
  const stalledCounter = fields.stalledCounter + 1;
  const isTooOften = stalledCounter > countMax;
  return { ...fields, stalledCounter, ...(isTooOften && { deferredFailure: 'job stalled more than allowable limit' }) };
}

export const JOB_STATES = ['waiting', 'active', 'completed', 'failed'] as const;
export type StoredState = (typeof JOB_STATES)[number];

/** BullMQ's type requires two fields that the backends of BullMQ leave out until the job has ended. */
type JobFields = Omit<JobJson, 'failedReason' | 'returnvalue'> & Partial<Pick<JobJson, 'failedReason' | 'returnvalue'>>;

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
}

/** Jobs from the oldest to the newest. A job is in one list at a time. */
type JobList = LinkedList<StoredJob>;

/** With this token BullMQ takes and finishes a job without reserving it. */
const NO_LOCK = '0';

/** True while a worker has the job reserved. */
function isReserved({ lock }: StoredJob, now: number): boolean {
  return lock !== null && now < lock.until;
}

/** Returns the active job if this worker still has it reserved. Otherwise throws the same errors as BullMQ. */
function reservedJob(
  job: StoredJob | undefined,
  { id, token, command, now }: { id: string; token: string; command: string; now: number },
): StoredJob {
  if (job === undefined) throw missingJob(id, command);
  if (token !== NO_LOCK) {
    if (!isReserved(job, now)) {
      throw bullError(ErrorCode.JobLockNotExist, `Missing lock for job ${id}. ${command}`);
    }
    if (job.lock?.token !== token) {
      throw bullError(ErrorCode.JobLockMismatch, `Lock mismatch for job ${id}. Cmd ${command} from active`);
    }
  }
  if (job.state !== 'active') throw wrongState(id, 'active', command);
  return job;
}

export function missingJob(id: string, command: string): Error {
  return bullError(ErrorCode.JobNotExist, `Missing key for job ${id}. ${command}`);
}

export function wrongState(id: string, state: string, command: string): Error {
  return bullError(ErrorCode.JobNotInState, `Job ${id} is not in the ${state} state. ${command}`);
}

/** Makes an error with a code, like BullMQ's other backends, because callers read the code. */
function bullError(code: ErrorCode, message: string): Error {
  return Object.assign(new Error(message), { code });
}

/** How many ended jobs are kept: true for none, false or undefined for all. */
type Keep = boolean | number | KeepJobs | undefined;

/**
 * The jobs to drop after a job has ended: the oldest jobs beyond the number to keep. If the ended job itself is not
 * kept, only that job is dropped.
 */
function jobsToDrop(ended: StoredJob, list: JobList, { keep, at }: { keep: Keep; at: number }): StoredJob[] {
  const { count = Number.POSITIVE_INFINITY, ageMs } = retention(keep);
  if (count === 0) return [ended];
  const old: StoredJob[] = [];
  for (const job of list) {
    const isAged = ageMs !== undefined && (job.fields.finishedOn ?? 0) <= at - ageMs;
    if (list.size() - old.length <= count && !isAged) break;
    old.push(job);
  }
  return old;
}

/** A negative number keeps all, as in Redis. */
function retention(keep: Keep): { count?: number | undefined; ageMs?: number } {
  if (keep === true) return { count: 0 };
  if (typeof keep === 'number') return retention({ count: keep });
  if (typeof keep !== 'object') return {};
  const count = keep.count !== undefined && keep.count < 0 ? undefined : keep.count;
  return 'age' in keep ? { count, ageMs: keep.age * 1000 } : { count };
}
