import type { ApiClient } from '../../api/api-client.ts';
import { passportRulesOf } from '../../config/loaded-config.ts';
import type { Delivery } from '../../delivery/create-delivery.ts';
import type { Mapper } from '../../domain/mapping.ts';
import type { PassportRules } from '../../domain/passport.ts';
import type { CareLedger } from '../../domain/ports/ledger/care-ledger.ts';
import type { IntakeLedger } from '../../domain/ports/ledger/intake-ledger.ts';
import { messageOf } from '../../lib/errors.ts';
import type { Logger } from '../../lib/logging/logging.ts';
import type { MapQueue } from '../../pipeline/map-queue.ts';
import { hasBounds, usePolicy } from '../plan/held-runs.ts';
import { isSameMapping, type Mappers } from '../sources/mappers.ts';
import type { RuntimeConfig } from '../sources/open-source.ts';
import type { Pulls } from '../sources/pulls.ts';

/** Replaces the settings of a process by those of another config. */
export function createReplaceSettings(parts: {
  /** The object that is changed. All parts of the process read it at each use. */
  config: RuntimeConfig;
  rules: PassportRules;
  mappers: Mappers;
  ledger: Pick<IntakeLedger, 'defineLookups' | 'remapRecords'> & Pick<CareLedger, 'noteDaemon'>;
  delivery: Delivery;
  client: ApiClient;
  pulls: Pick<Pulls, 'betweenRuns' | 'pulling'>;
  mapQueue: Pick<MapQueue, 'mapStored'>;
  log: Logger;
}) {
  const { config, rules, mappers, ledger, delivery, client, pulls, mapQueue, log } = parts;
  const abort = new AbortController();

  async function useMapper(id: string, mapper: Mapper | null): Promise<void> {
    const before = mappers.of(id);
    mappers.replace(id, mapper);
    // With bounds, what has changed before the start of the daemon counts for the next run.
    if (hasBounds(config) && mapper !== null && before !== null && isSameMapping(before, mapper)) return;
    try {
      await ledger.defineLookups(new Map([[id, mapper?.lookups ?? []]]), { isAll: false });
      const source = config.sources.find((one) => one.id === id);
      if (mapper === null || source === undefined) return;
      const streams = source.streams.map(({ name }) => name);
      await ledger.remapRecords({ source: id, streams, mappingRevision: mapper.revision });
      await mapQueue.mapStored(id);
    } catch (error) {
      log.warn(
        { source: id, error: messageOf(error) },
        `The daemon uses the new mapping of ${id} from its next run on, because the ledger could not be written: ${messageOf(error)}`,
      );
    }
  }

  async function replaceRules(): Promise<void> {
    try {
      await usePolicy({ config, rules, ledger });
    } catch (error) {
      const reason = messageOf(error);
      log.warn({ error: reason }, `The ledger could not note the new policy for passports, which is used: ${reason}`);
    }
    Object.assign(rules, passportRulesOf(config));
  }

  return {
    /**
     * Replaces all settings at once, except that the mapping of a source is replaced between two runs of the source. A
     * failed write to the ledger is logged, and the next run of the source repeats it.
     *
     * @returns whether a key of the API has changed, and the sources whose run has to end first
     */
    async replace(
      next: RuntimeConfig,
      compiled: ReadonlyMap<string, Mapper>,
    ): Promise<{ isNewKey: boolean; after: string[] }> {
      const ids = new Set([...config.sources, ...next.sources].map(({ id }) => id));
      const after = pulls.pulling();
      const { target } = config;
      Object.assign(target, next.target);
      Object.assign(config, next, { target });
      await replaceRules();
      delivery.setMaxRate(target.maxRate);
      const between = [...ids].map((id) => ({
        id,
        done: pulls.betweenRuns(id, () => useMapper(id, compiled.get(id) ?? null), abort.signal),
      }));
      await Promise.all(between.filter(({ id }) => !after.includes(id)).map(({ done }) => done));
      delivery.passports.markDirty();
      delivery.engine.wake();
      return { isNewKey: await client.renewKeys(), after };
    },
    /** Stops waiting for runs to end. */
    stop: (): void => abort.abort(),
  };
}

export type ReplaceSettings = ReturnType<typeof createReplaceSettings>;
