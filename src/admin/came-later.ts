/**
 * True if something came into its state after a person has looked at it. A time after `now` is from before the clock was
 * set back, so it does not count as later.
 *
 * @param since when it came into its state; null if that was not stored
 * @param until when the person has looked; null if that does not matter
 */
export function cameLater(since: number | null, { until, now }: { until: number | null; now: number }): boolean {
  return until !== null && since !== null && since > until && since <= now;
}
