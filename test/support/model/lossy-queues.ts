import type { JobResult, QueueName, Queues, ReceivedJob, WakeUpJob } from '../../../src/domain/ports/queues.ts';
import type { VirtualTime } from './virtual-time.ts';

/** What becomes of a doorbell that is rung. */
export type BellFault = 'lost' | 'twice' | 'late';

interface Job extends ReceivedJob {
  queue: QueueName;
  state: 'waiting' | 'active' | 'failed';
  reason: string;
}

interface Listener {
  concurrency: number;
  active: number;
  hear: (bell: ReceivedJob) => Promise<JobResult>;
  closed: boolean;
}

/** A queue that keeps nothing for sure: what was rung may be lost, heard twice, late or by the process after this one. */
export interface LossyQueues {
  /** The queues as one process sees them. */
  queues(): Queues;
  /** The next doorbells that are rung meet these, in their order. */
  plan(faults: readonly BellFault[]): void;
  heal(): void;
  /** Everything is gone. */
  wipe(): void;
  /** The process that heard is gone: what it was hearing is heard again by the next one. */
  abandon(): void;
  /** All that was ever put into it, as text. */
  texts(): readonly string[];
}

const LATE_MS = 700;

export function createLossyQueues({
  time,
  onThrow,
}: {
  time: VirtualTime;
  /** Called with what hearing a doorbell threw, which ends as a failed job elsewhere. */
  onThrow: (error: unknown) => void;
}): LossyQueues {
  let ids = 0;
  let jobs: Job[] = [];
  let plan: BellFault[] = [];
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
      void hear(job, listener);
    }
  }

  async function hear(job: Job, listener: Listener): Promise<void> {
    const { id, name, data, retried } = job;
    let hearing: JobResult;
    try {
      hearing = await listener.hear({ id, name, data, retried });
    } catch (error) {
      onThrow(error);
      hearing = { status: 'done' };
    }
    if (listener.closed) return;
    time.stir();
    listener.active -= 1;
    if (hearing.status === 'done') jobs = jobs.filter((one) => one !== job);
    else Object.assign(job, { state: 'failed', reason: hearing.reason });
    hand(job.queue);
  }

  function put(queue: QueueName, { name, data }: WakeUpJob): void {
    ids += 1;
    texts.push(JSON.stringify({ name, data }));
    jobs.push({ id: String(ids), queue, name, data, retried: false, state: 'waiting', reason: '' });
  }

  function enqueue(queue: QueueName, bell: WakeUpJob): void {
    const fault = plan.shift();
    if (fault === 'lost') return;
    if (fault === 'late') {
      time.after(LATE_MS, () => {
        put(queue, bell);
        hand(queue);
      });
      return;
    }
    put(queue, bell);
    if (fault === 'twice') put(queue, bell);
  }

  const of = (queue: QueueName, state: Job['state']): Job[] =>
    jobs.filter((job) => job.queue === queue && job.state === state);

  return {
    queues: () => ({
      async enqueue(queue, bells) {
        for (const bell of bells) enqueue(queue, bell);
        hand(queue);
      },
      async consume(queue, { concurrency }, hearBell) {
        const listener: Listener = { concurrency, active: 0, hear: hearBell, closed: false };
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
