import type { RunTrigger } from '../domain/ports/intake.ts';
import type { Emit } from '../domain/ports/progress.ts';
import type { Consumer, HeardDoorbell, Hearing, Queues } from '../domain/ports/queues.ts';
import type { Clock } from '../lib/clock.ts';
import { Fault, messageOf } from '../lib/errors.ts';
import type { Logger } from '../lib/logging.ts';
import type { PullResult } from '../pipeline/pull.ts';

export interface PullQueueOptions {
  queues: Queues;
  /** The ids of the configured sources. */
  sources: readonly string[];
  pull: (source: string, trigger: RunTrigger, abort: AbortSignal) => Promise<PullResult>;
  /** Called after each run, however it ended. What it throws is logged and harms nothing. */
  afterRun: () => Promise<void>;
  emit: Emit;
  clock: Clock;
  log: Logger;
  /** Takes secrets out of text that another library may have written (I7). */
  scrub: (text: string) => string;
}

/** Rings the `pull` queue and hears it: each doorbell is a run of one source. */
export interface PullQueue {
  start(): Promise<void>;
  /**
   * A run that a schedule wants is not given up when the queue is out of reach or loses it: it is rung for again, as long
   * as this process lives.
   *
   * @throws Fault `queue.unreachable` where somebody asks for a run and can ask again
   */
  ring(source: string, trigger: RunTrigger): Promise<void>;
  /** The sources that are being pulled. */
  running(): string[];
  /** Interrupts the runs between two pages and waits for their end. */
  stop(): Promise<void>;
}

/** A slow source must not hold up the others, and each run holds a page in memory. */
const CONCURRENCY = 4;
/** How soon a doorbell that was refused or lost is rung again. */
const WATCH_MS = 1000;

/**
 * A source that cannot be read ends as a failed job with the reason, which Retry in a dashboard runs again; there is at most
 * one such job per source. Runs of other sources are not affected.
 */
export function createPullQueue(options: PullQueueOptions): PullQueue {
  const { queues, sources, emit, clock, log, scrub } = options;
  const abort = new AbortController();
  const running = new Set<string>();
  /** Runs that were asked for and not begun. */
  const wanted = new Map<string, RunTrigger>();
  let watching: Promise<void> = Promise.resolve();
  let consumer: Consumer | null = null;

  async function hear(bell: HeardDoorbell): Promise<Hearing> {
    const { source } = bell.data;
    if (typeof source !== 'string' || !sources.includes(source)) {
      return { status: 'done', note: 'The config has no such source any more.' };
    }
    // A run reads everything that there is: a second one at the same time would find nothing else.
    wanted.delete(source);
    if (running.has(source)) return { status: 'done', note: 'This source is being pulled already.' };
    running.add(source);
    try {
      return await run(source, bell.retried ? 'retry' : triggerOf(bell));
    } finally {
      running.delete(source);
    }
  }

  async function run(source: string, trigger: RunTrigger): Promise<Hearing> {
    log.info({ source, trigger }, `The source ${source} is being pulled.`);
    const hearing = await pull(source, trigger);
    await tidy(source);
    return hearing;
  }

  async function pull(source: string, trigger: RunTrigger): Promise<Hearing> {
    try {
      const { runId, result, guarded } = await options.pull(source, trigger, abort.signal);
      emit({ type: 'run_ended', source, result });
      for (const { stream, message } of guarded)
        log.warn(
          { source, stream, runId },
          `The guard holds ${source}/${stream}: ${message} Have the whole export written, or stop the daemon and accept this one: dpp-sync sync --accept ${source}.`,
        );
      log.info({ source, runId, result }, `The run of ${source} is ${result}.`);
      if (result === 'complete') return { status: 'done', note: `Run ${runId} is complete.` };
      // The ledger knows the run as interrupted, and the next daemon makes up for it.
      return { status: 'done', note: `Run ${runId} was interrupted; it is made up for at the next start.` };
    } catch (error) {
      const reason = scrub(reasonOf(error));
      emit({ type: 'run_ended', source, result: 'failed' });
      const unexpected = error instanceof Fault ? {} : { err: error };
      log.error({ source, ...unexpected }, `The source ${source} could not be pulled: ${reason}`);
      return { status: 'failed', reason };
    }
  }

  /** The run that has just ended says how the source stands; failed jobs of earlier runs no longer do. */
  async function tidy(source: string): Promise<void> {
    try {
      const failed = await queues.failed('pull');
      const outdated = failed.filter(({ data }) => data['source'] === source).map(({ id }) => id);
      if (outdated.length > 0) await queues.forget('pull', outdated);
      await options.afterRun();
    } catch (error) {
      log.warn(
        { source, error: messageOf(error) },
        `Tidying up after the run of ${source} failed: ${messageOf(error)}`,
      );
    }
  }

  const ringFor = (source: string, trigger: RunTrigger): Promise<void> =>
    queues.ring('pull', [{ name: `pull ${source}`, data: { source, trigger } }]);

  async function ring(source: string, trigger: RunTrigger): Promise<void> {
    if (trigger === 'schedule' || !wanted.has(source)) wanted.set(source, trigger);
    try {
      await ringFor(source, trigger);
    } catch (error) {
      if (trigger !== 'schedule') {
        if (wanted.get(source) !== 'schedule') wanted.delete(source);
        throw error;
      }
      log.warn({ source, error: messageOf(error) }, `The run of ${source} waits for the queue: ${messageOf(error)}`);
    }
  }

  async function watch(): Promise<void> {
    while (!abort.signal.aborted) {
      await clock.sleep(WATCH_MS, abort.signal);
      try {
        if (wanted.size > 0 && !abort.signal.aborted) await ringForLost();
      } catch (error) {
        log.debug({ error: messageOf(error) }, 'Runs wait for the queue.');
      }
    }
  }

  async function ringForLost(): Promise<void> {
    const { waiting, active } = await queues.counts('pull');
    if (waiting > 0 || active > running.size) return;
    for (const [source, trigger] of wanted) await ringFor(source, trigger);
  }

  return {
    async start() {
      consumer = await queues.consume('pull', { concurrency: CONCURRENCY }, hear);
      watching = watch();
    },
    ring,
    running: () => [...running],
    async stop() {
      abort.abort();
      await watching;
      await consumer?.close();
    },
  };
}

function triggerOf({ data }: HeardDoorbell): RunTrigger {
  const { trigger } = data;
  return trigger === 'cli' || trigger === 'retry' ? trigger : 'schedule';
}

function reasonOf(error: unknown): string {
  const suggestion = error instanceof Fault ? error.suggestion : undefined;
  return suggestion === undefined ? messageOf(error) : `${messageOf(error)} ${suggestion}`;
}
