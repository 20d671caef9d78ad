import type { IntakeLedger } from '../domain/ports/ledger/intake-ledger.ts';
import type { FormReplay, FormReplayOutcome, ReplayLedger } from '../domain/ports/ledger/replay-ledger.ts';
import { type ReplayReport, type ReplayRequest, replay, replayForm } from '../pipeline/replay.ts';
import type { Mappers } from './sources/mappers.ts';
import type { RuntimeConfig } from './sources/open-source.ts';

/** The replays of a process, with the present files of the mappings. */
export function createReplays(options: {
  config: RuntimeConfig;
  mappers: Mappers;
  ledger: ReplayLedger & IntakeLedger;
  /** Reloads changed settings. If undefined, only the files of the mappings are read again. */
  beforeMapping: (() => Promise<void>) | undefined;
  /** Called after a replay, because deliveries may be due. */
  onReplayed: () => void;
}) {
  const { config, mappers, ledger, beforeMapping, onReplayed } = options;

  async function refresh(): Promise<void> {
    if (beforeMapping !== undefined) return await beforeMapping();
    await mappers.refreshAll();
    await ledger.defineLookups(mappers.lookups(), { isAll: true });
  }

  async function replayNow(request: ReplayRequest): Promise<ReplayReport> {
    if (request.dryRun) {
      const fresh = await mappers.compile(config.sources);
      return await replay(request, { ledger, mapperOf: (source) => fresh.get(source) ?? null });
    }
    await refresh();
    const report = await replay(request, { ledger, mapperOf: mappers.of });
    onReplayed();
    return report;
  }

  return {
    /** Replays stored records. A dry run does not use changed mappings or lookup files for other work. */
    replay: replayNow,
    /** Sends the items again that the platform has in another form than the profile now has. */
    async replayForm(request: Omit<FormReplay, 'after'>): Promise<FormReplayOutcome> {
      const outcome = await replayForm(request, ledger);
      onReplayed();
      return outcome;
    },
    /**
     * Replays the record of a stuck delivery. The message describes the result for the person who has pressed the button.
     */
    async replayDelivery(deliveryId: number): Promise<{ staged: number; message: string }> {
      const states = ['blocked', 'rejected', 'parked', 'in_doubt'] as const;
      const selection = { states, sources: [], keys: [], deliveryIds: [deliveryId] };
      const report = await replayNow({ selection, force: false, dryRun: false });
      return { staged: report.staged, message: replayedText(report) };
    },
  };
}

export type Replays = ReturnType<typeof createReplays>;

function replayedText({ staged, quarantined, leftUnconfirmed, passing, passports }: ReplayReport): string {
  if (passports.asked > 0) return 'The passport is sent again.';
  if (passports.incomplete > 0) return 'The product of the passport is not complete now; see `dpp-sync show`.';
  if (staged > 0) return 'The stored record was mapped again and is sent again.';
  if (leftUnconfirmed > 0) {
    return 'It is unknown whether the write arrived, so only `replay --force` sends the write again.';
  }
  if (quarantined > 0 || passing === 0) {
    return 'The stored record was mapped again and still fails; see `dpp-sync quarantine`.';
  }
  return 'The stored record was mapped again, and there is nothing to send.';
}
