import type { Queue } from 'bullmq';
import { isJsonObject, type JsonObject } from '../lib/json.ts';

/**
 * Which data a job carries. A version of this program that changes what its jobs mean takes the next number: the jobs of
 * another version are dropped and enqueued again from the ledger, and never read as something else.
 */
const FORMAT = 2;
const TEXT_MAX = 4_000;

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
 * Drops the jobs of another version that wait or have failed; there are never many, because the queues are kept short. One that
 * its worker took and lost is dropped when it is taken again.
 */
export async function dropForeignJobs(queue: Queue): Promise<void> {
  const jobs = await queue.getJobs(['waiting', 'failed']);
  const foreign = jobs.filter((job) => ownData(job.data) === null);
  await Promise.all(foreign.map((job) => queue.remove(job.id ?? '')));
}

/** Text for people as a job carries it: what cannot be shown is replaced, what is too long is cut. */
export function toStorableText(text: string): string {
  const storable = text.replaceAll('\0', '\uFFFD').toWellFormed();
  return storable.length > TEXT_MAX ? `${storable.slice(0, TEXT_MAX - 1).toWellFormed()}…` : storable;
}
