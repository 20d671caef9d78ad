import type { Outcome } from '../domain/outcome.ts';

/** What the end of a request shows about the API. Admission learns from observations, and from nothing else. */
export type Observation =
  /** The API gave an answer that means something, a refusal included. `advisedRate` is the limit that it states, per second. */
  | { kind: 'answered'; by: 'read' | 'write'; advisedRate?: number }
  /** The API is there and asks to be asked less. With `away` only a time was named, and nothing was said about a limit. */
  | { kind: 'throttled'; retryAfterMs: number | null; advisedRate?: number; away?: true }
  /**
   * Never sent, no answer, or a server error. `subject` is what may be at fault by itself: the delivery, by its id, or the list
   * that was read, by its name; null where the failure says nothing about what was sent. With `away` the API itself says that
   * it is away, although it may say so to this delivery alone.
   */
  | { kind: 'failed'; subject: number | string | null; away?: true; retryAfterMs: number | null }
  /** This machine could not send the request, because it has reached a limit of its own. */
  | { kind: 'local' }
  /** The request was admitted and then not sent. */
  | { kind: 'unused' };

/**
 * What an outcome shows about the API.
 *
 * @param subject the id of the delivery that was sent, or the name of the list that was read; null for a mere question
 * @param advisedRate the limit that the answer states, in requests per second
 */
export function observationOf(
  outcome: Outcome,
  subject: number | string | null,
  advisedRate: number | null = null,
): Observation {
  const advice = advisedRate === null ? {} : { advisedRate };
  const answered: Observation = { kind: 'answered', by: typeof subject === 'number' ? 'write' : 'read', ...advice };
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
