import type { DeliveryEvent } from '../../../domain/delivery/delivery.ts';
import type { Decision } from '../../../domain/ports/decision.ts';

interface DecisionChange {
  event: DeliveryEvent;
  dueAt: number;
  spent: -1 | 0 | 1;
  /** Left out if the decision does not change this column. */
  uncertain?: 0 | 1;
}

/** The columns that each decision changes, except the decisions that end a delivery. */
export const DECISION_CHANGES: {
  [K in Exclude<Decision['kind'], 'delivered' | 'ignored'>]: (
    decision: Extract<Decision, { kind: K }>,
  ) => DecisionChange;
} = {
  retry: ({ dueAt, spend, uncertain }) => ({
    event: 'retry',
    dueAt,
    spent: spend ? 1 : 0,
    ...(uncertain ? { uncertain: 1 } : {}),
  }),
  unconfirmed: ({ nextLookAt, spend }) => ({
    event: 'unconfirmed',
    dueAt: nextLookAt ?? 0,
    spent: spend ? 1 : 0,
    uncertain: 1,
  }),
  resend: ({ dueAt, absent, refund }) => ({
    event: 'resend',
    dueAt,
    spent: refund ? -1 : 0,
    ...(absent ? { uncertain: 0 } : {}),
  }),
  blocked: ({ recheckAt }) => ({ event: 'block', dueAt: recheckAt ?? 0, spent: 0, uncertain: 0 }),
  rejected: () => ({ event: 'reject', dueAt: 0, spent: 0, uncertain: 0 }),
  parked: () => ({ event: 'exhaust', dueAt: 0, spent: 0, uncertain: 0 }),
};
