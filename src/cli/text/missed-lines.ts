import type { StreamAccount } from '../../domain/ports/ledger/ledger-views.ts';
import { type Paint, plural, printable } from './style.ts';

/** Warnings about streams whose changes have missed records that the complete read of the same run has found. */
export function missedLines(
  accounts: readonly Pick<StreamAccount, 'source' | 'stream' | 'missedByChanges'>[],
  paint: Paint,
): string[] {
  return accounts.flatMap(({ source, stream, missedByChanges }) => {
    if (missedByChanges === null || missedByChanges === 0) return [];
    const records = plural(missedByChanges, 'record that is', 'records that are');
    return [
      `${paint('yellow', 'warning:')} The changes of ${printable(source)}/${printable(stream)} had missed ${records} new or different in the complete read. The complete read has stored them.`,
      '  Check what the source counts as a change (its timestamp, its export of changes), or set a shorter snapshotEvery.',
    ];
  });
}
