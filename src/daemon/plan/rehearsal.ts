import type { LookupTable } from '../../domain/lookup.ts';
import type { ProgressEvent } from '../../domain/ports/progress.ts';
import type { Pacing } from '../../domain/ports/target.ts';
import { copyLedger } from '../../ledger/backup/private-copy.ts';
import { createNoLogSync } from '../../ledger/file/log-sync.ts';
import type { Clock } from '../../lib/clock.ts';
import { closeInOrder } from '../../lib/errors.ts';
import type { Logger } from '../../lib/logging/logging.ts';
import type { SecretStore } from '../../lib/logging/secrets.ts';
import { createMapping } from '../../pipeline/map-queue.ts';
import type { PullResult } from '../../pipeline/pull.ts';
import { createQueues } from '../../queue/create-queues.ts';
import { openClient } from '../open-client.ts';
import { type OpenedLedger, openLedger } from '../open-ledger.ts';
import { queuePrefix } from '../open-reads.ts';
import { createMappers, type Mappers } from '../sources/mappers.ts';
import type { RuntimeConfig } from '../sources/open-source.ts';
import { createPulls } from '../sources/pulls.ts';
import type { Recording } from './recording.ts';

export interface RehearsalTools {
  secrets: SecretStore;
  clock: Clock;
  log: Logger;
  version: string;
  /** Called with the rows of a stream that were read so far. */
  onRead: (stream: string, rows: number, place: { done: number; total: number } | null) => void;
  /** True if the policy for passports is not in use yet, so that what it does is an effect of the run. */
  newPolicy?: boolean;
  /** The mappings to use. Without them, they are read again from their files. */
  mappers?: Mappers;
}

/** The parts of a sync on a private copy of the ledger. Nothing of it can reach the platform. */
export interface Rehearsal extends Pick<OpenedLedger, 'ledger' | 'reads'> {
  /** The clock, which goes ahead when only the time has to pass. */
  clock: RehearsalClock;
  /** Pulls one source. Its rows are mapped and stored in the copy, and nothing is acknowledged to the source. */
  pull(source: string, abort: AbortSignal): Promise<PullResult>;
  /** Maps the stored rows of these sources again where their mapping has changed. */
  mapAgain(sources: readonly string[], abort: AbortSignal): Promise<void>;
  /** Resolves when no stored row waits for its mapping. */
  mapped(abort: AbortSignal): Promise<void>;
  /** The mappings that the rehearsal uses, by source, and the entries of their lookup files, by table. */
  mappings(): { source: string; revision: string; lookups: readonly LookupTable[] }[];
  close(): Promise<void>;
}

export interface RehearsalClock extends Clock {
  advanceTo(at: number): void;
}

function createRehearsalClock(clock: Clock): RehearsalClock {
  let ahead = 0;
  return {
    ...clock,
    now: () => clock.now() + ahead,
    // Both go ahead, because the ledger takes a difference between them for a clock that was set, and moves all waits with it.
    ticks: () => clock.ticks() + ahead,
    advanceTo(at) {
      ahead += Math.max(0, at - clock.now() - ahead);
    },
  };
}

/** How often it is checked whether rows still wait for their mapping. */
const LOOK_MS = 20;
/** Nobody makes room for the copy of a ledger later, so a pull does not wait for it. */
const NO_WAIT_MS = 0;
const CAUSE = { trigger: 'cli', askedBy: 'plan' } as const;

/** A rehearsal only encodes requests. */
const NO_TURN: Pacing = {
  turn: () => Promise.resolve({ granted: false, waitMs: null, message: 'A plan asks the platform nothing.' }),
};

async function freshMappers({ sources, file, profile }: RuntimeConfig): Promise<Mappers> {
  const mappers = createMappers({ sources: () => sources, file, profile });
  await mappers.refreshAll();
  return mappers;
}

/**
 * Copies the ledger, and opens the copy with the parts that pull and map.
 *
 * @throws Fault when the mappings are wrong, or when the ledger cannot be read or copied
 */
export async function openRehearsal(
  config: RuntimeConfig,
  { secrets, log, version, clock: wallClock, onRead, mappers: given }: RehearsalTools,
  recording: Recording,
): Promise<Rehearsal> {
  const clock = createRehearsalClock(wallClock);
  // The copy is made while the mappings are read.
  const copying = copyLedger(config.ledger, config.target.baseUrl);
  const copied = copying.catch(() => null);
  const closing = [async () => (await copied)?.remove()];
  try {
    const mappers = given ?? (await freshMappers(config));
    const { target } = openClient(config, { secrets, clock, log, version, pacing: NO_TURN });
    closing.unshift(() => target.close());
    const copy = await copying;
    const opened = await openLedger({
      config: { ...config, ledger: copy.file },
      target,
      mappers,
      clock,
      command: 'plan',
      readsApart: false,
      keepsPolicy: false,
      report: (fields, message) => log.debug(fields, message),
      openLog: createNoLogSync,
    });
    closing.unshift(() => opened.close());
    const { ledger, reads } = opened;
    const queues = await createQueues({
      url: 'embedded',
      prefix: queuePrefix(ledger.id),
      log,
      clock,
      timing: undefined,
    });
    closing.unshift(() => queues.close());
    const emit = (event: ProgressEvent): void => {
      if (event.type !== 'page') return;
      const { source, stream, read, done, total } = event;
      onRead(`${source}/${stream}`, read, done === null || total === null ? null : { done, total });
    };
    const mapping = createMapping({ queues, ledger, mapperOf: mappers.of, emit, clock });
    const { mapQueue } = mapping;
    await mapQueue.start();
    closing.unshift(() => mapQueue.stop());
    const pulls = createPulls({
      config,
      // What the copy forgets is of no use to anybody.
      ledger: { ...ledger, prune: () => Promise.resolve() },
      emit,
      clock,
      log,
      mapQueue,
      beforeRun: () => Promise.resolve(),
      mapperOf: (source) => mappers.refresh(source),
      onEnd: () => undefined,
      gate: {
        isBounded: () => false,
        open: ({ source, open }) => recording.record(source, open),
        completed: () => Promise.resolve(),
      },
    });

    async function mapped(abort: AbortSignal): Promise<void> {
      while (mapping.busy() && !abort.aborted) {
        await mapping.look();
        const trouble = mapQueue.trouble();
        if (trouble !== null) throw trouble;
        await clock.sleep(LOOK_MS, abort);
      }
    }

    return {
      ledger,
      reads,
      clock,
      pull: (source, abort) => pulls.pull(source, CAUSE, abort, NO_WAIT_MS),
      async mapAgain(sources, abort) {
        for (const source of sources) {
          const mapper = mappers.of(source);
          if (mapper === null) continue;
          await ledger.defineLookups(new Map([[source, mapper.lookups ?? []]]), { isAll: false });
          const streams = config.sources.find(({ id }) => id === source)?.streams.map(({ name }) => name) ?? [];
          await ledger.remapRecords({ source, mappingRevision: mapper.revision, streams });
          await mapQueue.mapStored(source);
        }
        await mapped(abort);
      },
      mapped,
      mappings: () =>
        config.sources.flatMap(({ id }) => {
          const mapper = mappers.of(id);
          return mapper === null ? [] : [{ source: id, revision: mapper.revision, lookups: mapper.lookups ?? [] }];
        }),
      close: () => closeInOrder(closing),
    };
  } catch (error) {
    await closeInOrder(closing);
    throw error;
  }
}
