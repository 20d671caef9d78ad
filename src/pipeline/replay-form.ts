import { setImmediate as nextTurn } from 'node:timers/promises';
import { ITEM_KINDS } from '../domain/item.ts';
import type { ReplayLedger } from '../domain/ports/ledger/replay-ledger.ts';
import type { FormReplay, FormReplayOutcome, KindCounts } from '../domain/ports/replay.ts';

/**
 * Sends the items again that the platform has in another form than the profile now has. Nothing is mapped: the ledger
 * has what the source wants. Answers of the API are settled between two pages.
 */
export async function replayForm(
  request: Omit<FormReplay, 'after'>,
  ledger: Pick<ReplayLedger, 'replayForm'>,
): Promise<FormReplayOutcome> {
  const outcome: FormReplayOutcome = { staged: {}, unsupported: {}, open: {} };
  let after: FormReplay['after'] | null = { form: 0, id: 0 };
  while (after !== null) {
    const page: Awaited<ReturnType<ReplayLedger['replayForm']>> = await ledger.replayForm({ ...request, after });
    addTo(outcome.staged, page.staged);
    addTo(outcome.unsupported, page.unsupported);
    addTo(outcome.open, page.open);
    after = page.next;
    await nextTurn();
  }
  return outcome;
}

function addTo(sums: KindCounts, counts: KindCounts): void {
  for (const kind of ITEM_KINDS) {
    const count = counts[kind] ?? 0;
    if (count > 0) sums[kind] = (sums[kind] ?? 0) + count;
  }
}
