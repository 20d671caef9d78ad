// What the ledger takes in: runs, the pages that they read, and records on their way through mapping.

import type { JsonObject, JsonValue } from '../../lib/json.ts';
import type { Issue } from '../issue.ts';
import type { MapResult } from '../mapping.ts';
import type { Place } from '../place.ts';
import type { IncomingRecord } from '../record.ts';
import type { GuardedRead } from './guarded-read.ts';

/** What started a run. */
export type RunTrigger = 'cli' | 'schedule' | 'retry';

/** A stream of a run, as its source reads it. */
export interface RunStream {
  name: string;
  /** True when a read gives everything there is, so that what was not seen is missing. */
  snapshot: boolean;
}

export interface RunStart {
  source: string;
  trigger: RunTrigger;
  streams: RunStream[];
  /** Under another revision than the stored records were mapped with, all of them are mapped again. */
  mappingRevision: string;
}

export interface StartedRun {
  runId: number;
  /** Where each stream resumes; null for the beginning. */
  cursors: Record<string, JsonValue>;
}

/** A page of a stream, as a run has read it. */
export interface ReadPage {
  runId: number;
  source: string;
  stream: string;
  records: readonly IncomingRecord[];
  /** The records that this run has seen so far. */
  seen: SeenRecords;
  /** Stored with the page (I1). Absent where the connector gives none. */
  cursor?: JsonValue;
}

export interface PageToLookUp extends ReadPage {
  /** Unchanged records of earlier pages that are not counted yet. */
  uncounted: number;
}

/**
 * What a look at a page showed. `skipped`: the page changes nothing, so it is not stored, and its records were added to `seen`;
 * whoever reads counts them with a later page. Otherwise the page has to be staged, and `toMap` lists the places in the page of
 * the rows that may be new or changed: no other row needs a result of the mapping.
 */
export type PageLookUp = { skipped: true } | { skipped: false; toMap: readonly number[] };

export interface PageToStage extends ReadPage {
  /** The page's records are added to it once they are stored. */
  seen: SeenRecords;
  /**
   * True where records have no key, so that a changed row is a new record, and the old one is known to be gone only when
   * the read is complete: mapping waits until then.
   */
  deferMapping: boolean;
  /** What its rows were mapped to. Where it is left out, what has changed is stored and waits to be mapped. */
  mapped?: MappedRows;
  /**
   * Unchanged records of earlier pages that are not counted yet, to be counted with this one. Where it is given and nothing is
   * mapped, a page that changes nothing may be left to be counted later as well: that spares a write for each page of an
   * unchanged export.
   */
  uncounted?: number;
}

/** What rows of a page were mapped to, outside any transaction. */
export interface MappedRows {
  /** The revision of the mapping. Results of another one than the stream has are not used. */
  mappingRevision: string;
  /**
   * By the row's place in the page. A row that has changed and has no result is stored and waits to be mapped; a result for a
   * row that has not changed is not used.
   */
  results: ReadonlyMap<number, MapResult>;
}

export interface StagedPage {
  /** Records that were new or changed, or are mapped again. */
  changed: number;
  /** False where nothing was written, not even the count. */
  counted: boolean;
  /** What staging the mapped rows did. Left out where the page came without results. */
  summary?: StageSummary;
}

/** The record ids that a run has seen in a stream: they show which rows are repeated, and which records are missing at the end. */
export interface SeenRecords {
  has(id: number): boolean;
  add(id: number): void;
  size(): number;
}

/** Limits within which records may vanish before a read is taken for a broken export. Fractions from 0 to 1. */
export interface MissingGuard {
  maxMissing: number;
  maxDrop: number;
}

export interface StreamEnd {
  runId: number;
  source: string;
  stream: string;
  /** Null where the stream does not give everything there is, so that nothing can be missing. */
  seen: SeenRecords | null;
  /** Whether the items of missing records are marked as missing too. */
  flagItems: boolean;
  guard: MissingGuard;
  /** Unchanged records that are not counted yet. */
  uncounted?: number;
}

/** What a person accepted. */
export interface Accepted {
  sources: readonly string[];
  reads: GuardedRead[];
}

export type RunResult = 'complete' | 'failed' | 'interrupted';

/** A record that waits to be mapped. */
export interface PendingRecord {
  id: number;
  /** Moves with every change of the record: staging under an old version changes nothing. */
  version: number;
  source: string;
  stream: string;
  fields: JsonObject;
  place: Place;
  /** What the connector found wrong; such a record is quarantined without being mapped. */
  issues: Issue[];
}

export interface MappedRecord {
  id: number;
  version: number;
  result: MapResult;
}

/** What staging did, for progress and metrics. */
export interface StageSummary {
  mapped: number;
  excluded: number;
  quarantined: number;
  /** Deliveries that were staged, by the state in which they begin. */
  due: number;
  waiting: number;
  blocked: number;
}
