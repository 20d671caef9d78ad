import { setImmediate } from 'node:timers/promises';
import type { BackendFactory, IQueueBackend, JobJson, WorkerOptions } from 'bullmq';
import type { Clock } from '../../lib/clock.ts';
import { ABSENT_FEATURES, refuseUnsupportedJob } from './absent-features.ts';
import { createJobChanges } from './job-changes.ts';
import { createJobQueries, jsonOf } from './job-queries.ts';
import { createJobStore, type JobEnd, type JobStore } from './job-store.ts';
import { createJobWait } from './job-wait.ts';
import { createQueueMeta } from './queue-meta.ts';

/** The queues of this process. BullMQ's classes receive them in place of a connection. */
export interface MemoryQueues {
  clock: Clock;
  queue(name: string): MemoryQueue;
}

interface MemoryQueue {
  jobs: JobStore;
  /** The workers that are open, with the names by which BullMQ finds them. */
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
 * BullMQ's interface to a datastore, over jobs in this process. There is no connection that could be lost. Between
 * ending a job and taking the next one the event loop runs once, so that timers and sockets are served even if the
 * queue is always busy.
 */
export const createMemoryBackend: BackendFactory<IQueueBackend, MemoryQueues> = (name, opts, role = {}) => {
  const { clock } = opts.connection;
  const { jobs, workers } = opts.connection.queue(name);
  // BullMQ passes the options of a worker with the type that all its classes share.
  const { lockDuration = 30_000, maxStalledCount = 1, ...options } = opts as WorkerOptions<MemoryQueues>;
  const clientName = (suffix = ''): string => `${name}${suffix}`;
  const self = { name: clientName(options.name === undefined ? '' : `:w:${options.name}`) };
  let closing: Promise<void> | undefined;
  const wait = createJobWait(jobs, () => closing !== undefined);

  if (role.withBlockingConnection === true) workers.add(self);

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

  return {
    ...ABSENT_FEATURES,
    ...createJobQueries(jobs),
    ...createJobChanges(jobs, clock),
    ...createQueueMeta(jobs.meta),
    ...wait.methods,

    waitUntilReady: async () => undefined,
    async close() {
      closing ??= Promise.resolve();
      workers.delete(self);
      wait.stop();
    },
    get closing() {
      return closing;
    },
    async disconnect() {
      wait.stop();
    },
    setName: async () => undefined,
    // There is no connection here, so it emits no events.
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
    moveStalledJobsToWait: async () => jobs.recoverStalled(maxStalledCount),
    extendLock: async (jobId, token, duration) => (jobs.extendLock(jobId, token, duration) ? 1 : 0),
    extendLocks: async (jobIds, tokens, duration) =>
      jobIds.filter((id, index) => !jobs.extendLock(id, tokens[index] ?? '', duration)),

    async pause(pause) {
      jobs.setPaused(pause);
    },
  };
};
