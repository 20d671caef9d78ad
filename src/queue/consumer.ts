import type { Consumer, HeardDoorbell, Hearing, QueueName } from '../domain/ports/queues.ts';
import type { Logger } from '../lib/logging.ts';
import type { BackendWorker, QueueBackend } from './backend.ts';
import type { ErrorSink } from './error-log.ts';
import { createHearingProcessor } from './hearing-processor.ts';

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
  onError: ErrorSink;
}

export function createConsumer({ name, concurrency, hear, log, onError }: ConsumerOptions): StartableConsumer {
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

  async function hearingsEnded(): Promise<void> {
    while (running.size > 0) await Promise.allSettled(running);
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
      closing ??= worker === undefined ? Promise.resolve() : worker.close(hearingsEnded());
      return closing;
    },
  };
}
