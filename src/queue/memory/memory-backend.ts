import { setImmediate } from 'node:timers/promises';
import type { BackendFactory, IQueueBackend, JobJson, JobType, WorkerOptions } from 'bullmq';
import type { Clock } from '../../lib/clock.ts';
import { ABSENT_FEATURES, refuseLimits, refuseUnsupportedJob } from './absent-features.ts';
import { JOB_STATES, type StoredJob, type StoredState } from './job-list.ts';
import { createJobStore, type JobEnd, type JobStore, missingJob, wrongState } from './job-store.ts';
import { rangeOf } from './range.ts';

/** How many rows of a job's log are kept where its options name no number. */
const LOG_ROWS_KEPT = 1_000;

/** The queues of this process. BullMQ's classes are given them as their connection. */
export interface MemoryQueues {
  clock: Clock;
  queue(name: string): MemoryQueue;
}

interface MemoryQueue {
  jobs: JobStore;
  /** The workers that are open, by the names under which BullMQ looks for them. */
  workers: Set<{ name: string }>;
}

export function createMemoryQueues(clock: Clock): MemoryQueues {
  const queues = new Map<string, MemoryQueue>();
  return {
    clock,
    queue(name) {
      const queue = queues.get(name) ?? { jobs: createJobStore(clock), workers: new Set<{ name: string }>() };
      queues.set(name, queue);
      return queue;
    },
  };
}

/** A job as BullMQ's worker receives it. The zeros mean that neither a rate limit nor a delay applies. */
type TakenJob = [job: JobJson | null, id: string, limitedForMs: 0, delayedUntil: 0];

/**
 * BullMQ's interface to a datastore, over jobs in this process. There is no connection that could be lost. Between ending a job
 * and taking the next one the event loop runs once, so that timers and sockets are served however busy the queue is.
 */
