// What kinds of causes there are, and what only the process that sends knows of them.

import type { Operation, Scope } from './delivery/operation.ts';

/** The kinds of causes: what a cause stops, or what it is. */
export const CAUSE_TYPES = [
  'quarantine',
  'blocked',
  'rejected',
  'parked',
  'unconfirmed',
  'part',
  'run',
  'guard',
  'api',
] as const;
export type CauseType = (typeof CAUSE_TYPES)[number];

/**
 * Why the API takes no requests, or refuses some. The ledger does not know it, so the process that sends says it when it asks
 * for causes.
 */
export interface ApiTrouble {
  kind: 'unreachable' | 'throttled' | 'denied_key' | 'denied_plan' | 'denied_scope';
  /** The scope that is refused; null if the trouble is about no scope. */
  scope: Scope | null;
  /** The writes that are not sent; null if nothing is sent. */
  operations: readonly Operation[] | null;
  /** What the API has answered; null if it has not. */
  message: string | null;
  since: number | null;
}
