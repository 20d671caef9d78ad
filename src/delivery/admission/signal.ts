import type { Outcome } from '../../domain/outcome.ts';
import type { RateSignal } from '../rate/rate-controller.ts';

/** What the end of a request tells of the API. */
export type Signal =
  /** It gave an answer that means something, a refusal included. `advisedRate` is the limit that it states, per second. */
  | { kind: 'answered'; by: 'read' | 'write'; advisedRate?: number }
  /** It is there and asks to be asked less. */
  | { kind: 'throttled'; retryAfterMs: number | null; advisedRate?: number }
  /**
   * Never sent, no answer, or a server error. `subject` is what may be at fault by itself: the delivery, by its id, or
   * the list that was read, by its name; null where the failure says nothing of what was sent. With `away` the API says by
   * itself that it is away, though it may say so to this delivery alone.
   */
  | { kind: 'failed'; subject: number | string | null; away?: true; retryAfterMs: number | null }
  /** This machine could not send it, for a limit of its own that was reached. */
  | { kind: 'local' }
  /** The request was admitted and then not sent. */
  | { kind: 'unused' };

/**
 * @param subject the id of the delivery that was sent, or the name of the list that was read; null for a mere question
 * @param advisedRate the limit that the answer states, in requests per second
 */
export function signalOf(outcome: Outcome, subject: number | string | null, advisedRate: number | null = null): Signal {
  const advice = advisedRate === null ? {} : { advisedRate };
  const answered: Signal = { kind: 'answered', by: typeof subject === 'number' ? 'write' : 'read', ...advice };
  switch (outcome.kind) {
    case 'throttled':
      return { kind: 'throttled', retryAfterMs: outcome.retryAfterMs, ...advice };
    case 'unavailable': {
      if (outcome.local) return { kind: 'local' };
      const { sent, retryAfterMs } = outcome;
      if (!sent || typeof subject !== 'number') return { kind: 'failed', subject: null, retryAfterMs };
      return { kind: 'failed', subject, away: true, retryAfterMs };
    }
    case 'ambiguous':
      // A create that was answered without an id, or a list that is not complete, comes from an API that is at work.
      return outcome.atWork ? answered : { kind: 'failed', subject, retryAfterMs: outcome.retryAfterMs ?? null };
    case 'accepted':
    case 'exists':
    case 'gated':
    case 'in_flight':
    case 'refused':
    case 'denied':
      return answered;
  }
}

/** A server that names an hour may mean one delivery: after a minute another one finds out. */
const AWAY_PAUSE_MAX_MS = 60_000;
/** A machine that has reached a limit of its own sends one request in this time, to find out whether it can again. */
const LOCAL_PAUSE_MS = 1000;

/** The part of a signal that is about the rate: a server that is away is left alone for the time that it names. */
export function rateSignalOf(signal: Signal): RateSignal {
  switch (signal.kind) {
    case 'answered':
      return signal.advisedRate === undefined ? { kind: 'ok' } : { kind: 'ok', advisedRate: signal.advisedRate };
    case 'throttled':
      return signal;
    case 'failed':
      return signal.retryAfterMs === null
        ? { kind: 'unused' }
        : { kind: 'throttled', retryAfterMs: Math.min(signal.retryAfterMs, AWAY_PAUSE_MAX_MS), away: true };
    case 'local':
      return { kind: 'throttled', retryAfterMs: LOCAL_PAUSE_MS, away: true };
    case 'unused':
      return signal;
  }
}
