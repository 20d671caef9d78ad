import type { JobResult, QueueName, Queues, ReceivedJob, WakeUpJob } from '../../../src/domain/ports/queues.ts';
import type { VirtualTime } from '../../support/time/virtual-time.ts';

/** What happens to a wake-up job that is enqueued. */
export type JobFault = 'lost' | 'twice' | 'late';

interface Job extends ReceivedJob {
  queue: QueueName;
  state: 'waiting' | 'active' | 'failed';
  reason: string;
}

interface Listener {
  concurrency: number;
  active: number;
  handle: (job: ReceivedJob) => Promise<JobResult>;
  closed: boolean;
}

/** A queue that may lose a job, hand it out twice or late, or hand it to the next process. */
export interface LossyQueues {
  /** The queues as one process sees them. */
  queues(): Queues;
  /** Plans faults for the next wake-up jobs, in this order. */
  plan(faults: readonly JobFault[]): void;
  heal(): void;
  /** How many jobs were lost one by one. */
  lost(): number;
  /** Loses all jobs. */
  wipe(): void;
  /** Ends the consumer. The next process receives the jobs that it was handling. */
  abandon(): void;
  /** Every job that was ever enqueued, as text. */
  texts(): readonly string[];
}

const LATE_MS = 700;

export function createLossyQueues({
  time,
  onThrow,
}: {
  time: VirtualTime;
  /** Called with the error of a job that threw. Real queues end such a job as failed. */
  onThrow: (error: unknown) => void;
}): LossyQueues {
  let ids = 0;
  let jobs: Job[] = [];
  let plan: JobFault[] = [];
  let lost = 0;
  const listeners = new Map<QueueName, Listener>();
  const texts: string[] = [];

  function hand(queue: QueueName): void {
    const listener = listeners.get(queue);
    if (!listener) return;
    while (!listener.closed && listener.active < listener.concurrency) {
      const job = jobs.find((one) => one.queue === queue && one.state === 'waiting');
      if (!job) return;
      job.state = 'active';
      listener.active += 1;
      void handle(job, listener);
    }
  }

  async function handle(job: Job, listener: Listener): Promise<void> {
    const { id, name, data, retried } = job;
    let result: JobResult;
    try {
      result = await listener.handle({ id, name, data, retried });
    } catch (error) {
      onThrow(error);
      result = { status: 'done' };
    }
    if (listener.closed) return;
    time.stir();
    listener.active -= 1;
    if (result.status === 'done') jobs = jobs.filter((one) => one !== job);
    else Object.assign(job, { state: 'failed', reason: result.reason });
    hand(job.queue);
  }

  function put(queue: QueueName, { name, data }: WakeUpJob): void {
    ids += 1;
    texts.push(JSON.stringify({ name, data }));
    jobs.push({ id: String(ids), queue, name, data, retried: false, state: 'waiting', reason: '' });
  }

  function enqueue(queue: QueueName, job: WakeUpJob): void {
    const fault = plan.shift();
    if (fault === 'lost') {
      lost += 1;
      return;
    }
    if (fault === 'late') {
      time.after(LATE_MS, () => {
        put(queue, job);
        hand(queue);
      });
      return;
    }
    put(queue, job);
    if (fault === 'twice') put(queue, job);
  }

  const of = (queue: QueueName, state: Job['state']): Job[] =>
    jobs.filter((job) => job.queue === queue && job.state === state);

  return {
    queues: () => ({
      async enqueue(queue, wakeUpJobs) {
        for (const job of wakeUpJobs) enqueue(queue, job);
        hand(queue);
      },
      async consume(queue, { concurrency }, handleJob) {
        const listener: Listener = { concurrency, active: 0, handle: handleJob, closed: false };
        listeners.set(queue, listener);
        hand(queue);
        return {
          async close() {
            listener.closed = true;
          },
        };
      },
      async counts(queue) {
        const [waiting, active, failed] = (['waiting', 'active', 'failed'] as const).map((s) => of(queue, s).length);
        return { waiting: waiting ?? 0, active: active ?? 0, failed: failed ?? 0 };
      },
      failed: async (queue) => of(queue, 'failed').map(({ id, name, data, reason }) => ({ id, name, data, reason })),
      async forget(queue, gone) {
        jobs = jobs.filter((job) => job.queue !== queue || !gone.includes(job.id));
      },
      async clearWaiting(queue) {
        jobs = jobs.filter((job) => job.queue !== queue || job.state !== 'waiting');
      },
      paused: async () => [],
      touch: () => Promise.resolve(),
      close: () => Promise.resolve(),
    }),
    plan(faults) {
      plan = [...faults];
    },
    heal() {
      plan = [];
    },
    lost: () => lost,
    wipe() {
      jobs = jobs.filter(({ state }) => state === 'active');
    },
    abandon() {
      for (const listener of listeners.values()) listener.closed = true;
      listeners.clear();
      for (const job of jobs) if (job.state === 'active') job.state = 'waiting';
    },
    texts: () => texts,
  };
}
