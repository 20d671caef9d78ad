import type { Reason, ReasonCode } from './reason.ts';

/** Changes for which the API has no write, so that a person makes them by hand. They follow from the rows of the source. */
const BY_HAND: ReadonlySet<ReasonCode> = new Set(['unsupported', 'renamed']);

/** What is shown for a change by hand while the guard holds a read of its source. */
export const GUARDED_CHANGE = {
  reason: 'The guard holds a read of its source, and this change may come from that read.',
  step: 'Decide about that read first: `dpp-sync status` shows why the guard holds it, and what to do.',
} as const;

/** True for a change by hand that may come from a read that the guard holds. Nobody should make it before the guard's decision. */
export function isGuardedChange(
  { reason, source }: { reason: Pick<Reason, 'code'> | null; source: string | null },
  guarded: readonly { source: string }[],
): boolean {
  return reason !== null && BY_HAND.has(reason.code) && guarded.some((read) => read.source === source);
}
