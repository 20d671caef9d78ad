import type { IntakeLedger } from '../domain/ports/ledger/intake-ledger.ts';
import { type ReplayReport, type ReplayRequest, replay } from '../pipeline/replay.ts';
import type { Mappers } from './sources/mappers.ts';
import type { RuntimeConfig } from './sources/open-source.ts';

/**
 * Makes a replay with the present files of the mappings. A dry run does not use changed mappings or lookup files for
 * other work.
 */
export function createReplayNow(options: {
  config: Pick<RuntimeConfig, 'sources'>;
  mappers: Mappers;
  ledger: Parameters<typeof replay>[1]['ledger'] & Pick<IntakeLedger, 'defineLookups'>;
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
