import type { KeepJobs } from 'bullmq';
import type { JobList, StoredJob } from './job-list.ts';

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
  for (const job of list.fromOldest()) {
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
