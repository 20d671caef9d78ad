import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import Database from 'better-sqlite3';
import type { Mapper, MapResult } from '../../../src/domain/mapping.ts';
import type { MissingGuard } from '../../../src/domain/ports/guarded-intake.ts';
import type { ProgressEvent } from '../../../src/domain/ports/progress.ts';
import type { Queues } from '../../../src/domain/ports/queues.ts';
import type { Page, SourceReader, SourceRow, SourceStream, StreamReads } from '../../../src/domain/ports/source.ts';
import type { SqliteLedger } from '../../../src/ledger/sqlite-ledger.ts';
import { type Clock, systemClock } from '../../../src/lib/clock.ts';
import type { JsonObject } from '../../../src/lib/json.ts';
import { createMapQueue, createStoredRecordMapper, type MapQueue } from '../../../src/pipeline/map-queue.ts';
import { createPageHandover, createPageJobs, type PageHandover } from '../../../src/pipeline/page-jobs.ts';
import { type PullResult, pull } from '../../../src/pipeline/pull.ts';
import type { BullmqQueues } from '../../../src/queue/bullmq-queues.ts';
import { createQueues } from '../../../src/queue/create-queues.ts';
import { items, product, text } from '../ledger/items.ts';
import { NO_PASSPORTS, openLedger } from '../ledger/ledger.ts';
import { removeFolder } from '../machine/remove-folder.ts';
import { createRecordingLog } from './recording-log.ts';

/** A real ledger and real queues, with sources in memory that are pulled and mapped, and no platform. */
export interface PageWorld {
  file: string;
  ledger: SqliteLedger;
  queues: BullmqQueues;
  mapQueue: MapQueue;
  handover: PageHandover;
  events: ProgressEvent[];
  pull(request: PageRequest): Promise<PullResult>;
  /** Maps the stored records that wait to be mapped. */
  mapStored(source?: string): Promise<void>;
  /** Closes everything, as at the end of a process, and opens it again on the same file. */
  reopen(): Promise<void>;
  close(): Promise<void>;
  remove(): Promise<void>;
}

/** The arguments of a read of a stream. */
export type ReadFrom = Parameters<SourceStream['pull']>[0];

export interface PageRequest {
  source?: string;
  /** The pages of each stream. A list without names has the pages of the stream `default`. */
  pages: readonly (readonly SourceRow[])[] | ((from: ReadFrom) => AsyncIterable<Page>);
  stream?: string;
  key?: readonly string[];
  /** By default the stream reads snapshots. */
  reads?: StreamReads;
  /** Of the source, and of the stream itself. */
  snapshotEveryMs?: number;
  ownSnapshotEveryMs?: number | null;
  /** Called with the streams that the pull acknowledges. */
  acknowledge?: (streams: readonly string[]) => void;
  guard?: MissingGuard;
  mapper?: Mapper;
  waitMs?: number;
  abort?: AbortSignal;
}

export interface PageWorldOptions {
  /** A folder that stays when the world is removed. Without it, the world has its own folder, and removes it. */
  folder?: string;
  clock?: Clock;
  /** The sources of the config. */
  sources?: readonly string[];
  /** Wraps the queues that the pull and the map queue use. */
  around?: (queues: Queues) => Queues;
  /** Wraps the ledger that the pull and the map queue use. */
  aroundLedger?: (ledger: SqliteLedger) => SqliteLedger;
  url?: string;
  handedBytesMax?: number;
}

/** Makes a product from the `id` of each row. */
const productMapper: Mapper = mapperOf('r1', ({ id, name }) => items(product(text(id), text(name ?? 'A'))));

export function mapperOf(revision: string, map: (fields: JsonObject) => MapResult): Mapper {
  return { revision, streams: ['default'], map: ({ fields }) => map(fields) };
}

export function sourceRow(fields: JsonObject, line = 1): SourceRow {
  return { fields, place: { file: 'test.csv', line } };
}

/** Divides rows into pages of `size` rows. */
export function pagesOf(rows: readonly SourceRow[], size: number): SourceRow[][] {
  const pages: SourceRow[][] = [];
  for (let at = 0; at < rows.length; at += size) pages.push(rows.slice(at, at + size));
  return pages;
}

