import type { Consumer, HeardDoorbell, Hearing, QueueName } from '../domain/ports/queues.ts';
import type { Logger } from '../lib/logging.ts';
import type { QueueBackend } from './backend.ts';
import type { ErrorSink } from './error-log.ts';
import { createHearingProcessor } from './hearing-processor.ts';

interface ConsumerOptions {
  backend: QueueBackend;
  name: QueueName;
  concurrency: number;
  hear: (bell: HeardDoorbell) => Promise<Hearing>;
  log: Logger;
  onError: ErrorSink;
}

export function startConsumer({ backend, name, concurrency, hear, log, onError }: ConsumerOptions): Consumer {
  const running = new Set<Promise<Hearing>>();
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

  const backendWorker = backend.startWorker(name, processor, concurrency);
  backendWorker.worker.on('error', (error) => onError(`worker ${name}`, error));
  backendWorker.worker.on('stalled', (jobId) => {
    log.warn({ queue: name, jobId }, 'A job was lost with the worker that took it and is taken again.');
  });

  return {
    close() {
      closing ??= backendWorker.close(hearingsEnded());
      return closing;
    },
  };
}
