import { fault } from '../../domain/faults.ts';
import type { Mapper } from '../../domain/mapping.ts';
import type { Correction, RunCause } from '../../domain/ports/intake.ts';
import type { CareLedger } from '../../domain/ports/ledger/care-ledger.ts';
import type { IntakeLedger } from '../../domain/ports/ledger/intake-ledger.ts';
import type { SourceReader } from '../../domain/ports/source.ts';
import type { Clock } from '../../lib/clock.ts';
import { type Fault, messageAndCureOf, messageOf } from '../../lib/errors.ts';
import { type Logger, withLogFields } from '../../lib/logging/logging.ts';
import { withAnySignal } from '../../lib/with-any-signal.ts';
import { noteUnreadRun, type PullOptions, type PullResult, pull } from '../../pipeline/pull.ts';
import { type CorrectionResult, storeCorrections } from '../../pipeline/store-page.ts';
import { untilWritable, type WritableWait } from '../../pipeline/until-writable.ts';
import { type ConfiguredSource, openSource, type RuntimeConfig } from './open-source.ts';

export interface PullsOptions extends Pick<PullOptions, 'emit' | 'mapQueue'> {
  ledger: PullOptions['ledger'] & Pick<CareLedger, 'prune'> & Pick<IntakeLedger, 'defineLookups' | 'recordsByKey'>;
  config: RuntimeConfig;
  /** Called before a run waits for the earlier ones of its source. */
  beforeRun: () => Promise<void>;
  /** The mapping for a run that begins now. */
  mapperOf: (source: string) => Promise<Mapper>;
  clock: Clock;
  log: Logger;
  /** Called when a run has ended. */
  onEnd: () => void;
  gate?: RunGate;
}

/** A run whose source has to be opened. */
export interface RunOpening {
  source: string;
  /** The mapping with which the run begins. */
  mapper: Mapper;
  open: () => Promise<SourceReader>;
  /** How long the run may wait for a ledger that cannot be written. */
  wait: WritableWait;
}

/** A run that is held. Nothing of it is stored. */
export interface HeldOpening {
  /** Keeps the plan of the run, which has this number. Gives why the run is held, in full sentences. */
  keep: (runId: number) => Promise<string>;
}

/** Decides what runs read. */
export interface RunGate {
  /** True if a run has to be tried first. Such runs come one after the other: two at once could exceed a bound together. */
  isBounded(): boolean;
  open(run: RunOpening, abort: AbortSignal): Promise<SourceReader | HeldOpening>;
  /** Called when a run of the source is complete. */
  completed(source: string): Promise<void>;
}

/** Each run reads its source. */
const OPEN_GATE: RunGate = { isBounded: () => false, open: ({ open }) => open(), completed: () => Promise.resolve() };

/** What is read in the place of a source, for a plan that is applied. */
export interface PlannedRun {
  /** @throws Fault `plan.stale` if this mapping is not the one of the plan */
  reader: (mapper: Mapper) => SourceReader;
  /** Lets other runs of the source begin. */
  release: () => void;
}

/** How often a run checks whether the earlier run of its source waits for the ledger. */
const REST_LOOK_MS = 200;

