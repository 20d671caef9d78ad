import type { Reason, ReasonCode } from './delivery/reason.ts';
import type { GuardedRead } from './ports/guarded-read.ts';
import { GUARD, type Step } from './words/holds.ts';

/** What a person can do about a read that the guard holds. The last step is the only one that accepts the read. */
export function guardSteps({
  source,
  isLeft,
  isOlder,
}: Pick<GuardedRead, 'source'> & { isLeft?: boolean; isOlder?: boolean }): Step[] {
  const { steps } = GUARD[isLeft === true ? 'left' : isOlder === true ? 'older' : 'broken'];
  return steps.map(({ text, command }) => ({ text, command: command.replace('SOURCE', () => source) }));
}

/** The steps as sentences. */
export function guardAdvice(read: Parameters<typeof guardSteps>[0]): string {
  return guardSteps(read)
    .map(({ text, command }) => `${text}: \`${command}\`.`)
    .join(' ');
}

/** Changes for which the API has no write, so that a person makes them by hand. They follow from the rows of the source. */
const BY_HAND: ReadonlySet<ReasonCode> = new Set(['unsupported', 'renamed']);

/**
 * True for a change by hand that may come from a read that the guard holds. Nobody should make it before the guard's decision.
 *
 * @param heldReads the reads of a source that the guard holds
 */
export function isGuardedChange(
  { reason, source }: { reason: Pick<Reason, 'code'> | null; source: string | null },
  heldReads: (source: string) => readonly { source: string }[],
): boolean {
  if (reason === null || source === null || !BY_HAND.has(reason.code)) return false;
  return heldReads(source).some((read) => read.source === source);
}