export async function createPageWorld(options: PageWorldOptions = {}): Promise<PageWorld> {
  const {
    clock = systemClock,
    around = (queues) => queues,
    aroundLedger = (ledger) => ledger,
    url = 'embedded',
  } = options;
  const folder = options.folder ?? mkdtempSync(join(tmpdir(), 'dpp-pages-'));
  const file = join(folder, 'ledger.db');
  const events: ProgressEvent[] = [];
  const emit = (event: ProgressEvent): void => void events.push(event);
  const mappers = new Map<string, Mapper>();

  async function open() {
    const { sources = NO_PASSPORTS.sources } = options;
    const ledger = openLedger(file, { clock, passportRules: { ...NO_PASSPORTS, sources: [...sources] } });
    const queues = await createQueues({ url, prefix: basename(folder), log: createRecordingLog() });
    const seenQueues = around(queues);
    const seenLedger = aroundLedger(ledger);
    const handover = createPageHandover(options.handedBytesMax);
    const storedRecords = createStoredRecordMapper({
      ledger: seenLedger,
      mapperOf: (source) => mappers.get(source) ?? null,
      emit,
    });
    const pages = createPageJobs({ queues: seenQueues, ledger: seenLedger, emit, handover });
    const mapQueue = createMapQueue({ queues: seenQueues, pages, storedRecords });
    await mapQueue.start();
    return { ledger, seenLedger, queues, storedRecords, mapQueue, handover };
  }

  let isClosed = false;
  let parts = await open();
  const world: PageWorld = {
    file,
    events,
    get ledger() {
      return parts.ledger;
    },
    get queues() {
      return parts.queues;
    },
    get mapQueue() {
      return parts.mapQueue;
    },
    get handover() {
      return parts.handover;
    },
    pull(request) {
      const { source = 'erp', stream = 'default', key = ['id'], reads = 'snapshot', mapper = productMapper } = request;
      const { pages, snapshotEveryMs = 1, ownSnapshotEveryMs = null, waitMs = 0 } = request;
      const { abort = new AbortController().signal } = request;
      const { guard = { maxMissing: 1, maxMissingCount: Number.POSITIVE_INFINITY, maxDrop: 1 } } = request;
      mappers.set(source, mapper);
      const pullPages = (from: ReadFrom) => (typeof pages === 'function' ? pages(from) : readPages(pages));
      const reader: SourceReader = {
        streams: [{ name: stream, key, reads, snapshotEveryMs: ownSnapshotEveryMs, pull: pullPages }],
        acknowledge: async (streams) => request.acknowledge?.(streams),
        close: async () => undefined,
      };
      const rules = { omit: [], guard, onMissing: 'flag' as const, snapshotEveryMs };
      const asked = { source, trigger: 'cli' as const, reader, mapper, ...rules };
      const wait = { clock, waitMs, onPause: () => undefined };
      const { mapQueue, ledger } = parts;
      const mapStored = async (changed: string): Promise<void> => {
        if (ledger.pendingSources().includes(changed)) await mapQueue.mapStored(changed);
      };
      return pull(asked, { ledger: parts.seenLedger, emit, mapQueue: { ...mapQueue, mapStored }, clock, wait }, abort);
    },
    mapStored: (source = 'erp') => parts.storedRecords.mapSource(source, new AbortController().signal),
    async close() {
      if (isClosed) return;
      isClosed = true;
      await parts.mapQueue.stop();
      await parts.queues.close();
      await parts.ledger.close();
    },
    async reopen() {
      await world.close();
      parts = await open();
      isClosed = false;
    },
    async remove() {
      await world.close();
      if (options.folder === undefined) await removeFolder(folder);
    },
  };
  return world;
}

async function* readPages(pages: readonly (readonly SourceRow[])[]): AsyncGenerator<Page> {
  for (const rows of pages) yield { rows: [...rows] };
}

/**
 * Every row of every table in a ledger, without values that differ between ledgers: the ledger's identity, and the
 * idempotency keys that contain it.
 */
export function contentsOf(file: string): Record<string, unknown[]> {
  const db = new Database(file, { readonly: true });
  try {
    const tables = db
      .prepare<[], string>("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_stat%'")
      .pluck()
      .all()
      .filter((table) => table !== 'meta');
    return Object.fromEntries(tables.map((table) => [table, rowsOf(db, table)]));
  } finally {
    db.close();
  }
}

function rowsOf(db: Database.Database, table: string): unknown[] {
  const rows = db.prepare<[], Record<string, unknown>>(`SELECT * FROM ${table}`).all();
  const isOfLedger = ([column]: [string, unknown]) => column !== 'idempotency_key';
  return rows.map((columns) => Object.fromEntries(Object.entries(columns).filter(isOfLedger)));
}
