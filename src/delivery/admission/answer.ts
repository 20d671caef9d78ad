import type { Outcome } from '../../domain/delivery/outcome.ts';
import type { Access } from '../../domain/delivery/scope.ts';
import type { DenialSubject } from './authorization.ts';

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
