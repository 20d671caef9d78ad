import type { ReplayReport, ReplayRequest } from '../pipeline/replay.ts';

/** Replays what became stuck with one delivery, and says in a sentence what came of it, for whoever pressed the button. */
export async function replayDelivery(
  deliveryId: number,
  run: (request: ReplayRequest) => Promise<ReplayReport>,
): Promise<{ staged: number; message: string }> {
  const states = ['blocked', 'rejected', 'parked', 'in_doubt'] as const;
  const selection = { states, sources: [], keys: [], deliveryIds: [deliveryId] };
  const { staged, quarantined, heldInDoubt, passing, passports } = await run({
    selection,
    force: false,
    dryRun: false,
  });
  if (passports.asked > 0) return { staged, message: 'The passport is asked for again.' };
  if (passports.incomplete > 0) return { staged, message: 'Its product is not complete now; see `dpp-sync show`.' };
  if (staged > 0) return { staged, message: 'The stored record was mapped anew and is sent again.' };
  if (heldInDoubt === 0 && (quarantined > 0 || passing === 0)) {
    return { staged, message: 'The stored record was mapped anew and still fails; see `dpp-sync quarantine`.' };
  }
  if (heldInDoubt > 0) {
    return { staged, message: 'Nobody knows whether it arrived, so it is not sent again without `replay --force`.' };
  }
  return { staged, message: 'The stored record was mapped anew, and there is nothing that could be sent.' };
}
