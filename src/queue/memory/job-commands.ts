import type { IQueueBackend, JobJson, JobType } from 'bullmq';
import type { Clock } from '../../lib/clock.ts';
import { JOB_STATES, type JobStore, missingJob, type StoredJob, type StoredState, wrongState } from './job-store.ts';

/** How many rows of a job's log are kept if the job's options name no number. */
const LOG_ROWS_KEPT = 1_000;

/** The part of BullMQ's interface through which a dashboard or a handler changes jobs: retries, removal, data and logs. */
export function createJobChanges(jobs: JobStore, clock: Clock) {
  function find(id: string | undefined, command: string): StoredJob {
    const job = id === undefined ? undefined : jobs.find(id);
    if (job === undefined) throw missingJob(`${id}`, command);
    return job;
  }

  function dropAll(state: StoredState): void {
    for (const job of jobs.list(state)) jobs.drop(job);
  }

  return {
    async retryFinishedJob({ id }, state, { resetAttemptsMade, resetAttemptsStarted } = {}) {
      const job = find(id, 'reprocessJob');
      if (job.state !== state) throw wrongState(job.id, state, 'reprocessJob');
      if (resetAttemptsMade === true) job.fields = { ...job.fields, attemptsMade: 0 };
      if (resetAttemptsStarted === true) job.fields = { ...job.fields, attemptsStarted: 0 };
      jobs.retry(job);
    },
    async retryFinishedJobs(state = 'failed', count = 1_000, timestamp = clock.now()) {
      const ended = olderThan(jobs.list(state), timestamp, count);
      for (const job of ended) jobs.retry(job);
      return ended.length < count ? 0 : 1;
    },
    async drain() {
      dropAll('waiting');
    },
    async cleanJobsByState(type, timestamp, limit = 0) {
      const state = stateNamed(type);
      if (state === null) return [];
      const count = limit > 0 ? limit : Number.POSITIVE_INFINITY;
      const cleaned = olderThan(jobs.list(state), timestamp, count).filter((job) => !jobs.isLocked(job));
      for (const job of cleaned) jobs.drop(job);
      return cleaned.map(({ id }) => id);
    },
    async obliterate({ force }) {
      if (!jobs.meta.has('paused')) throw new Error('Cannot obliterate non-paused queue');
      if (!force && jobs.list('active').size() > 0) throw new Error('Cannot obliterate queue with active jobs');
      for (const state of JOB_STATES) dropAll(state);
      jobs.meta.clear();
      return 0;
    },
    async remove(jobId) {
      const job = jobs.find(jobId);
      if (job !== undefined && jobs.isLocked(job)) return 0;
      if (job !== undefined) jobs.drop(job);
      return 1;
    },

    async updateData({ id }, data) {
      const job = find(id, 'updateData');
      job.fields = { ...job.fields, data: JSON.stringify(data) };
    },
    async updateProgress(jobId, progress) {
      const job = find(jobId, 'updateProgress');
      job.fields = { ...job.fields, progress: structuredClone(progress) };
    },
    async addLog(jobId, logRow, keepLogs = LOG_ROWS_KEPT) {
      const { logs } = find(jobId, 'addLog');
      logs.push(logRow);
      logs.splice(0, logs.length - keepLogs);
      return logs.length;
    },
    async clearLogs(jobId, keepLogs = 0) {
      const job = jobs.find(jobId);
      if (job !== undefined) job.logs = keepLogs > 0 ? job.logs.slice(-keepLogs) : [];
    },
    async getJobLogs(jobId, start, end, asc) {
      const logs = jobs.find(jobId)?.logs ?? [];
      return { logs: rangeOf(asc ? logs : logs.toReversed(), logs.length, start, end), count: logs.length };
    },
  } satisfies Partial<IQueueBackend>;
}

/** The first `count` jobs whose last change was at `timestamp` or before. */
function olderThan(oldestFirst: Iterable<StoredJob>, timestamp: number, count: number): StoredJob[] {
  const ended: StoredJob[] = [];
  for (const job of oldestFirst) {
    const { finishedOn, processedOn, timestamp: addedOn } = job.fields;
    if (ended.length >= count) break;
    if ((finishedOn ?? processedOn ?? addedOn) <= timestamp) ended.push(job);
  }
  return ended;
}

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
function stateNamed(type: string): StoredState | null {
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
function rangeOf<T>(entries: Iterable<T>, size: number, start: number, end: number): T[] {
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
