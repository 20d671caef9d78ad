/** A read that the guard took for a broken export, so that nothing was marked as missing. */
export interface GuardedRead {
  source: string;
  stream: string;
  /** The last run in which the guard blocked missing marks. */
  runId: number;
  /**
   * When the guard first took a read of this stream for broken, in milliseconds since the epoch. A whole export ends
   * it.
   */
  since: number;
  /** How many stored records the export does not have, and how many rows it has. */
  missing: number;
  read: number;
  /** How many items the records of the stream no longer make. Zero if the guard held the read for missing records. */
  released: number;
  message: string;
}
