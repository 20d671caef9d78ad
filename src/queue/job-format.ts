import type { Queue } from 'bullmq';
import { isJsonObject, type JsonObject } from '../lib/json.ts';

/**
 * The number of the format of a job's data. Raise the number with each change of the meaning of jobs: jobs of another
 * version are dropped, and their work is enqueued again from the ledger.
 */
const FORMAT = 3;
const TEXT_MAX = 4_000;
/** How many jobs are read at once, since there may be many foreign ones. */
const CHUNK = 100;

/** Adds the number of the format to the data of a job. */
export function stampData(data: JsonObject): JsonObject {
  return { dppSync: FORMAT, ...data };
}

/** The data of a job of this version; null for a job of another version or of another program. */
export function ownData(stored: unknown): JsonObject | null {
  if (!isJsonObject(stored)) return null;
  const { dppSync, ...data } = stored;
  return dppSync === FORMAT ? data : null;
}

/**
 * Drops waiting and failed jobs of another version or of another program. A foreign job that a worker has taken and
 * lost is dropped when it is taken again.
 */
export async function dropForeignJobs(queue: Queue): Promise<void> {
  // dpp-sync makes no job schedules. A foreign one would add jobs for ever, and has to be removed before it adds the
  // next one.
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
    // BullMQ throws this error for fields that are not JSON.
    if (!(error instanceof SyntaxError)) throw error;
  }
  await queue.remove(id);
}

/** Makes a text storable in a job: characters that cannot be stored are replaced, and a long text is cut. */
export function toStorableText(text: string): string {
  const storable = text.replaceAll('\0', '\uFFFD').toWellFormed();
  return storable.length > TEXT_MAX ? `${storable.slice(0, TEXT_MAX - 1).toWellFormed()}…` : storable;
}
