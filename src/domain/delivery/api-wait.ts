/** A wait beyond a minute that the API has asked for. Times are milliseconds since the Unix epoch. */
export interface ApiWait {
  /** When the API refused the first request. */
  since: number;
  /** The end that the API has named; null if it names none and still refuses. */
  until: number | null;
  /** When the API is asked again. */
  askAgainAt: number;
  /** The message of the API. */
  message: string;
}
