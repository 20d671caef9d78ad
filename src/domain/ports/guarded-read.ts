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
