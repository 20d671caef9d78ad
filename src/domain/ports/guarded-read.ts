/** A read that the guard took for a broken export, so that nothing of it was marked as missing. */
export interface GuardedRead {
  source: string;
  stream: string;
  /** The last run that the guard held. */
  runId: number;
  /** When the guard held the first run of this stream since its last whole export, in milliseconds since the epoch. */
  since: number;
  /** Records that are not in the export, and rows that are. */
  missing: number;
  read: number;
  message: string;
}
