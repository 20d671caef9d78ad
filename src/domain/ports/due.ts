// Deliveries that are due, and those that are suspended while the API refuses their scope.

import type { Operation } from '../delivery/operation.ts';
import type { Reason, ReasonCode } from '../delivery/reason.ts';
import type { SubjectKind } from '../item.ts';

/** A due delivery, with the values that a `deliver` job contains. */
export interface DueDelivery {
  id: number;
  kind: SubjectKind;
  key: string;
  revision: number;
  operation: Operation;
  source: string;
}

/** Deliveries that are suspended while the API refuses their scope. */
export interface SuspendedWork {
  /** Deliveries of these operations. */
  operations: readonly Operation[];
  /**
   * Unconfirmed deliveries that only a read-back can settle: those of these operations, and those of these kinds whose
   * reason has one of these codes.
   */
  unconfirmed: {
    operations: readonly Operation[];
    kinds: readonly SubjectKind[];
    reasons: readonly ReasonCode[];
    /**
     * True if deliveries that were answered are suspended too: their list fails, and may be readable later. Otherwise they are
     * decided about without the list.
     */
    answered?: true;
  };
}

/** Selects the deliveries of all items of these sources, or of the passports of these products. */
export type WorkOf = { sources: readonly string[] } | { passportsOf: readonly string[] };

/** Earlier refusals of the scope that a delivery needs. */
export interface Denials {
  /** When the API last refused the scope to the delivery; null if its last answer was another one. */
  at: number | null;
  /** True if the API refused the scope only for this delivery's item, and the delivery is now sent again. */
  isAskedAgain: boolean;
}

/** Deliveries that the API does not take, although it answers. */
export interface LeftAway {
  count: number;
  /** The delivery that has waited for the longest time. */
  first: DueDelivery & { reason: Reason; dueAt: number };
}
