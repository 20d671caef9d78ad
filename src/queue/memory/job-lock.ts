import { ErrorCode } from 'bullmq';
import type { StoredJob } from './job-list.ts';

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
