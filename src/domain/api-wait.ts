/** A wait beyond a minute that the API has asked for. Times are milliseconds since the Unix epoch. */
export interface ApiWait {
  /** When it refused the first request. */
  since: number;
  /** The end that it has named; null where it names none and goes on to refuse. */
  until: number | null;
  /** When it is asked again. */
  askAgainAt: number;
  /** Its own words. */
  message: string;
}
