/** What is known about a stop of all requests when it has ended. */
export interface EndedStop {
  /** How long requests were sent before the stop, and how many of them were accepted. */
  openMs: number;
  accepted: number;
  /** From the first refusal until a reopen probe was accepted. */
  stopMs: number;
  /** True if a window of one second and other clients of the limit do not explain the length of the stop. */
  isLong: boolean;
  /** The highest recent rate of answers, per second. */
  peak: number;
  /** Accepted requests per second over the last `ms` milliseconds. */
  goodput: (ms: number) => number;
}
