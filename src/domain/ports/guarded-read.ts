/** A read that the guard took for a broken export, so that no record was marked as missing. */
export interface GuardedRead {
  source: string;
  stream: string;
  /** The last run in which the guard blocked missing marks. */
  runId: number;
  /** When the guard first blocked them after the stream's last whole export, in milliseconds since the epoch. */
  since: number;
  /** Records that are not in the export, and rows that are. */
  missing: number;
  read: number;
  message: string;
}
