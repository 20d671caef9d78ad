import { nextBackoffMs } from './backoff.ts';
import type { StopFacts } from './stop-history.ts';
import { createStopWait, type StopWait } from './stop-wait.ts';

/** A stop of all requests that has not ended. */
export interface Stop extends StopFacts {
  /** How long requests had been sent before the stop, and how many of them were accepted. */
  openMs: number;
  accepted: number;
  /** The next wait if the API does not name one. */
  backoffMs: number;
  refusedProbes: number;
  wait: StopWait;
  probeInFlight: boolean;
}

export function startStop(
  { away, ...before }: Pick<Stop, 'openMs' | 'accepted' | 'backoffMs'> & { away: boolean },
  now: number,
): Stop {
  return {
    ...before,
    startedAt: now,
    refusedProbes: 0,
    limitRefusals: 0,
    askedMs: 0,
    wait: createStopWait(now),
    probeInFlight: false,
    disturbed: away,
  };
}

/** Call it when a reopen probe was refused. */
export function probeRefused(stop: Stop, hasLongWindow: boolean, now: number): void {
  stop.probeInFlight = false;
  stop.refusedProbes += 1;
  stop.backoffMs = nextBackoffMs(stop, hasLongWindow, now);
}

/** Call it when a reopen probe got no answer that shows something about the limit. */
export function probeLost(stop: Stop): void {
  stop.probeInFlight = false;
  stop.disturbed = true;
}

/** Records a refusal by the limit itself. @param askedMs the wait that the API asks for, or null */
export function limitRefused(stop: Stop, askedMs: number | null): void {
  stop.limitRefusals += 1;
  stop.askedMs = Math.max(stop.askedMs, askedMs ?? 0);
}
