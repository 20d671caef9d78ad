import type { JobJson } from 'bullmq';
import type { Clock } from '../../lib/clock.ts';
import {
  createJobList,
  JOB_STATES,
  type JobFields,
  type JobList,
  type StoredJob,
  type StoredState,
} from './job-list.ts';
import { isReserved, NO_LOCK, reservedJob } from './job-lock.ts';
import { jobsToDrop, type Keep } from './job-retention.ts';

/** The field of the queue's own data in which BullMQ stores whether the queue is paused. */
const PAUSED = 'paused';

/**
 * The jobs of one queue, in memory, with the rules of BullMQ's Redis scripts. Every method is synchronous, so no other
 * method runs between its steps.
 *
 * Methods that end a job throw BullMQ's own errors: `Missing key`, `Missing lock`, `Lock mismatch`, `is not in the … state`.
 */
export interface JobStore {
  /** Adds a job behind the waiting ones, unless there is a job with this id. Returns the job's id. */
  add(job: JobJson, id: string): string;
  find(id: string): StoredJob | undefined;
  list(state: StoredState): JobList;
  /** True if a worker could take a job now. */
  hasNext(): boolean;
  /** Takes the oldest waiting job for a worker; null if no job waits or the queue is paused. */
  take(options: { token: string; lockMs: number; workerName: string | undefined }): StoredJob | null;
  /** Ends an active job. Then drops the oldest jobs with the same end that need not be kept. */
  finish(id: string, end: JobEnd): void;
  /** Puts an active job back in front of the waiting ones. */
  giveBack(id: string, token: string): void;
  /** Puts a job that has ended behind the waiting ones. */
  retry(job: StoredJob): void;
  /** Puts active jobs whose reservation has ended back in front of the waiting ones. Returns their ids. */
  recoverStalled(stalledCountMax: number): string[];
  extendLock(id: string, token: string, lockMs: number): boolean;
  isLocked(job: StoredJob): boolean;
  drop(job: StoredJob): void;
  /** The data that BullMQ stores about the queue itself. */
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
  keep: Keep;
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

  const isLocked = (job: StoredJob): boolean => isReserved(job, clock.ticks());

  function lockedJob(id: string, token: string, command: string): StoredJob {
    return reservedJob(jobs.get(id), { id, token, command, now: clock.ticks() });
  }

  return {
    add({ name, data, opts, timestamp }, givenId) {
      ids += 1;
      const id = givenId || `${ids}`;
      if (jobs.has(id)) return id;
      const job = newJob(id, { name, data, opts, timestamp });
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
      const attemptsStarted = job.fields.attemptsStarted + 1;
      const by = workerName === undefined ? {} : { processedBy: workerName };
      job.fields = { ...job.fields, processedOn: clock.now(), attemptsStarted, ...by };
      return job;
    },

    finish(id, { state, token, at, fields, keep }) {
      const job = lockedJob(id, token, 'moveToFinished');
      leave(job);
      const { deferredFailure: _, ...before } = job.fields;
      job.state = state;
      job.fields = { ...before, ...fields, finishedOn: at, attemptsMade: before.attemptsMade + 1 };
      lists[state].addNewest(job);
      for (const old of jobsToDrop(job, lists[state], { keep, at })) drop(old);
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
      // The newest stalled job is put back first, so that the oldest one is taken next.
      const stalled = [...lists.active.fromNewest()].filter((job) => !isLocked(job));
      for (const job of stalled) {
        job.fields = stalledOnce(job.fields, stalledCountMax);
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
  return { id, fields, state: 'waiting', lock: null, logs: [], older: null, newer: null };
}

/** The fields of a job that has stalled once more. BullMQ fails the job if it has stalled more often than allowed. */
function stalledOnce(fields: JobFields, countMax: number): JobFields {
  const stalledCounter = fields.stalledCounter + 1;
  const isTooOften = stalledCounter > countMax;
  return { ...fields, stalledCounter, ...(isTooOften && { deferredFailure: 'job stalled more than allowable limit' }) };
}
