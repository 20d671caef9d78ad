import type { Consumer, HeardDoorbell, Hearing, QueueName } from '../domain/ports/queues.ts';
import type { Clock } from '../lib/clock.ts';
import type { Logger } from '../lib/logging.ts';
import type { BackendWorker, QueueBackend } from './backend.ts';
import type { ErrorSink } from './error-log.ts';
import { createHearingProcessor } from './hearing-processor.ts';

/** How long a worker may take to say goodbye to its datastore once its hearings have ended. */
const FAREWELL_MS = 5_000;

/** A consumer that begins to hear when its backend is there. */
export interface StartableConsumer extends Consumer {
  /** Does nothing when it was started or closed before. */
  start(backend: QueueBackend): void;
}

interface ConsumerOptions {
  name: QueueName;
  concurrency: number;
  hear: (bell: HeardDoorbell) => Promise<Hearing>;
  log: Logger;
  clock: Clock;
  onError: ErrorSink;
}

export function createConsumer({ name, concurrency, hear, log, clock, onError }: ConsumerOptions): StartableConsumer {
  const running = new Set<Promise<Hearing>>();
  let worker: BackendWorker | undefined;
  let closing: Promise<void> | undefined;

  const processor = createHearingProcessor({
    hear(bell) {
      const hearing = hear(bell).finally(() => running.delete(hearing));
      running.add(hearing);
      return hearing;
    },
    closing: () => closing !== undefined,
    log,
  });

  async function closeWorker(started: BackendWorker): Promise<void> {
    const closed = started.worker.close();
    while (running.size > 0) await Promise.allSettled(running);
    // What is left is to write the last results. A datastore that is away would keep that waiting for ever; what is not
    // written is heard again as a stalled job, and then the ledger says that it was done.
    const farewell = new AbortController();
    const late = clock.sleep(FAREWELL_MS, farewell.signal).then(() => 'late' as const);
    const ending = await Promise.race([closed.then(() => 'closed' as const), late]);
    farewell.abort();
    if (ending === 'late') {
      log.warn(
        { queue: name },
        'The queue cannot be reached while closing: results that it does not know are heard again.',
      );
      started.abandon();
    }
  }

  return {
    start(backend) {
      if (worker !== undefined || closing !== undefined) return;
      worker = backend.startWorker(name, processor, concurrency);
      worker.worker.on('error', (error) => onError(`worker ${name}`, error));
      worker.worker.on('stalled', (jobId) => {
        log.warn({ queue: name, jobId }, 'A doorbell was lost with the worker that heard it and is heard again.');
      });
    },
    close() {
      closing ??= worker === undefined ? Promise.resolve() : closeWorker(worker);
      return closing;
    },
  };
}