/** The runs of this process. */
export function createPulls({
  config,
  beforeRun,
  mapperOf,
  clock,
  log,
  onEnd,
  gate = OPEN_GATE,
  ...options
}: PullsOptions) {
  const pulling = new Map<string, AbortController>();
  /** The pulls that wait or are under way. */
  const asked = new Set<{ source: string }>();
  /** The runs that wait for the ledger or for the `map` queue, each with the reason. */
  const resting = new Map<string, { reason: Fault; since: number }>();
  const sourceLock = createKeyedLock();
  /** Has one key. */
  const boundedLock = createKeyedLock();

  function reportPause(source: string, reason: Fault | null): void {
    if (reason === null) resting.delete(source);
    else resting.set(source, { reason, since: clock.ticks() });
    if (reason === null) log.info({ source }, `The run of ${source} continues.`);
    else log.error({ source, error: reason.message }, `The run of ${source} is paused: ${reason.message}`);
  }

  /**
   * Waits for the earlier runs of a source, at most `waitMs` if such a run itself waits for the ledger or the queue.
   * Returns a function that releases the lock.
   */
  async function lockSource(id: string, abort: AbortSignal, waitMs: number): Promise<() => void> {
    const begin = clock.ticks();
    const atRest = new AbortController();
    const timer = setInterval(() => {
      const rest = resting.get(id);
      if (rest !== undefined && clock.ticks() - Math.max(begin, rest.since) >= waitMs) atRest.abort(rest.reason);
    }, REST_LOOK_MS);
    try {
      const release = await withAnySignal([abort, atRest.signal], (signal) => sourceLock.acquire(id, signal));
      if (release !== null) return release;
    } finally {
      clearInterval(timer);
    }
    if (!abort.aborted) atRest.signal.throwIfAborted();
    throw fault('interrupted', `The run of ${id} was stopped before it began.`);
  }

  /** Waits for the other bounded runs. Returns a function that releases the lock. */
  async function lockBounded(id: string, abort: AbortSignal): Promise<() => void> {
    const release = await boundedLock.acquire('', abort);
    if (release === null) throw fault('interrupted', `The run of ${id} was stopped before it began.`);
    return release;
  }

  function sourceOf(id: string): ConfiguredSource {
    const source = config.sources.find((one) => one.id === id);
    if (!source) throw fault('usage', `There is no source "${id}" in ${config.file}.`);
    return source;
  }

  /** Pulls a source whose lock is taken. */
  async function pullLocked(
    source: ConfiguredSource,
    cause: RunCause,
    abort: AbortSignal,
    waitMs: number,
    planned: PlannedRun | undefined,
  ): Promise<PullResult> {
    const { id, omit, guard, onMissing, snapshotEveryMs } = source;
    const wait = { clock, waitMs, onPause: (reason: Fault | null) => reportPause(id, reason) };
    const open = async (mapper: Mapper) =>
      planned?.reader(mapper) ??
      gate.open({ source: id, mapper, open: () => openSource(source, config, log), wait }, abort);
    const opening = { open, mapperOf, ledger: options.ledger, wait };
    const opened = await openToPull({ source: id, ...cause }, opening, abort);
    if (opened === null) {
      const end = async () => ({ result: 'interrupted' as const });
      const runId = await noteUnreadRun({ source: id, ...cause }, end, { ledger: options.ledger, wait }, abort);
      return { runId, result: 'interrupted', guarded: [], remapped: 0 };
    }
    const { mapper, records } = opened;
    if ('keep' in records) {
      // Pages show a run as held only if its plan is kept, so that a person can decide.
      const end = async (runId: number) => ({ result: 'held' as const, error: await records.keep(runId) });
      const runId = await noteUnreadRun({ source: id, ...cause }, end, { ledger: options.ledger, wait }, abort);
      return { runId, result: 'held', guarded: [], remapped: 0 };
    }
    try {
      const request = { source: id, ...cause, reader: records, mapper, omit, guard, snapshotEveryMs };
      const onWarning = (stream: string, message: string) =>
        log.warn({ source: id, stream }, `${id}/${stream}: ${message}`);
      const pulled = await pull({ ...request, onWarning, onMissing }, { ...options, clock, wait }, abort);
      if (pulled.result === 'complete') await gate.completed(id);
      return pulled;
    } finally {
      await records.close();
    }
  }

  /** Prunes the ledger after every run, in a daemon and in a CLI command (I9). The run's result does not depend on it. */
  async function prune(source: string): Promise<void> {
    try {
      await options.ledger.prune(config.history);
    } catch (error) {
      const reason = messageOf(error);
      log.warn({ source, error: reason }, `The ledger could not be pruned after the run of ${source}: ${reason}`);
    }
  }

  async function pullInTurn(
    id: string,
    cause: RunCause,
    abort: AbortSignal,
    waitMs: number,
    planned: PlannedRun | undefined,
  ): Promise<PullResult> {
    // The settings are those of the plan. A reload may wait for the source, which the plan holds.
    if (planned === undefined) await beforeRun();
    sourceOf(id);
    const release = planned?.release ?? (await lockSource(id, abort, waitMs));
    const stopped = new AbortController();
    pulling.set(id, stopped);
    try {
      // The mapper is read only now, because a reload may have replaced the settings while the run waited.
      return await withAnySignal([abort, stopped.signal], (either) =>
        withLogFields({ source: id }, async () => {
          const releaseBounded = planned === undefined && gate.isBounded() ? await lockBounded(id, either) : null;
          try {
            return await pullLocked(sourceOf(id), cause, either, waitMs, planned);
          } finally {
            releaseBounded?.();
          }
        }),
      );
    } finally {
      await prune(id);
      pulling.delete(id);
      resting.delete(id);
      onEnd();
      release();
    }
  }

  return {
    /**
     * Pulls one source after its earlier runs have ended, because two readers of one source would change the same cursor.
     *
     * @throws Fault `interrupted` if the pull is aborted before it has begun, or the reason why the run before it waits
     * @param waitMs how long this run and the one before it may wait for a ledger that cannot be written, or for a `map`
     *   queue that takes no jobs; they wait for ever if it is absent
     * @param planned what is read in the place of the source, which `holdRuns` holds for it
     */
    async pull(
      source: string,
      cause: RunCause,
      abort: AbortSignal,
      waitMs: number = Number.POSITIVE_INFINITY,
      planned?: PlannedRun,
    ): Promise<PullResult> {
      const one = { source };
      asked.add(one);
      try {
        return await pullInTurn(source, cause, abort, waitMs, planned);
      } finally {
        asked.delete(one);
      }
    },

    /**
     * Waits for the runs of these sources, and lets no other begin until the source is released.
     *
     * @returns the function that releases a source, by its id
     * @throws Fault `interrupted` if it is aborted before that, or the reason why a run waits longer than `waitMs`
     */
    async holdRuns(
      sources: readonly string[],
      { abort, waitMs }: { abort: AbortSignal; waitMs: number },
    ): Promise<ReadonlyMap<string, () => void>> {
      const held = new Map<string, () => void>();
      try {
        // In one order, so that two plans never wait for each other.
        for (const source of sources.toSorted()) held.set(source, await lockSource(source, abort, waitMs));
        return held;
      } catch (error) {
        for (const release of held.values()) release();
        throw error;
      }
    },

    /** Does the work while no run of the source is under way. Does nothing if it is aborted before that. */
    async betweenRuns(id: string, work: () => Promise<void>, abort: AbortSignal): Promise<void> {
      const release = await sourceLock.acquire(id, abort);
      if (release === null) return;
      try {
        await work();
      } finally {
        release();
      }
    },

    /**
     * Stores corrected rows of one stream, after the runs of its source have ended. Uses the present mappings of the
     * config.
     *
     * @throws Fault `interrupted` if it is aborted before it has begun
     */
    async correct(
      {
        source: id,
        stream: name,
        rows,
        askedBy,
      }: { source: string; stream: string; rows: readonly Correction[]; askedBy?: string },
      abort: AbortSignal,
    ): Promise<CorrectionResult> {
      const release = await lockSource(id, abort, Number.POSITIVE_INFINITY);
      try {
        const source = sourceOf(id);
        const stream = source.streams.find((one) => one.name === name);
        if (!stream) throw fault('usage', `There is no stream ${id}/${name} in ${config.file}.`);
        const { ledger, mapQueue, emit } = options;
        const onPause = (reason: Fault | null) => reportPause(id, reason);
        const wait = { clock, waitMs: Number.POSITIVE_INFINITY, onPause };
        const mapper = await mapperOf(id);
        const lookups = new Map([[id, mapper.lookups ?? []]]);
        await untilWritable(() => ledger.defineLookups(lookups, { isAll: false }), wait, abort);
        const request = { source: id, stream: name, key: stream.key, omit: source.omit, rows, askedBy, mapper };
        return await storeCorrections(request, { ledger, mapQueue, emit, wait }, abort);
      } finally {
        resting.delete(id);
        onEnd();
        release();
      }
    },

    /** The sources that are being pulled. */
    pulling: (): string[] => [...pulling.keys()],
    /** True while a pull of the source waits for the earlier ones or is under way. */
    hasPull: (id: string): boolean => [...asked].some(({ source }) => source === id),

    /** Interrupts the present run of a source between two pages. False if no run is under way. */
    stopRun(source: string): boolean {
      const stopped = pulling.get(source);
      stopped?.abort(fault('interrupted', `A person has stopped the run of ${source}.`));
      return stopped !== undefined;
    },
  };
}

