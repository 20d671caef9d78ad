import type { IQueueBackend, JobJson } from 'bullmq';
import { fault } from '../../domain/faults.ts';
import type { Fault } from '../../lib/errors.ts';

/**
 * The part of BullMQ's interface for features that the embedded queue does not have: flows, schedules, delays and
 * others. A call of an absent feature is refused. A query for its data returns nothing.
 */
export const ABSENT_FEATURES = {
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
export function refuseUnsupportedJob({ opts, parentKey, repeatJobKey, deduplicationId }: JobJson): void {
  if (parentKey !== undefined) throw unsupported('flows');
  if (repeatJobKey !== undefined) throw unsupported('job schedulers');
  if (deduplicationId !== undefined) throw unsupported('deduplication');
  if (opts.delay) throw unsupported('delayed jobs');
  if (opts.priority) throw unsupported('priorities');
  if (opts.lifo === true) throw unsupported('jobs that go first (lifo)');
  if ((opts.attempts ?? 0) > 1) throw unsupported('automatic retries');
}

/** @throws Fault `queue.unsupported` for a limit on the whole queue */
export function refuseLimits(values: Record<string, string | number>): void {
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
