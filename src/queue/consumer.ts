import type { Consumer, JobResult, QueueName, ReceivedJob } from '../domain/ports/queues.ts';
import type { Logger } from '../lib/logging.ts';
import type { QueueBackend } from './backend.ts';
import type { ErrorSink } from './error-log.ts';
import { createJobProcessor } from './job-processor.ts';

interface ConsumerOptions {
  backend: QueueBackend;
  name: QueueName;
  concurrency: number;
  hear: (bell: ReceivedJob) => Promise<JobResult>;
  log: Logger;
  onError: ErrorSink;
}

export function startConsumer({ backend, name, concurrency, hear, log, onError }: ConsumerOptions): Consumer {
  const running = new Set<Promise<JobResult>>();
  let closing: Promise<void> | undefined;

  const processor = createJobProcessor({
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
