import type { Queue } from 'bullmq';
import { isJsonObject, type JsonObject } from '../lib/json.ts';

/**
 * Which data a job carries. A version of this program that changes what its jobs mean takes the next number: the jobs of
 * another version are dropped and enqueued again from the ledger, and never read as something else.
 */
const FORMAT = 3;
const TEXT_MAX = 4_000;
/** How many jobs are read at once: those of others may be many. */
const CHUNK = 100;

/** Data as a job carries them, with the mark of their format. */
export function stampData(data: JsonObject): JsonObject {
  return { dppSync: FORMAT, ...data };
}

/** What a job of this version carries. Null for the job of another version, or of somebody else. */
export function ownData(stored: unknown): JsonObject | null {
  if (!isJsonObject(stored)) return null;
  const { dppSync, ...data } = stored;
  return dppSync === FORMAT ? data : null;
}

/**
 * Drops the jobs of another version that wait or have failed, and what else is no job of ours. One that its worker took and lost
 * is dropped when it is taken again.
 */
export async function dropForeignJobs(queue: Queue): Promise<void> {
  // We make no schedules. One would add jobs for ever, and its next job cannot be removed before it.
  for (const { key } of await queue.getJobSchedulers()) await queue.removeJobScheduler(key);
  const ids = await queue.getRanges(['waiting', 'prioritized', 'delayed', 'failed'], 0, -1);
  for (let start = 0; start < ids.length; start += CHUNK) {
    await Promise.all(ids.slice(start, start + CHUNK).map((id) => dropIfForeign(queue, id)));
  }
}

async function dropIfForeign(queue: Queue, id: string): Promise<void> {
  try {
    const job = await queue.getJob(id);
    if (ownData(job?.data) !== null) return;
  } catch (error) {
    // BullMQ throws it for fields that are no JSON.
    if (!(error instanceof SyntaxError)) throw error;
  }
  await queue.remove(id);
}

/** Text for people as a job carries it: what cannot be shown is replaced, what is too long is cut. */
export function toStorableText(text: string): string {
  const storable = text.replaceAll('\0', '\uFFFD').toWellFormed();
  return storable.length > TEXT_MAX ? `${storable.slice(0, TEXT_MAX - 1).toWellFormed()}…` : storable;
}
