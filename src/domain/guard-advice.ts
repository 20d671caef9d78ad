import type { Reason, ReasonCode } from './delivery/reason.ts';
import type { GuardedRead } from './ports/guarded-read.ts';

/** A step that a person can take, as the beginning of a sentence, and its command. */
export interface GuardStep {
  text: string;
  command: string;
}

/** What a person can do about a read that the guard holds. The last step is the only one that accepts the read. */
export function guardSteps({
  source,
  isLeft,
  isOlder,
}: Pick<GuardedRead, 'source'> & { isLeft?: boolean; isOlder?: boolean }): GuardStep[] {
  const accept = `dpp-sync sync --accept ${source}`;
  if (isLeft === true) {
    return [
      {
        text: 'If the stream has another name now, or was removed by mistake, correct the config',
        command: 'dpp-sync check',
      },
      { text: 'If the stream has ended, accept that its records are missing', command: accept },
    ];
  }
  if (isOlder === true) {
    return [
      { text: 'Look at the export', command: `dpp-sync preview ${source}` },
      { text: 'If it was put back by mistake, bring a newer file', command: `dpp-sync sync ${source}` },
      { text: 'If it is right, accept it, and its rows count', command: accept },
    ];
  }
  return [
    { text: 'Look at the export', command: `dpp-sync preview ${source}` },
    { text: 'If it is not whole, write it again', command: `dpp-sync sync ${source}` },
    { text: 'If it is right, accept it, and what it lacks counts as missing', command: accept },
  ];
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
