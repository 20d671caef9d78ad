import { ErrorCode, type JobJson, type KeepJobs } from 'bullmq';
import type { Clock } from '../../lib/clock.ts';
import { createJobList, JOB_STATES, type JobList, type StoredJob, type StoredState } from './job-list.ts';

/** BullMQ takes and finishes a job with this token without reserving it. */
const NO_LOCK = '0';
/** The field of the queue's own data under which BullMQ looks whether the queue is paused. */
const PAUSED = 'paused';

/**
 * The jobs of one queue, in memory, with the rules of BullMQ's Redis scripts. Every method is synchronous, so no other one runs
 * between its steps.
 *
 * Methods that end a job throw BullMQ's own errors: `Missing key`, `Missing lock`, `Lock mismatch`, `is not in the … state`.
 */
export interface JobStore {
  /** Adds a job behind the waiting ones, unless there is a job with this id. Returns the job's id. */
  add(job: JobJson, id: string): string;
  find(id: string): StoredJob | undefined;
  list(state: StoredState): JobList;
  /** True when a worker would be given a job now. */
  hasNext(): boolean;
  /** Takes the oldest waiting job for a worker; null where no job waits or the queue is paused. */
  take(options: { token: string; lockMs: number; workerName: string | undefined }): StoredJob | null;
  /** Ends an active job, and then drops the oldest jobs with the same end that are not to be kept. */
  finish(id: string, end: JobEnd): void;
  /** Puts an active job back in front of the waiting ones. */
  giveBack(id: string, token: string): void;
  /** Puts a job that has ended behind the waiting ones. */
  retry(job: StoredJob): void;
  /** Puts active jobs whose reservation has lapsed back in front of the waiting ones. Returns their ids. */
  recoverStalled(stalledCountMax: number): string[];
  extendLock(id: string, token: string, lockMs: number): boolean;
  isLocked(job: StoredJob): boolean;
  drop(job: StoredJob): void;
  /** What BullMQ keeps about the queue itself. */
  meta: Map<string, string>;
  setPaused(paused: boolean): void;
  /** Calls the listener when there may be a job to take. Returns a function that unsubscribes it. */
  onNext(listener: () => void): () => void;
}

export interface JobEnd {
  state: 'completed' | 'failed';
  token: string;
  at: number;
  fields: Partial<Pick<JobJson, 'returnvalue' | 'failedReason' | 'stacktrace'>>;
  /** How many jobs with this end are kept: true for none, false or undefined for all. */
  keep: boolean | number | KeepJobs | undefined;
}

