import { setImmediate } from 'node:timers/promises';
import type { BackendFactory, IQueueBackend, JobJson, WorkerOptions } from 'bullmq';
import { fault } from '../../domain/faults.ts';
import type { Clock } from '../../lib/clock.ts';
import type { Fault } from '../../lib/errors.ts';
import { createJobChanges, createJobQueries, jsonOf } from './job-commands.ts';
import { createJobStore, type JobEnd, type JobStore } from './job-store.ts';

interface MemoryQueue {
  jobs: JobStore;
  /** The workers that are open, with the names by which BullMQ finds them. */
  workers: Set<{ name: string }>;
}

/** The queues of this process. BullMQ's classes receive them in place of a connection. */
export function createMemoryQueues(clock: Clock) {
  const queues = new Map<string, MemoryQueue>();
  return {
    clock,
    queue(name: string): MemoryQueue {
      const queue = queues.get(name) ?? { jobs: createJobStore(clock), workers: new Set<{ name: string }>() };
      queues.set(name, queue);
      return queue;
    },
  };
}

type MemoryQueues = ReturnType<typeof createMemoryQueues>;

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

/** The part of BullMQ's interface for the data of a queue itself. */
function createQueueMeta(stored: Map<string, string>) {
  return {
    async setQueueMeta(values) {
      refuseLimits(values);
      const known = stored.size;
      for (const [field, value] of Object.entries(values)) stored.set(field, `${value}`);
      return stored.size - known;
    },
    getQueueMetaField: async (field) => stored.get(field) ?? null,
    getQueueMetaFields: async (fields) => fields.map((field) => stored.get(field) ?? null),
    getQueueMeta: async () => Object.fromEntries(stored),
    removeQueueMetaFields: async (fields) => fields.filter((field) => stored.delete(field)).length,
    hasQueueMetaField: async (field) => stored.has(field),
  } satisfies Partial<IQueueBackend>;
}

/** The part of BullMQ's interface by which a worker waits until there may be a job. */
function createJobWait(jobs: JobStore, isClosing: () => boolean) {
  let mayWait = true;
  let stopWaiting: () => void = () => undefined;

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
    stop: () => stopWaiting(),
    methods: {
      minimumBlockTimeout: 0.001,
      // No connection can be lost here, so workers that are not woken look for jobs only once an hour.
      maximumBlockTimeout: 3_600,
      async waitForJob(timeoutSeconds) {
        if (!mayWait || isClosing()) return null;
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
    } satisfies Partial<IQueueBackend>,
  };
}

/**
 * The part of BullMQ's interface for features that the embedded queue does not have: flows, schedules, delays and
 * others. A call of an absent feature is refused. A query for its data returns nothing.
 */
const ABSENT_FEATURES = {
  addFlow: () => refuse('flows'),
  moveToWaitingChildren: () => refuse('flows'),
  removeChildDependency: async () => false,
  removeUnprocessedChildren: async () => undefined,
  getDependencies: async () => ({ processed: {}, unprocessed: [], ignored: {}, failed: [] }),
  getDependencyCounts: async (_jobId, types) => types.map(() => 0),
  getProcessedChildrenValues: async () => ({}),
  getIgnoredChildrenFailures: async () => ({}),
  paginate: async () => ({ cursor: '0', items: [], total: 0, jobs: [] }),

  addJobScheduler: () => refuse('job schedulers'),
  updateJobSchedulerNextMillis: () => refuse('job schedulers'),
  removeJobScheduler: async () => 0,
  getJobScheduler: async () => [null, null],
  isJobScheduler: async () => false,
  getJobSchedulerData: async () => ({}),
  getJobSchedulersRange: async () => [],
  getJobSchedulersCount: async () => 0,

  moveToDelayed: () => refuse('delayed jobs'),
  changeDelay: () => refuse('delayed jobs'),
  promote: () => refuse('delayed jobs'),
  promoteJobs: async () => 0,

  changePriority: () => refuse('priorities'),
  getCountsPerPriority: async (priorities) => priorities.map(() => 0),
  removeDeprecatedPriorityKey: async () => 0,

  removeDeduplicationKey: async () => 0,
  deleteDeduplicationKey: async () => 0,
  getDeduplicationJobId: async () => null,

  setRateLimit: () => refuse('rate limits'),
  removeRateLimitKey: async () => 0,
  getRateLimitTtl: async () => 0,
  isMaxed: async () => false,

  retryJob: () => refuse('automatic retries'),

  // No code reads events of these queues, so no events are stored.
  publishEvent: () => refuse('queue events'),
  readEvents: () => refuse('queue events'),
  trimEvents: async () => 0,

  getMetrics: async () => [[], [], 0],
  // A job is removed from memory completely, so there are no orphaned jobs.
  removeOrphanedJobs: async () => 0,
} satisfies Partial<IQueueBackend>;

/** Fields of a queue's data by which BullMQ limits the queue. */
const LIMITS: ReadonlyMap<string, string> = new Map([
  ['concurrency', 'limits over all workers'],
  ['max', 'rate limits'],
  ['duration', 'rate limits'],
]);

/** @throws Fault `queue.unsupported` for a job that uses a feature which the embedded queue does not have */
function refuseUnsupportedJob({ opts, parentKey, repeatJobKey, deduplicationId }: JobJson): void {
  if (parentKey !== undefined) throw unsupported('flows');
  if (repeatJobKey !== undefined) throw unsupported('job schedulers');
  if (deduplicationId !== undefined) throw unsupported('deduplication');
  if (opts.delay) throw unsupported('delayed jobs');
  if (opts.priority) throw unsupported('priorities');
  if (opts.lifo === true) throw unsupported('jobs that go first (lifo)');
  if ((opts.attempts ?? 0) > 1) throw unsupported('automatic retries');
}

/** @throws Fault `queue.unsupported` for a limit on the whole queue */
function refuseLimits(values: Record<string, string | number>): void {
  for (const field of Object.keys(values)) {
    const feature = LIMITS.get(field);
    if (feature !== undefined) throw unsupported(feature);
  }
}

async function refuse(feature: string): Promise<never> {
  throw unsupported(feature);
}

function unsupported(feature: string): Fault {
  return fault('queue.unsupported', `The embedded queue has no ${feature}.`, {
    path: 'queue',
    suggestion: 'Set `queue` to a Redis URL to use this feature.',
  });
}
