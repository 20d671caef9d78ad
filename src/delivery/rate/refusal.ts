import type { Observation } from '../observation.ts';

/** A refusal that stops all requests for a while. */
export interface Refusal {
  /** The wait that the API asks for; null if it asks for none. */
  retryAfterMs: number | null;
  /** True if the API was away, or if this machine could not send. The refusal then shows nothing about the limit. */
  away: boolean;
}

/** A server that asks for an hour may mean a single delivery. After this time another delivery is sent to find out. */
const AWAY_PAUSE_MAX_MS = 60_000;
/**
 * If this machine has reached one of its local limits, it sends one request after this time to find out whether it can
 * send again.
 */
const LOCAL_PAUSE_MS = 1000;

/** The refusal in an observation; null if no request has to wait. */
export function refusalOf(observation: Observation): Refusal | null {
  switch (observation.kind) {
    case 'throttled':
      return { retryAfterMs: observation.retryAfterMs, away: observation.away === true };
    case 'failed': {
      // While a server is away, no request is sent to it for the time that it names.
      const { retryAfterMs } = observation;
      return retryAfterMs === null ? null : { retryAfterMs: Math.min(retryAfterMs, AWAY_PAUSE_MAX_MS), away: true };
    }
    case 'local':
      return { retryAfterMs: LOCAL_PAUSE_MS, away: true };
    case 'answered':
    case 'unused':
      return null;
  }
}
