import { lostJobsFault } from '../../domain/faults.ts';
import type { RunCause, RunTrigger } from '../../domain/ports/intake.ts';
import type { Consumer, JobResult, Queues, ReceivedJob } from '../../domain/ports/queues.ts';
import type { Clock } from '../../lib/clock.ts';
import { messageAndCureOf, messageOf } from '../../lib/errors.ts';
import type { Logger } from '../../lib/logging/logging.ts';
import type { PullResult } from '../../pipeline/pull.ts';

export interface PullQueueOptions {
  queues: Queues;
  /** Whether the config has a source of this id. */
  hasSource: (source: string) => boolean;
  pull: (source: string, cause: RunCause, abort: AbortSignal) => Promise<PullResult>;
  /** True while a pull of the source waits to begin or reads it. */
  hasPull: (source: string) => boolean;
  /** Called when a run is left out, because another run of the source reads it already. */
  leftOut: (source: string) => void;
  clock: Clock;
  log: Logger;
  /** Removes secrets from a text that another library may have written (I7). */
  scrub: (text: string) => string;
}

/**
 * How many sources are pulled at once. A slow source must not delay the others, but each run keeps a page in memory.
 */
const CONCURRENCY = 4;
/** How soon a job that was refused or lost is enqueued again. */
const WATCH_MS = 1000;

/**
 * A source that cannot be read makes a failed job with the reason. Retry in a dashboard reads the source again. Each
 * source has at most one failed job, and runs of other sources are not affected.
 */
export function createPullQueue(options: PullQueueOptions) {
  const { queues, clock, log, scrub } = options;
  const abort = new AbortController();
  /** The last run of each source whose job has not ended. */
  const running = new Map<string, Promise<JobResult>>();
  /** The sources with a run that begins when the former run of the source has been reported. */
  const next = new Set<string>();
  /** The runs that were requested and have not begun. */
  const wanted = new Map<string, RunTrigger>();
  /** How often jobs were lost since a worker has last taken one. */
  let losses = 0;
  let watching: Promise<void> = Promise.resolve();
  let consumer: Consumer | null = null;

  async function handle(job: ReceivedJob): Promise<JobResult> {
    const { source } = job.data;
    losses = 0;
    // Also for a source that the config no longer has: otherwise `watch` would enqueue its run again for ever.
    if (typeof source === 'string') wanted.delete(source);
    if (typeof source !== 'string' || !options.hasSource(source)) {
      return { status: 'done', note: 'The config no longer has this source.' };
    }
    const former = running.get(source);
    // A run reads the whole source, so a second run at the same time would find the same rows. After the read, the source
    // may have changed.
    if (former !== undefined && (options.hasPull(source) || next.has(source))) {
      if (!next.has(source)) options.leftOut(source);
      return { status: 'done', note: 'This source is being pulled already.' };
    }
    const run = pullAfter(former, source, job.retried ? 'retry' : triggerOf(job));
    running.set(source, run);
    try {
      return await run;
    } finally {
      if (running.get(source) === run) running.delete(source);
    }
  }

  async function pullAfter(
    former: Promise<JobResult> | undefined,
    source: string,
    trigger: RunTrigger,
  ): Promise<JobResult> {
    if (former !== undefined) {
      next.add(source);
      await former;
      next.delete(source);
    }
    return pull(source, trigger);
  }

  async function pull(source: string, trigger: RunTrigger): Promise<JobResult> {
    try {
      const { runId, result } = await options.pull(source, { trigger }, abort.signal);
      if (result === 'complete') return { status: 'done', note: `Run ${runId} is complete.` };
      if (result === 'held') return { status: 'done', note: `Run ${runId} is held until a person decides about it.` };
      // The ledger stores the run as interrupted, and the next daemon repeats it.
      return { status: 'done', note: `Run ${runId} was interrupted. It is repeated at the next start.` };
    } catch (error) {
      if (abort.signal.aborted) return { status: 'done', note: 'The daemon was stopped before the run began.' };
      return { status: 'failed', reason: scrub(messageAndCureOf(error)) };
    }
  }

  const enqueue = (source: string, trigger: RunTrigger): Promise<void> =>
    queues.enqueue('pull', [{ name: `pull ${source}`, data: { source, trigger } }]);

  function isAutomaticallyWanted(source: string): boolean {
    const trigger = wanted.get(source);
    return trigger === 'schedule' || trigger === 'file';
  }

  async function startRun(source: string, trigger: RunTrigger): Promise<void> {
    const isAutomatic = trigger === 'schedule' || trigger === 'file';
    const isWanted = isAutomaticallyWanted(source);
    // The job still waits, perhaps in a queue that is paused for hours. If it was lost, `watch` enqueues it again.
    if (isAutomatic && isWanted) return;
    if (isAutomatic || !wanted.has(source)) wanted.set(source, trigger);
    try {
      await enqueue(source, trigger);
    } catch (error) {
      if (!isAutomatic) {
        if (!isWanted) wanted.delete(source);
        throw error;
      }
      log.warn({ source, error: messageOf(error) }, `The run of ${source} waits for the queue: ${messageOf(error)}`);
    }
  }

  async function watch(): Promise<void> {
    while (!abort.signal.aborted) {
      await clock.sleep(WATCH_MS, abort.signal);
      try {
        if (wanted.size > 0 && !abort.signal.aborted) await enqueueLost();
      } catch (error) {
        log.debug({ error: messageOf(error) }, 'Runs wait for the queue.');
      }
    }
  }

  async function enqueueLost(): Promise<void> {
    const { waiting, active } = await queues.counts('pull');
    if (waiting > 0 || active > running.size) return;
    for (const [source, trigger] of wanted) await enqueue(source, trigger);
    const former = lostJobsFault('pull', losses);
    losses += 1;
    const present = lostJobsFault('pull', losses);
    if (former === null && present !== null) log.error({}, `${present.message} ${present.suggestion ?? ''}`);
  }

  return {
    async start(): Promise<void> {
      consumer = await queues.consume('pull', { concurrency: CONCURRENCY }, handle);
      watching = watch();
    },
    /**
     * Enqueues a run. If the queue is out of reach or loses the job, a run of a schedule or of a changed export is
     * enqueued again for as long as this process lives.
     *
     * @throws Fault `queue.unreachable` if a person has asked for the run, because a person can ask again
     */
    startRun,
    /** Interrupts the runs between two pages and waits for their end. */
    async stop(): Promise<void> {
      abort.abort();
      await watching;
      await consumer?.close();
    },
  };
}

export type PullQueue = ReturnType<typeof createPullQueue>;

function triggerOf({ data }: ReceivedJob): RunTrigger {
  const { trigger } = data;
  return trigger === 'cli' || trigger === 'retry' || trigger === 'file' ? trigger : 'schedule';
}
