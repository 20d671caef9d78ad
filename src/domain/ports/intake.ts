// The input of the ledger: runs, the pages that they read, and records that wait for the mapping.

import type { JsonObject, JsonValue } from '../../lib/json.ts';
import type { Issue, Place } from '../issue.ts';
import type { MapResult } from '../mapping.ts';
import type { IncomingRecord, KeyOf, StreamIdentity } from '../record.ts';
import type { GuardedRead, MissingGuard } from './guarded-intake.ts';

/**
 * What started a run. A `file` is an export that appeared or changed. An `upload` stores rows that a person has
 * corrected. An upload does not read the source: nothing is concluded about rows that it does not have, and it does not
 * count as the source's last run.
 */
export type RunTrigger = 'cli' | 'schedule' | 'retry' | 'file' | 'upload';

/** When files were modified, by their names, in milliseconds since the epoch. */
export type FileTimes = Readonly<Record<string, number>>;

export interface RunStart {
  source: string;
  trigger: RunTrigger;
  /** The person who asked for the run. */
  askedBy?: string | undefined;
  /** The names of the streams that the source has. */
  streams: string[];
  /** The mapping revision of the run. Stored records that were mapped with another revision are mapped again. */
  mappingRevision: string;
}

/** What started a run, and who asked for the run. */
export type RunCause = Pick<RunStart, 'trigger' | 'askedBy'>;

/** Streams that have another mapping from now on. */
export type Remapping = Pick<RunStart, 'source' | 'streams' | 'mappingRevision'>;

/** The stored progress of earlier reads of a stream. */
export interface StreamProgress {
  /** Where the next read of changes begins; null for the beginning. */
  cursor: JsonValue | null;
  /** When the last complete snapshot of the stream began; null if there was none. */
  snapshotAt: number | null;
  /** The time of the newest file of the last snapshot, or of an older one that a person has accepted; null if it is not known. */
  asOf: number | null;
  /** For each file of the last snapshot, by its name, the newest time at which it was modified when it was read. */
  files: FileTimes;
  /** What the keys of the stored records were made from; null in a ledger that has not stored it yet. */
  identity: StreamIdentity | null;
  /** True if the guard holds a snapshot of the stream. Only another snapshot can end that. */
  isHeld: boolean;
}

/** A part of the records of a stream that get the keys of another identity. */
export interface RecordsToIdentify {
  source: string;
  stream: string;
  /** Where this part begins. It is `FIRST_RECORDS` for the first part, and then what the last part has returned. */
  from: RecordsPlace;
  identity: StreamIdentity;
  /** The new key of a record. A record for which it is null is identified by its content. */
  keyOf: KeyOf;
  /** The records that have their new keys. */
  done: Pick<SeenRecords, 'has'>;
}

/**
 * A place among the records of a stream. If several records have one key, a record with items gets it before the other present
 * records, and these before missing records.
 */
export interface RecordsPlace {
  round: 'with-items' | 'present' | 'missing';
  afterId: number;
}

export const FIRST_RECORDS: RecordsPlace = { round: 'with-items', afterId: 0 };

export interface IdentifiedRecords {
  ids: readonly number[];
  /** Where the next part begins; null after the last part. */
  next: RecordsPlace | null;
}

/** A part of the present records of a stream that make items. */
export interface ItemRecordsRequest {
  source: string;
  stream: string;
  /** Where this part begins: 0 for the first part, and then what the last part has returned. */
  afterId: number;
  /** True for only those records whose key is their content. */
  onlyByContent: boolean;
}

export interface ItemRecords {
  records: readonly { id: number; fields: JsonObject }[];
  /** Where the next part begins; null after the last part. */
  next: number | null;
}

export interface StartedRun {
  runId: number;
  /** How many stored rows are mapped again, because their stream had another mapping revision. */
  remapped: number;
  streams: Record<string, StreamProgress>;
}

/** One page of a stream that a run has read. */
export interface ReadPage {
  runId: number;
  source: string;
  stream: string;
  records: readonly IncomingRecord[];
  /** The records that this run has seen so far. */
  seen: SeenRecords;
  /** The records that the page says are gone. They are gone before the rows of the page are stored. */
  gone?: GoneRecords;
  /** Stored in the same transaction as the page (I1). Absent if the connector has no cursor. */
  cursor?: JsonValue;
}

/** Records that are gone, by the identities of their rows: all records with such an identity, whatever their occurrence. */
interface GoneRecords {
  identities: readonly string[];
  /** True to mark their items as missing too. */
  flagItems: boolean;
}

/** A page of a snapshot that may not be stored. */
export type PageToCompare = Pick<ReadPage, 'source' | 'stream' | 'records' | 'seen'>;

/** How many rows of a page have other values than their stored records, and how many have no present record. */
export interface PageDifference {
  changed: number;
  fresh: number;
}

export interface PageToLookUp extends ReadPage {
  /** How many unchanged records of earlier pages are not counted yet. */
  uncounted: number;
}

/**
 * The result of looking up a page. `skipped`: the page changes nothing and is not stored. Its records were added to
 * `seen`, and the caller counts them with a later page. Otherwise the page has to be staged. `toMap` has the positions
 * of the rows that may be new or changed; only these have to be mapped.
 */
export type PageLookUp = { skipped: true } | { skipped: false; toMap: readonly number[] };

