import type { Mapper } from '../domain/mapping.ts';
import type { ReadPage, StagedPage } from '../domain/ports/intake.ts';
import type { JsonObject } from '../lib/json.ts';

/** A page that was read and is not mapped yet. */
export interface PageToMap extends ReadPage {
  /** The number of the page in its stream and run, from 1. */
  number: number;
  /** The positions of the rows that may be new or changed. */
  toMap: readonly number[];
  /** The mapping that the run began with. */
  mapper: Mapper;
  /** How many unchanged records of earlier pages are not counted yet. */
  uncounted: number;
}

/** A page that the pull has read and a worker will map. */
export interface HandedPage {
  page: PageToMap;
  /** When the page was read, in milliseconds since the epoch; 0 if the time was not measured. */
  at: number;
  /** True once a worker has begun to map it. */
  isTaken: boolean;
  /** Resolves or rejects when the mapping of the page ends. */
  stored: Promise<StagedPage>;
  resolve(staged: StagedPage): void;
  reject(reason: unknown): void;
}

/**
 * A pull continues to read while all handed pages together have fewer bytes than this. Each pull can exceed the limit
 * by one page.
 */
const HANDED_BYTES_MAX = 16 * 1024 * 1024;

/**
 * The pages that are being mapped. Their rows stay in the memory of this process, and their total size is bounded (I9).
 * A job of the `map` queue only names its page, so no row is ever in a queue (I7). A page that is lost with the process
 * is read again by the next run, because the cursor has not moved (I1).
 */
export function createPageHandover(bytesMax = HANDED_BYTES_MAX) {
  const pages = new Map<string, HandedPage>();
  let bytes = 0;
  /** The functions to call when a page is removed. */
  const waiting = new Set<() => void>();

  return {
    /** @param at when the page was read, in milliseconds since the epoch */
    put(page: PageToMap, at: number = 0): HandedPage {
      const { promise: stored, resolve, reject } = Promise.withResolvers<StagedPage>();
      // If the pull has stopped meanwhile, no code waits for this promise, so its rejection needs a handler.
      stored.catch(() => undefined);
      const handed: HandedPage = { page, at, isTaken: false, stored, resolve, reject };
      pages.set(nameOf(jobDataOf(page)), handed);
      bytes += bytesOf(page);
      return handed;
    },
    /** Returns the page that a job names, once. Null if the page is gone, or if another job has taken it. */
    take(job: JsonObject): HandedPage | null {
      const handed = pages.get(nameOf(job));
      if (handed === undefined || handed.isTaken) return null;
      handed.isTaken = true;
      return handed;
    },
    /** Removes a page that was stored or given up. */
    remove(handed: HandedPage) {
      const name = nameOf(jobDataOf(handed.page));
      if (pages.get(name) !== handed) return;
      pages.delete(name);
      bytes -= bytesOf(handed.page);
      for (const look of waiting) look();
    },
    count: () => pages.size,
    /** Resolves when there is room for another page, or after an abort. */
    async room(abort: AbortSignal) {
      while (bytes >= bytesMax && !abort.aborted) {
        const { promise, resolve } = Promise.withResolvers<void>();
        const look = () => resolve();
        waiting.add(look);
        abort.addEventListener('abort', look);
        await promise;
        abort.removeEventListener('abort', look);
        waiting.delete(look);
      }
    },
    /** Rejects the pages that no worker has taken. */
    giveUp(reason: Error) {
      for (const handed of pages.values()) if (!handed.isTaken) handed.reject(reason);
    },
  };
}

export type PageHandover = ReturnType<typeof createPageHandover>;

/** The data of a job: the names of source and stream, and two numbers. */
export function jobDataOf({ source, stream, runId, number }: PageToMap): JsonObject {
  return { source, stream, run: runId, page: number };
}

function nameOf({ source, stream, run, page }: JsonObject): string {
  return JSON.stringify([source, stream, run, page]);
}

function bytesOf({ records }: PageToMap): number {
  return records.reduce((sum, { raw, identity }) => sum + raw.length + identity.length, 0);
}
