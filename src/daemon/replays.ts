import type { IntakeLedger } from '../domain/ports/ledger/intake-ledger.ts';
import { type ReplayReport, type ReplayRequest, replay } from '../pipeline/replay.ts';
import type { Mappers } from './sources/mappers.ts';
import type { RuntimeConfig } from './sources/open-source.ts';

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

/**
 * Makes a replay with the present files of the mappings. A dry run does not use changed mappings or lookup files for
 * other work.
 */
export function createReplayNow(options: {
  config: RuntimeConfig;
  mappers: Mappers;
  ledger: Parameters<typeof replay>[1]['ledger'] & IntakeLedger;
  /** Reloads changed settings. If undefined, only the files of the mappings are read again. */
  beforeMapping: (() => Promise<void>) | undefined;
  onReplayed: () => void;
}): (request: ReplayRequest) => Promise<ReplayReport> {
  const { config, mappers, ledger, beforeMapping, onReplayed } = options;
  return async (request) => {
    if (request.dryRun) {
      const fresh = await mappers.compile(config.sources);
      return await replay(request, { ledger, mapperOf: (source) => fresh.get(source) ?? null });
    }
    if (beforeMapping === undefined) {
      await mappers.refreshAll();
      await ledger.defineLookups(mappers.lookups(), { isAll: true });
    } else await beforeMapping();
    const report = await replay(request, { ledger, mapperOf: (source) => mappers.of(source) });
    onReplayed();
    return report;
  };
}
