import type { RunTrigger } from '../domain/ports/intake.ts';
import type { Consumer, JobResult, Queues, ReceivedJob } from '../domain/ports/queues.ts';
import type { Clock } from '../lib/clock.ts';
import { messageOf } from '../lib/errors.ts';
import type { Logger } from '../lib/logging.ts';
import type { PullResult } from '../pipeline/pull.ts';
import { reasonOf } from './announced-pull.ts';

export interface PullQueueOptions {
  queues: Queues;
  /** The ids of the configured sources. */
  sources: readonly string[];
  pull: (source: string, trigger: RunTrigger, abort: AbortSignal) => Promise<PullResult>;
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
  const { queues, sources, clock, log, scrub } = options;
  const abort = new AbortController();
  const running = new Set<string>();
  /** Runs that were asked for and not begun. */
  const wanted = new Map<string, RunTrigger>();
  let watching: Promise<void> = Promise.resolve();
  let consumer: Consumer | null = null;

  async function hear(bell: ReceivedJob): Promise<JobResult> {
    const { source } = bell.data;
    if (typeof source !== 'string' || !sources.includes(source)) {
      return { status: 'done', note: 'The config has no such source any more.' };
    }
    // A run reads everything that there is: a second one at the same time would find nothing else.
    wanted.delete(source);
    if (running.has(source)) return { status: 'done', note: 'This source is being pulled already.' };
    running.add(source);
    try {
      return await pull(source, bell.retried ? 'retry' : triggerOf(bell));
    } finally {
      running.delete(source);
    }
  }

  async function pull(source: string, trigger: RunTrigger): Promise<JobResult> {
    try {
      const { runId, result } = await options.pull(source, trigger, abort.signal);
      if (result === 'complete') return { status: 'done', note: `Run ${runId} is complete.` };
      // The ledger knows the run as interrupted, and the next daemon makes up for it.
      return { status: 'done', note: `Run ${runId} was interrupted; it is made up for at the next start.` };
    } catch (error) {
      if (abort.signal.aborted) return { status: 'done', note: 'The daemon was stopped before the run began.' };
      return { status: 'failed', reason: scrub(reasonOf(error)) };
    }
  }

  const ringFor = (source: string, trigger: RunTrigger): Promise<void> =>
    queues.enqueue('pull', [{ name: `pull ${source}`, data: { source, trigger } }]);

  async function ring(source: string, trigger: RunTrigger): Promise<void> {
    // Its job waits, perhaps in a queue that is paused for hours; where it was lost, the watch makes up for it.
    if (trigger === 'schedule' && wanted.get(source) === 'schedule') return;
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
    async stop() {
      abort.abort();
      await watching;
      await consumer?.close();
    },
  };
}

function triggerOf({ data }: ReceivedJob): RunTrigger {
  const { trigger } = data;
  return trigger === 'cli' || trigger === 'retry' ? trigger : 'schedule';
}
