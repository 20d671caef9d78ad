import type { Observation } from '../observation.ts';

/** A refusal that stops all requests for a while. */
export interface Refusal {
  /** The wait that was asked for; null where none was. */
  retryAfterMs: number | null;
  /** True where the API was away, or this machine could not send: the refusal shows nothing about the limit. */
  away: boolean;
}

/** A server that names an hour may mean one delivery: after a minute another one finds out. */
const AWAY_PAUSE_MAX_MS = 60_000;
/** A machine that has reached a limit of its own sends one request in this time, to find out whether it can again. */
const LOCAL_PAUSE_MS = 1000;

/** The refusal in an observation; null where no request has to wait for it. */
export function refusalOf(observation: Observation): Refusal | null {
  switch (observation.kind) {
    case 'throttled':
      return { retryAfterMs: observation.retryAfterMs, away: observation.away === true };
    case 'failed': {
      // A server that is away is left alone for the time that it names.
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
