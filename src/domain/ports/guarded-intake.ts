// What the guard decides about: reads that lack more than a source may lose at once, and records that reads of changes say are gone.

/** How many records may be missing before the guard treats a read as a broken export. Shares are from 0 to 1. */
export interface MissingGuard {
  maxMissing: number;
  maxMissingCount: number;
  maxDrop: number;
}

/** Records that a page of changes says are gone, before the page is stored. */
export interface GoneToCheck {
  runId: number;
  source: string;
  stream: string;
  identities: readonly string[];
  /** The result for the pages before it in this run; null for the first page with such records. */
  before: GoneSoFar | null;
  guard: MissingGuard;
}

/** The figures by which the guard decides about records that reads of changes say are gone. */
export interface GoneSoFar extends ComparedGone {
  /** How many records with items or lookup entries are gone, since the last complete run. */
  lost: number;
  /** How many the stream had before, or a part of them that is enough to decide. */
  known: number;
}

/** What a run has found out about the keys of tombstones. */
export interface ComparedGone {
  misnamed: MisnamedGone | null;
  /** How many keys of the stream were read for it. */
  compared: number;
}

/** Tombstones that name no record of the stream, while the stream has one whose key differs only in its spelling. */
export interface MisnamedGone {
  count: number;
  /** The key that one of them names, and the key that the stream has. */
  named: string;
  stored: string;
}

export interface CheckedGone extends GoneSoFar {
  /** How many are gone, of how many, and what the guard allows, if they are more; else null. */
  excess: string | null;
}

/** A stream for which the guard holds missing records or released items. */
export interface HeldStream {
  source: string;
  stream: string;
  message: string;
  /** True if the source no longer has the stream. */
  isLeft?: boolean;
  /** True if the export is older than the last one. */
  isOlder?: boolean;
}

/** A held read that a person has refused. */
export interface RefusedRead {
  source: string;
  stream: string;
  runId: number;
  at: number;
  by: string;
}

/** A read that the guard treats as a broken or outdated export, so that nothing was marked as missing. */
export interface GuardedRead {
  source: string;
  stream: string;
  /** The last run in which the guard blocked missing marks. */
  runId: number;
  /**
   * Since when the guard treats reads of this stream as broken, in milliseconds since the epoch. A complete export ends
   * this.
   */
  since: number;
  /** How many stored records the export does not have, and how many rows it has. */
  missing: number;
  read: number;
  /** How many items the records of the stream no longer make. Zero if the guard held the read for another reason. */
  released: number;
  /** How many new items of the stream are held too, because most of what it had is gone. */
  creates: number;
  message: string;
  /** The names of the first records that are missing, or of the first items that are released; at most 100. */
  gone: string[];
  /** True if the config no longer has the stream. */
  isLeft: boolean;
  /** True if the export is older than the last one, so that the guard holds it before its first row. */
  isOlder: boolean;
}