export interface PageToStage extends ReadPage {
  /** The page's records are added to this set after the commit. */
  seen: SeenRecords;
  /**
   * True for a stream without keys. A changed row is a new record there, and only the end of the read shows that the
   * old record is gone. So the mapping waits until the end of the read.
   */
  deferMapping: boolean;
  /** The results of mapping the page. Without them, changed rows are stored and wait for the mapping. */
  mapped?: MappedRows;
  /**
   * How many unchanged records of earlier pages are counted with this one. If it is given and nothing was mapped, a
   * page without changes may be counted later too. This saves a write for each page of an unchanged export.
   */
  uncounted?: number;
}

/** The results of mapping rows of a page, outside any transaction. */
export interface MappedRows {
  /** The revision of the mapping. The results are not used if the stream has another revision. */
  mappingRevision: string;
  /**
   * The results by the row's position in the page. A changed row without a result is stored and waits for the mapping.
   * A result of an unchanged row is not used.
   */
  results: ReadonlyMap<number, MapResult>;
}

export interface StagedPage {
  /** How many records are new or changed, or are mapped again. */
  changed: number;
  /** False if the page caused no write. The caller then adds the records of the page to `uncounted`. */
  counted: boolean;
  /** The result of staging the mapped rows. Absent if nothing was mapped. */
  summary?: StageSummary;
}

/**
 * The ids of the records that a run has seen in a stream. They show which rows are repeated, and at the end which
 * records are missing.
 */
export interface SeenRecords {
  has(id: number): boolean;
  add(id: number): void;
  size(): number;
}

export interface StreamEnd {
  runId: number;
  source: string;
  stream: string;
  /** Null if the read did not give all records. Then no record can be missing. */
  seen: SeenRecords | null;
  /** How many rows the read has given. */
  read: number;
  /** Where the next read of changes begins; given with a snapshot of a stream that can also give changes. */
  cursor?: JsonValue;
  /**
   * How many new or changed records the snapshot found that reads of changes had not given; absent if the snapshot was
   * not compared.
   */
  missedByChanges?: number;
  /** True to mark the items of missing records as missing too. */
  flagItems: boolean;
  /** True if the passports of missing products are withdrawn without a person. */
  withdraws?: boolean;
  guard: MissingGuard;
  /** How many unchanged records are not counted yet. */
  uncounted?: number;
  /** The time of the newest file of a snapshot, and the times to store of its files. */
  times?: { asOf: number; files: FileTimes } | undefined;
  /** The export that the guard holds before its first row; absent if it does not. */
  held?: OlderExport;
  creates: CreatesAfter;
  /** What people should know about the read, in full sentences. */
  warnings?: readonly string[];
}

/**
 * What becomes of the creates of the stream that wait for the guard. `decide`: the read shows which records the stream has,
 * so the guard decides about the creates. `resume`: the read shows nothing, so they wait as before it. `keep`: the stream is
 * still being read, or was not read at all.
 */
export type CreatesAfter = 'decide' | 'resume' | 'keep';

/** An export that the guard holds before its first row, because it is older than the last one. */
export interface OlderExport {
  message: string;
  /** The time of its newest file. */
  asOf: number;
  /** How many stored records it does not have, and how many rows it has. */
  missing: number;
  read: number;
}

/** The result of ending the read of a stream. */
export interface EndedStream {
  missing: number;
  /** Why the guard takes the read for a broken export; null if it does not. */
  guarded: string | null;
  /** The first row of a complete read that has only refused rows. Nothing is concluded from such a read. */
  refused: { place: Place; issues: readonly Issue[] } | null;
}

/** The changes that a person has accepted. */
export interface Accepted {
  sources: readonly string[];
  reads: GuardedRead[];
}

/** `held`: the run would exceed the bounds of its source, and stored nothing. */
export const RUN_RESULTS = ['complete', 'failed', 'held', 'interrupted'] as const;
export type RunResult = (typeof RUN_RESULTS)[number];

/** The rules for records of streams that the source does not have any more. */
export interface LeftStreamRules {
  guard: MissingGuard;
  /** True to mark the items of missing records as missing too. */
  flagItems: boolean;
}

export interface RunEnd {
  runId: number;
  result: RunResult;
  error?: string;
  /** The stream whose read did not end, and what people should know about this read. */
  unended?: { source: string; stream: string; warnings: readonly string[] } | undefined;
  /** Given with a complete run, which has read all streams that the source has. */
  leftStreams?: LeftStreamRules;
}

/** A record that waits to be mapped. */
export interface PendingRecord {
  id: number;
  /** Raised by every change of the record. A result of an older version is not staged. */
  version: number;
  source: string;
  stream: string;
  fields: JsonObject;
  place: Place;
  /** The issues that the connector has found. A record with issues is quarantined without being mapped. */
  issues: Issue[];
}

/** A stored record, found by its key. */
export interface StoredRecord extends PendingRecord {
  key: string;
  /** True if the source no longer has the record. */
  missing: boolean;
}

/** A row that a person has corrected. */
export interface Correction {
  fields: JsonObject;
  place: Place;
  /** The version of the stored record that the person has corrected. */
  version: number;
}

export interface MappedRecord {
  id: number;
  version: number;
  result: MapResult;
}

/** The result of staging, for progress and metrics. */
export interface StageSummary {
  mapped: number;
  excluded: number;
  quarantined: number;
  /** How many deliveries were staged, by the state in which they begin. */
  due: number;
  waiting: number;
  blocked: number;
}
