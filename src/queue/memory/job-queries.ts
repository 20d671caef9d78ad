import type { IQueueBackend, JobJson, JobType } from 'bullmq';
import { JOB_STATES, type JobStore, type StoredJob, type StoredState } from './job-store.ts';

/** The part of BullMQ's interface that reads jobs. */
export function createJobQueries(jobs: JobStore) {
  return {
    getState: async (jobId) => jobs.find(jobId)?.state ?? 'unknown',
    isJobInState: async (state, jobId) => jobs.find(jobId)?.state === stateNamed(state),
    async isFinished(jobId, returnValue = false) {
      const job = jobs.find(jobId);
      const code = job === undefined ? -1 : finishedCode(job.state);
      if (!returnValue) return code;
      const missing = `Missing key for job ${jobId}. isFinished`;
      return [code, job === undefined ? missing : (job.fields.returnvalue ?? job.fields.failedReason ?? '')];
    },
    async getJobData(jobId) {
      const job = jobs.find(jobId);
      return job && jsonOf(job);
    },
    async getCounts(types) {
      return types.map((type) => {
        const state = stateNamed(type);
        return state === null ? 0 : jobs.list(state).size();
      });
    },
    async getRanges(types, start = 0, end = 1, asc = false) {
      // BullMQ declares a list with one id, but reads a list of any length.
      return types.map((type) => idsInRange(jobs, type, { start, end, asc })) as [string][];
    },
  } satisfies Partial<IQueueBackend>;
}

export function jsonOf({ fields }: StoredJob): JobJson {
  return fields as JobJson;
}

/** The state for which BullMQ uses this name, or null if the embedded queue has no jobs in it. */
export function stateNamed(type: string): StoredState | null {
  const state = type === 'wait' ? 'waiting' : type;
  return JOB_STATES.find((one) => one === state) ?? null;
}

function finishedCode(state: StoredState): number {
  if (state === 'completed') return 1;
  return state === 'failed' ? 2 : 0;
}

function idsInRange(
  jobs: JobStore,
  type: JobType,
  { start, end, asc }: { start: number; end: number; asc: boolean },
): string[] {
  const state = stateNamed(type);
  if (state === null) return [];
  const list = jobs.list(state);
  const ids = rangeOf(asc ? list : list.reversed(), list.size(), start, end).map(({ id }) => id);
  // BullMQ reverses these lists again, because it expects the order of a Redis list, which begins with the newest
  // entry.
  const isReversed = asc && (state === 'waiting' || state === 'active');
  return isReversed ? ids.reverse() : ids;
}

/** The entries from `start` to `end`, both included; negative numbers count from the end, as in Redis. */
export function rangeOf<T>(entries: Iterable<T>, size: number, start: number, end: number): T[] {
  const first = start < 0 ? Math.max(0, size + start) : start;
  const last = end < 0 ? size + end : end;
  const found: T[] = [];
  let index = 0;
  for (const entry of entries) {
    if (index > last) break;
    if (index >= first) found.push(entry);
    index += 1;
  }
  return found;
}
