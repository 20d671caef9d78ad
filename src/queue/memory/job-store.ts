import type { JobJson } from 'bullmq';
import type { Clock } from '../../lib/clock.ts';
import { createLinkedList } from '../../lib/collections/linked-list.ts';
import {
  isReserved,
  JOB_STATES,
  type JobFields,
  type JobList,
  jobsToDrop,
  type Keep,
  NO_LOCK,
  reservedJob,
  type StoredJob,
  type StoredState,
} from './stored-job.ts';

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
