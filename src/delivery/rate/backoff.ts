// Waits after a refusal that names no time. The first wait is as long as a few requests take. If recent stops lasted
// longer, the first wait is nearly as long as these stops, up to a second. Then the waits grow in steps. Most windows last
// one second, and end after a few refused reopen probes. During the first long window, probes are sent more often, because
// all clients that share the window begin again when the window ends. During a stop of minutes, probes are sent less and
// less often: each wait is a share of the length of the stop. A server that also counts refused requests would never open
// again if the probes kept the same pace.

const BACKOFF = {
  /** The first wait while no rate is known. */
  unknownMs: 100,
  /** The first wait is as long as this number of requests takes, within these bounds. */
  requests: 3,
  requestsMs: { min: 20, max: 600 },
  /** The first wait is also at least this share of a usual stop, up to this length. */
  ofStop: 0.8,
  stopMsMax: 1000,
  factor: 2,
  /** This many probes are repeated quickly. */
  quick: { probes: 2, msMax: 250 },
  afterQuickMsMin: 700,
  msMax: { first: 3000, known: 8000 },
  lasting: { share: 0.05, msMax: 60_000 },
};

/**
 * The first wait of a stop, in milliseconds.
 *
 * @param rate requests per second before the stop; infinite if they were not paced
 * @param usualStopMs the value of `StopHistory.usualMs`
 */
export function firstBackoffMs(rate: number, usualStopMs: number): number {
  const { min, max } = BACKOFF.requestsMs;
  const byRateMs = Number.isFinite(rate)
    ? Math.min(max, Math.max(min, (1000 * BACKOFF.requests) / rate))
    : BACKOFF.unknownMs;
  return Math.max(byRateMs, Math.min(BACKOFF.stopMsMax, BACKOFF.ofStop * usualStopMs));
}

/** The next wait of a stop, in milliseconds, after another reopen probe was refused. */
export function nextBackoffMs(
  stop: { startedAt: number; backoffMs: number; refusedProbes: number },
  hasLongWindow: boolean,
  now: number,
): number {
  const { quick, afterQuickMsMin, msMax, lasting, factor } = BACKOFF;
  const longer = stop.backoffMs * factor;
  if (stop.refusedProbes <= quick.probes) return Math.max(stop.backoffMs, Math.min(quick.msMax, longer));
  const lastsMs = Math.min(lasting.msMax, lasting.share * (now - stop.startedAt));
  const most = Math.max(hasLongWindow ? msMax.known : msMax.first, lastsMs);
  return Math.max(stop.backoffMs, Math.min(most, Math.max(afterQuickMsMin, longer)));
}
