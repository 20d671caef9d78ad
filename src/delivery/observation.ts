import type { Access } from '../domain/delivery/operation.ts';
import type { Outcome } from '../domain/delivery/outcome.ts';
import type { DenialSubject } from './admission/authorization.ts';

/** What the end of a request shows about the API. Admission learns from observations only. */
export type Observation =
  /**
   * The API gave a usable answer, which may be a refusal. `advisedRate` is the limit that the answer states, per
   * second.
   */
  | { kind: 'answered'; by: 'read' | 'write'; advisedRate?: number }
  /** The API is there and asks for fewer requests. With `away` the answer named a time, but no limit. */
  | { kind: 'throttled'; retryAfterMs: number | null; advisedRate?: number; away?: true }
  /**
   * The request was not sent, got no answer, or got a server error. `subject` may be at fault itself: the id of the
   * delivery, or the name of the list that was read. It is null if the failure shows nothing about the content of the
   * request. With `away` the API says that it is away, perhaps to this delivery only. With `is503` the answer was a 503,
   * which is also the answer of some limits.
   */
  | { kind: 'failed'; subject: number | string | null; away?: true; is503?: true; retryAfterMs: number | null }
  /** This machine has reached one of its local limits and could not send the request. */
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
  const is503 = 'detail' in outcome && outcome.detail.status === 503 ? { is503: true as const } : {};
  const answered: Observation = { kind: 'answered', by: typeof subject === 'number' ? 'write' : 'read', ...advice };
  switch (outcome.kind) {
    case 'throttled':
      return { kind: 'throttled', retryAfterMs: outcome.retryAfterMs, ...advice };
    case 'unavailable': {
      if (outcome.local) return { kind: 'local' };
      const { sent, retryAfterMs } = outcome;
      if (!sent || typeof subject !== 'number') return { kind: 'failed', subject: null, ...is503, retryAfterMs };
      return { kind: 'failed', subject, away: true, ...is503, retryAfterMs };
    }
    case 'ambiguous':
      // An API that answers a create without an id, or a list incompletely, is there and works.
      if (outcome.atWork) return answered;
      return { kind: 'failed', subject, ...is503, retryAfterMs: outcome.retryAfterMs ?? null };
    case 'accepted':
    case 'exists':
    case 'gated':
    case 'in_flight':
    case 'refused':
    case 'denied':
      return answered;
  }
}

/** The answer to a request, or the lack of one. */
export interface Answer {
  outcome: Outcome;
  /** What the request needs. */
  access: Access;
  /** The operation of the deliveries of an import, if it is another one: an accepted import shows that it is granted. */
  memberAccess?: Access | undefined;
  /**
   * What may itself have caused a failure: the id of the delivery that was sent, or the name of the list that was read.
   * Null for any other request.
   */
  subject: number | string | null;
  /** The limit that the answer states, in requests per second. */
  advisedRate?: number | null | undefined;
  /** What a 403 is about. Without a value it is about the operation. */
  denial?: DenialSubject;
}
