import type { ReplayReport, ReplayRequest } from '../pipeline/replay.ts';

/**
 * Replays the record of a stuck delivery. The message describes the result for the person who has pressed the button.
 */
export async function replayDelivery(
  deliveryId: number,
  run: (request: ReplayRequest) => Promise<ReplayReport>,
): Promise<{ staged: number; message: string }> {
  const states = ['blocked', 'rejected', 'parked', 'in_doubt'] as const;
  const selection = { states, sources: [], keys: [], deliveryIds: [deliveryId] };
  const { staged, quarantined, leftUnconfirmed, passing, passports } = await run({
    selection,
    force: false,
    dryRun: false,
  });
  if (passports.asked > 0) return { staged, message: 'The passport is sent again.' };
  if (passports.incomplete > 0)
    return { staged, message: 'The product of the passport is not complete now; see `dpp-sync show`.' };
  if (staged > 0) return { staged, message: 'The stored record was mapped again and is sent again.' };
  if (leftUnconfirmed === 0 && (quarantined > 0 || passing === 0)) {
    return { staged, message: 'The stored record was mapped again and still fails; see `dpp-sync quarantine`.' };
  }
  if (leftUnconfirmed > 0) {
    return {
      staged,
      message: 'It is unknown whether the write arrived, so only `replay --force` sends the write again.',
    };
  }
  return { staged, message: 'The stored record was mapped again, and there is nothing to send.' };
}
