import type { Outcome } from '../domain/outcome.ts';
import type { RateSignal } from './rate-controller.ts';

/** What the end of a request tells of the API. */
export type Signal =
  /** It gave an answer that means something, a refusal included. `advisedRate` is the limit that it states, per second. */
  | { kind: 'answered'; by: 'read' | 'write'; advisedRate?: number }
  /** It is there and asks to be asked less. */
  | { kind: 'throttled'; retryAfterMs: number | null; advisedRate?: number }
  /**
   * Never sent, 503, no answer, or a server error. `subject` is what may be at fault by itself: the delivery, by its id, or
   * the list that was read, by its name; null where the failure says nothing of what was sent.
   */
  | { kind: 'failed'; subject: number | string | null; retryAfterMs: number | null }
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
    case 'unavailable':
      return { kind: 'failed', subject: null, retryAfterMs: outcome.retryAfterMs };
    case 'ambiguous': {
      const { status } = outcome.detail;
      // A success that cannot be read, a list that is not complete, or a 408 comes from a server that is at work.
      const isAtWork = outcome.doubt === 'unreadable_answer' || (status !== null && status < 500);
      return isAtWork ? answered : { kind: 'failed', subject, retryAfterMs: null };
    }
    case 'accepted':
    case 'exists':
    case 'gated':
    case 'in_flight':
    case 'refused':
    case 'denied':
      return answered;
  }
}

/** The part of a signal that is about the rate: a server that is away tells its capacity only where it names a time. */
export function rateSignalOf(signal: Signal): RateSignal {
  switch (signal.kind) {
    case 'answered':
      return signal.advisedRate === undefined ? { kind: 'ok' } : { kind: 'ok', advisedRate: signal.advisedRate };
    case 'throttled':
      return signal;
    case 'failed':
      return signal.retryAfterMs === null
        ? { kind: 'unused' }
        : { kind: 'throttled', retryAfterMs: signal.retryAfterMs };
    case 'unused':
      return signal;
  }
}
