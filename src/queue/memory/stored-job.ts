import { ErrorCode, type JobJson, type KeepJobs } from 'bullmq';
import type { LinkedList } from '../../lib/collections/linked-list.ts';

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
}

/** Jobs from the oldest to the newest. A job is in one list at a time. */
export type JobList = LinkedList<StoredJob>;

/** With this token BullMQ takes and finishes a job without reserving it. */
export const NO_LOCK = '0';

/** True while a worker has the job reserved. */
export function isReserved({ lock }: StoredJob, now: number): boolean {
  return lock !== null && now < lock.until;
}

/** Returns the active job if this worker still has it reserved. Otherwise throws the same errors as BullMQ. */
export function reservedJob(
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
export type Keep = boolean | number | KeepJobs | undefined;

/**
 * The jobs to drop after a job has ended: the oldest jobs beyond the number to keep. If the ended job itself is not
 * kept, only that job is dropped.
 */
export function jobsToDrop(ended: StoredJob, list: JobList, { keep, at }: { keep: Keep; at: number }): StoredJob[] {
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
