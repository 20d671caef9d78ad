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
  /** Under another revision than the stored records were mapped with, all of them are mapped anew. */
  mappingRevision: string;
}

export interface StartedRun {
  runId: number;
  /** Where each stream resumes; null for the beginning. */
  cursors: Record<string, JsonValue>;
}

export interface PageToStage {
  runId: number;
  source: string;
  stream: string;
  records: readonly IncomingRecord[];
  /** What this run has seen so far; the page's records are added to it once they are stored. */
  seen: SeenRecords;
  /**
   * True where records have no key, so that a changed row is a new record, and the old one is known to be gone only when
   * the read is complete: mapping waits until then.
   */
  hold: boolean;
  /** Stored with the page (I1). Absent where the connector gives none. */
  cursor?: JsonValue;
  /**
   * Unchanged records of earlier pages that are not counted yet, to be counted with this one. Where it is given, a page that
   * changes nothing may be left to be counted later as well: that spares a write for each page of an unchanged export.
   */
  uncounted?: number;
}

export interface StagedPage {
  /** Records that go on to be mapped. */
  changed: number;
  /** False where nothing was written, not even the count. */
  counted: boolean;
}

/** The record ids that a run has seen in a stream: what tells repeated rows apart, and what is missing at the end. */
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
  /** Deliveries that came to be, by the state they begin in. */
  due: number;
  waiting: number;
  blocked: number;
}