export type Pulls = ReturnType<typeof createPulls>;

interface Opening extends Pick<PullOptions, 'wait'> {
  ledger: PullOptions['ledger'] & Pick<IntakeLedger, 'defineLookups'>;
  mapperOf: (source: string) => Promise<Mapper>;
  open: (mapper: Mapper) => Promise<SourceReader | HeldOpening>;
}

/**
 * Reads the mapping of a source, with its lookup files, and opens the source for a run. A run that is held changes no lookup table.
 *
 * @returns null if it is aborted before that
 * @throws the error because of which the source cannot be read, after the ledger has stored a failed run
 */
async function openToPull(
  { source, ...cause }: { source: string } & RunCause,
  { open, mapperOf, ledger, wait }: Opening,
  abort: AbortSignal,
): Promise<{ mapper: Mapper; records: SourceReader | HeldOpening } | null> {
  try {
    const mapper = await mapperOf(source);
    const records = await open(mapper);
    if ('keep' in records) return { mapper, records };
    try {
      const lookups = new Map([[source, mapper.lookups ?? []]]);
      await untilWritable(() => ledger.defineLookups(lookups, { isAll: false }), wait, abort);
      return { mapper, records };
    } catch (error) {
      await records.close();
      throw error;
    }
  } catch (error) {
    // A source that is stopped while it is opened or tried may throw, which is no failure.
    if (abort.aborted) return null;
    const failed = { result: 'failed', error: messageAndCureOf(error) } as const;
    await noteUnreadRun({ source, ...cause }, async () => failed, { ledger, wait }, abort);
    throw error;
  }
}

/** Locks keys. Each key has one holder at a time, and further callers wait in the order of their calls. */
function createKeyedLock() {
  /** For each key, a promise that resolves when all present holders and waiting callers have released the key. */
  const tails = new Map<string, Promise<void>>();
  return {
    /** Returns the function that releases the key, or null if the signal aborts first. */
    async acquire(key: string, abort: AbortSignal): Promise<(() => void) | null> {
      const before = tails.get(key);
      const { promise: released, resolve: release } = Promise.withResolvers<void>();
      const tail = Promise.all([before, released]).then(() => {
        if (tails.get(key) === tail) tails.delete(key);
      });
      tails.set(key, tail);
      if (before !== undefined) await unlessAborted(before, abort);
      if (!abort.aborted) return release;
      release();
      return null;
    },
  };
}

/** Resolves with the promise, or as soon as the signal aborts. */
async function unlessAborted(promise: Promise<void>, signal: AbortSignal): Promise<void> {
  if (signal.aborted) return;
  const { promise: aborted, resolve } = Promise.withResolvers<void>();
  const onAbort = () => resolve();
  signal.addEventListener('abort', onAbort);
  await Promise.race([promise, aborted]);
  signal.removeEventListener('abort', onAbort);
}
