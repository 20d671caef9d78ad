import type { HeldRun } from '../../approval.ts';
import type { LookupEntry, LookupKey, LookupTable } from '../../lookup.ts';
import type { StreamIdentity } from '../../record.ts';
import type { CheckedGone, GoneToCheck, GuardedRead, HeldStream } from '../guarded-intake.ts';
import type {
  Accepted,
  EndedStream,
  IdentifiedRecords,
  ItemRecords,
  ItemRecordsRequest,
  MappedRecord,
  PageDifference,
  PageLookUp,
  PageToCompare,
  PageToLookUp,
  PageToStage,
  PendingRecord,
  RecordsToIdentify,
  Remapping,
  RunEnd,
  RunStart,
  StagedPage,
  StageSummary,
  StartedRun,
  StoredRecord,
  StreamEnd,
} from '../intake.ts';

/** Stores runs, pages of records, and the results of mapping them. Each method is one whole transaction. */
export interface IntakeLedger {
  /** Sources that have records waiting to be mapped. */
  pendingSources(): string[];
  startRun(start: RunStart): Promise<StartedRun>;
  /**
   * Stores the new mapping revisions of streams, and makes their records wait for the new mapping. Call it while no run
   * of the source is under way, because a run ends with the mapping that it began with. True if there was anything to
   * change.
   */
  remapRecords(request: Remapping): Promise<boolean>;
  /** Stores what identifies the rows of a stream, where the keys of its stored records need no change. */
  storeIdentity(request: { source: string; stream: string; identity: StreamIdentity }): Promise<void>;
  /**
   * Gives a part of a stream's records the keys of another identity. Call it for all parts in turn, before any page is
   * read. The last part stores the identity. Until then the stored identity is `unknown`, so that an interrupted change
   * is made again.
   */
  identifyRecords(request: RecordsToIdentify): Promise<IdentifiedRecords>;
  /**
   * The present records of a stream that make items, in parts. Without any record while rows of the stream wait to be mapped
   * for the first time, because it is not known yet which of them make items.
   */
  itemRecords(request: ItemRecordsRequest): Promise<ItemRecords>;
  /**
   * Compares the rows of a page with the stored records, and adds the present ones to `seen`. Writes nothing.
   */
  comparePage(page: PageToCompare): Promise<PageDifference>;
  /** How many records a stream has that are not missing. */
  countPresent(of: Pick<PageToCompare, 'source' | 'stream'>): Promise<number>;
  /** Looks up which rows of a page have to be mapped. Writes nothing. */
  lookUpPage(page: PageToLookUp): Promise<PageLookUp>;
  /**
   * Stores the new and changed records of a page, the results of their mapping, and the cursor, and counts the page.
   * The transaction decides again which records have changed: results for other records are not used.
   *
   * @throws Fault `interrupted` if the run has ended: a late job of an old run stores nothing
   */
  stagePage(page: PageToStage): Promise<StagedPage>;
  /**
   * Whether the guard allows that the records are gone that a page of changes says are gone. Writes nothing. Call it before
   * `stagePage`, once for each such page.
   */
  checkGone(request: GoneToCheck): Promise<CheckedGone>;
  /**
   * Marks records that a complete read did not see as missing, unless the guard treats the read as broken because it
   * has too few records or makes too few items.
   */
  endStream(end: StreamEnd): Promise<EndedStream>;
  /**
   * Ends a run. Returns the streams that the guard begins to hold, including streams of other sources that waited for
   * the end of this run.
   */
  endRun(end: RunEnd): Promise<HeldStream[]>;
  /** Stores what a person has decided about a held run: with all held runs, and in the text about this run, which stays. */
  decideHeldRun(decided: { held: Record<string, HeldRun>; runId: number; error: string }): Promise<void>;
  /**
   * Accepts the guarded reads of these sources for a person. After that, the next read counts as complete if it misses
   * no more records, has no fewer rows, and makes no fewer items.
   */
  accept(request: { sources: readonly string[] }): Promise<Accepted>;
  /**
   * Refuses the guarded reads of a source for a person: what its streams had stays, and nobody is asked again until a read
   * misses more. Streams that the config no longer has cannot be refused. Returns the refused reads.
   */
  refuse(request: { source: string; by: string }): Promise<GuardedRead[]>;
  /**
   * Stores the lookup tables of sources by the sources' ids, with the present rows of their files. Tables that a source
   * does not have any more are removed; with `isAll` also the tables of all sources that are not named. Records that
   * have used an entry of a file that has changed wait for the mapping. With `keepsRows`, tables that are stored already keep
   * the rows that they have.
   */
  defineLookups(
    tables: ReadonlyMap<string, readonly LookupTable[]>,
    options: { isAll: boolean; keepsRows?: boolean },
  ): Promise<void>;
  /** The entries of lookup tables for some keys. */
  findLookups(keys: readonly LookupKey[]): Promise<(LookupEntry & LookupKey)[]>;
  /** The records of a stream with these keys. A key that no record has is left out. */
  recordsByKey(request: { source: string; stream: string; keys: readonly string[] }): Promise<StoredRecord[]>;
  /** Records that wait to be mapped, oldest first, after `afterId`. */
  pendingRecords(request: { source: string; afterId: number; limit: number }): Promise<PendingRecord[]>;
  /**
   * Stores mapped records as desired payloads and stages their deliveries. A record that has changed since it was
   * mapped is skipped. If no record of their source waits any more, the guard decides about items that no record makes
   * any more, and `held` names the streams whose items it holds.
   */
  stage(records: readonly MappedRecord[]): Promise<StageSummary & { held?: readonly HeldStream[] }>;
}
