import type { Outcome } from '../../domain/outcome.ts';
import type { Scope } from '../../domain/scope.ts';
import type { DenialSubject } from './authorization.ts';

/** The answer to a request, or the lack of one. */
export interface Answer {
  outcome: Outcome;
  /** What the request took. */
  scope: Scope;
  /** As of `Observation`: the delivery that was sent, or the list that was read. */
  subject: number | string | null;
  /** The limit that the answer states, in requests per second. */
  advisedRate?: number | null | undefined;
  /** What a 403 shows; the whole scope where it is left out. */
  denial?: DenialSubject;
}