export function createJobStore(clock: Clock): JobStore {
  const jobs = new Map<string, StoredJob>();
  const lists = Object.fromEntries(JOB_STATES.map((state) => [state, createJobList()])) as Record<StoredState, JobList>;
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

  function wait(job: StoredJob, side: 'addNewest' | 'addOldest'): void {
    leave(job);
    job.state = 'waiting';
    lists.waiting[side](job);
    announce();
  }

  const isLocked = ({ lock }: StoredJob): boolean => lock !== null && clock.ticks() < lock.until;

  /** The active job, if this worker still has it reserved. */
  function lockedJob(id: string, token: string, command: string): StoredJob {
    const job = jobs.get(id);
    if (job === undefined) throw missingJob(id, command);
    if (token !== NO_LOCK) {
      if (!isLocked(job)) {
        throw bullError(ErrorCode.JobLockNotExist, `Missing lock for job ${id}. ${command}`);
      }
      if (job.lock?.token !== token) {
        throw bullError(ErrorCode.JobLockMismatch, `Lock mismatch for job ${id}. Cmd ${command} from active`);
      }
    }
    if (job.state !== 'active') throw wrongState(id, 'active', command);
    return job;
  }

  /**
   * Drops the oldest ended jobs beyond the number to keep, after a job has ended. If that job is not kept itself, the
   * others stay.
   */
  function trim(ended: StoredJob, keep: JobEnd['keep'], at: number): void {
    const { count = Number.POSITIVE_INFINITY, ageMs } = retention(keep);
    if (count === 0) {
      drop(ended);
      return;
    }
    const list = lists[ended.state];
    for (const job of list.fromOldest()) {
      const isAged = ageMs !== undefined && (job.fields.finishedOn ?? 0) <= at - ageMs;
      if (list.size() <= count && !isAged) return;
      drop(job);
    }
  }

  return {
    add({ name, data, opts, timestamp }, givenId) {
      ids += 1;
      const id = givenId || `${ids}`;
      if (jobs.has(id)) return id;
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
      const job: StoredJob = { id, fields, state: 'waiting', lock: null, logs: [], older: null, newer: null };
      jobs.set(id, job);
      lists.waiting.addNewest(job);
      announce();
      return id;
    },

    find: (id) => jobs.get(id),
    list: (state) => lists[state],
    hasNext,

    take({ token, lockMs, workerName }) {
      const job = hasNext() ? lists.waiting.oldest() : null;
      if (job === null) return null;
      leave(job);
      job.state = 'active';
      lists.active.addNewest(job);
      if (token !== NO_LOCK) job.lock = { token, until: clock.ticks() + lockMs };
      job.fields = {
        ...job.fields,
        processedOn: clock.now(),
        attemptsStarted: job.fields.attemptsStarted + 1,
        ...(workerName !== undefined && { processedBy: workerName }),
      };
      return job;
    },

    finish(id, { state, token, at, fields, keep }) {
      const job = lockedJob(id, token, 'moveToFinished');
      leave(job);
      const { deferredFailure: _, ...before } = job.fields;
      job.state = state;
      job.fields = { ...before, ...fields, finishedOn: at, attemptsMade: before.attemptsMade + 1 };
      lists[state].addNewest(job);
      trim(job, keep, at);
    },

    giveBack(id, token) {
      wait(lockedJob(id, token, 'moveJobFromActiveToWait'), 'addOldest');
    },

    retry(job) {
      const { finishedOn: _, processedOn: __, ...fields } = job.fields;
      delete fields[job.state === 'failed' ? 'failedReason' : 'returnvalue'];
      job.fields = fields;
      wait(job, 'addNewest');
    },

    recoverStalled(stalledCountMax) {
      // From the newest, so that the oldest is the next to be taken.
      const stalled = [...lists.active.fromNewest()].filter((job) => !isLocked(job));
      for (const job of stalled) {
        const stalledCounter = job.fields.stalledCounter + 1;
        job.fields = {
          ...job.fields,
          stalledCounter,
          ...(stalledCounter > stalledCountMax && { deferredFailure: 'job stalled more than allowable limit' }),
        };
        wait(job, 'addOldest');
      }
      return stalled.map(({ id }) => id);
    },

    extendLock(id, token, lockMs) {
      const job = jobs.get(id);
      if (job === undefined || !isLocked(job) || job.lock?.token !== token) return false;
      job.lock = { token, until: clock.ticks() + lockMs };
      return true;
    },

    isLocked,
    drop,
    meta,
    setPaused(paused) {
      if (paused) meta.set(PAUSED, '1');
      else meta.delete(PAUSED);
      announce();
    },
    onNext(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
  };
}

/** A negative number keeps all, as in Redis. */
function retention(keep: JobEnd['keep']): { count?: number | undefined; ageMs?: number } {
  if (keep === true) return { count: 0 };
  if (typeof keep === 'number') return retention({ count: keep });
  if (typeof keep !== 'object') return {};
  const count = keep.count !== undefined && keep.count < 0 ? undefined : keep.count;
  return 'age' in keep ? { count, ageMs: keep.age * 1000 } : { count };
}

export function missingJob(id: string, command: string): Error {
  return bullError(ErrorCode.JobNotExist, `Missing key for job ${id}. ${command}`);
}

export function wrongState(id: string, state: string, command: string): Error {
  return bullError(ErrorCode.JobNotInState, `Job ${id} is not in the ${state} state. ${command}`);
}

/** Makes an error with a code, as BullMQ's other backends do, because callers read the code. */
function bullError(code: ErrorCode, message: string): Error {
  return Object.assign(new Error(message), { code });
}