export const createMemoryBackend: BackendFactory<IQueueBackend, MemoryQueues> = (name, opts, role = {}) => {
  const { clock } = opts.connection;
  const { jobs, workers } = opts.connection.queue(name);
  // BullMQ passes the options of workers under the type that all its classes share.
  const { lockDuration = 30_000, maxStalledCount = 1, ...options } = opts as WorkerOptions<MemoryQueues>;
  const clientName = (suffix = ''): string => `${name}${suffix}`;
  const self = { name: clientName(options.name === undefined ? '' : `:w:${options.name}`) };
  let closing: Promise<void> | undefined;
  let mayWait = true;
  let stopWaiting: () => void = () => undefined;

  if (role.withBlockingConnection === true) workers.add(self);

  function find(id: string | undefined, command: string): StoredJob {
    const job = id === undefined ? undefined : jobs.find(id);
    if (job === undefined) throw missingJob(`${id}`, command);
    return job;
  }

  async function take(token: string, workerName: string | undefined): Promise<TakenJob> {
    await setImmediate();
    const job = closing === undefined ? jobs.take({ token, lockMs: lockDuration, workerName }) : null;
    return job === null ? [null, '', 0, 0] : [jsonOf(job), job.id, 0, 0];
  }

  async function finish(
    id: string | undefined,
    end: Omit<JobEnd, 'at'>,
    fetchNext: boolean,
  ): Promise<{ result: TakenJob | undefined; finishedOn: number }> {
    const finishedOn = clock.now();
    jobs.finish(`${id}`, { ...end, at: finishedOn });
    const goesOn = fetchNext && closing === undefined;
    return { result: goesOn ? await take(end.token, options.name) : undefined, finishedOn };
  }

  function dropAll(state: StoredState): void {
    for (const job of jobs.list(state).fromOldest()) jobs.drop(job);
  }

  /** Resolves when there may be a job, when the time is over, and when waiting is stopped. */
  async function nextJob(timeoutMs: number): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const unsubscribe = jobs.onNext(resolve);
    // The timer alone must not keep the process alive.
    const timer = setTimeout(resolve, timeoutMs).unref();
    stopWaiting = resolve;
    await promise;
    clearTimeout(timer);
    unsubscribe();
  }

  return {
    ...ABSENT_FEATURES,

    waitUntilReady: async () => undefined,
    async close() {
      closing ??= Promise.resolve();
      workers.delete(self);
      stopWaiting();
    },
    get closing() {
      return closing;
    },
    async disconnect() {
      stopWaiting();
    },
    setName: async () => undefined,
    // Events of a connection. There is none here.
    on() {
      return this;
    },
    once() {
      return this;
    },
    removeListener() {
      return this;
    },
    forQueue: (other) => createMemoryBackend(other, opts),
    qualifiedName: name,
    keys: {},
    toKey: (type) => `${name}:${type}`,
    parseNodeKey(key) {
      const at = key.lastIndexOf(':');
      return { prefix: '', queueName: key.slice(0, at), id: key.slice(at + 1) };
    },
    clientName,
    getClientList: async () => [[...workers].map((worker) => `name=${worker.name}`).join('\n')],

    async addJob(job, jobId) {
      refuseUnsupportedJob(job);
      return jobs.add(job, jobId);
    },
    async addJobs(entries) {
      for (const { job } of entries) refuseUnsupportedJob(job);
      return entries.map(({ job, jobId }) => jobs.add(job, jobId));
    },

    moveToActive: take,
    moveToCompleted(job, value, keep, token, fetchNext) {
      const fields = { returnvalue: JSON.stringify(value) ?? 'null' };
      const kept = keep ?? options.removeOnComplete;
      return finish(job.id, { state: 'completed', token, fields, keep: kept }, fetchNext);
    },
    moveToFailed(job, failedReason, keep, token, fetchNext, update) {
      const stacktrace: unknown = update?.['stacktrace'];
      const fields = { failedReason, ...(typeof stacktrace === 'string' && { stacktrace }) };
      return finish(job.id, { state: 'failed', token, fields, keep: keep ?? options.removeOnFail }, fetchNext);
    },
    async moveJobFromActiveToWait(jobId, token = '0') {
      jobs.giveBack(jobId, token);
      return 0;
    },
    async retryFinishedJob({ id }, state, { resetAttemptsMade, resetAttemptsStarted } = {}) {
      const job = find(id, 'reprocessJob');
      if (job.state !== state) throw wrongState(job.id, state, 'reprocessJob');
      if (resetAttemptsMade === true) job.fields = { ...job.fields, attemptsMade: 0 };
      if (resetAttemptsStarted === true) job.fields = { ...job.fields, attemptsStarted: 0 };
      jobs.retry(job);
    },
    async retryFinishedJobs(state = 'failed', count = 1_000, timestamp = clock.now()) {
      const ended = olderThan(jobs.list(state).fromOldest(), timestamp, count);
      for (const job of ended) jobs.retry(job);
      return ended.length < count ? 0 : 1;
    },
    moveStalledJobsToWait: async () => jobs.recoverStalled(maxStalledCount),
    extendLock: async (jobId, token, duration) => (jobs.extendLock(jobId, token, duration) ? 1 : 0),
    extendLocks: async (jobIds, tokens, duration) =>
      jobIds.filter((id, index) => !jobs.extendLock(id, tokens[index] ?? '', duration)),

    async pause(pause) {
      jobs.setPaused(pause);
    },
    async drain() {
      dropAll('waiting');
    },
    async cleanJobsByState(type, timestamp, limit = 0) {
      const state = stateNamed(type);
      if (state === null) return [];
      const count = limit > 0 ? limit : Number.POSITIVE_INFINITY;
      const cleaned = olderThan(jobs.list(state).fromOldest(), timestamp, count).filter((job) => !jobs.isLocked(job));
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
      // BullMQ declares a list with one id, and reads as many as there are.
      return types.map((type) => idsInRange(jobs, type, { start, end, asc })) as [string][];
    },

    async setQueueMeta(values) {
      refuseLimits(values);
      const known = jobs.meta.size;
      for (const [field, value] of Object.entries(values)) jobs.meta.set(field, `${value}`);
      return jobs.meta.size - known;
    },
    getQueueMetaField: async (field) => jobs.meta.get(field) ?? null,
    getQueueMetaFields: async (fields) => fields.map((field) => jobs.meta.get(field) ?? null),
    getQueueMeta: async () => Object.fromEntries(jobs.meta),
    removeQueueMetaFields: async (fields) => fields.filter((field) => jobs.meta.delete(field)).length,
    hasQueueMetaField: async (field) => jobs.meta.has(field),

    minimumBlockTimeout: 0.001,
    // No connection can be lost here, so workers look for jobs by themselves only once an hour.
    maximumBlockTimeout: 3_600,
    async waitForJob(timeoutSeconds) {
      if (!mayWait || closing !== undefined) return null;
      if (!jobs.hasNext()) await nextJob(timeoutSeconds * 1_000);
      return jobs.hasNext() ? { member: '0', score: 0 } : null;
    },
    async disconnectBlocking() {
      mayWait = false;
      stopWaiting();
    },
    async reconnectBlocking() {
      mayWait = true;
    },
  };
};

function jsonOf({ fields }: StoredJob): JobJson {
  return fields as JobJson;
}

/** The state for which BullMQ uses this name, or null where the embedded queue has no jobs in it. */
function stateNamed(type: string): StoredState | null {
  const state = type === 'wait' ? 'waiting' : type;
  return JOB_STATES.find((one) => one === state) ?? null;
}

function finishedCode(state: StoredState): number {
  if (state === 'completed') return 1;
  return state === 'failed' ? 2 : 0;
}

/** The first `count` jobs that last changed at `timestamp` or before. */
function olderThan(oldestFirst: Iterable<StoredJob>, timestamp: number, count: number): StoredJob[] {
  const ended: StoredJob[] = [];
  for (const job of oldestFirst) {
    const { finishedOn, processedOn, timestamp: addedOn } = job.fields;
    if (ended.length >= count) break;
    if ((finishedOn ?? processedOn ?? addedOn) <= timestamp) ended.push(job);
  }
  return ended;
}

function idsInRange(
  jobs: JobStore,
  type: JobType,
  { start, end, asc }: { start: number; end: number; asc: boolean },
): string[] {
  const state = stateNamed(type);
  if (state === null) return [];
  const list = jobs.list(state);
  const ids = rangeOf(asc ? list.fromOldest() : list.fromNewest(), list.size(), start, end).map(({ id }) => id);
  // BullMQ reverses these lists once more, because a Redis list is read from its newest entry only.
  const isReversed = asc && (state === 'waiting' || state === 'active');
  return isReversed ? ids.reverse() : ids;
}
