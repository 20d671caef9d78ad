import type { Consumer, JobResult, QueueName, ReceivedJob } from '../domain/ports/queues.ts';
import type { Logger } from '../lib/logging.ts';
import type { QueueBackend } from './backend.ts';
import type { ErrorSink } from './error-log.ts';
import { createJobProcessor } from './job-processor.ts';

interface ConsumerOptions {
  backend: QueueBackend;
  name: QueueName;
  concurrency: number;
  handle: (job: ReceivedJob) => Promise<JobResult>;
  log: Logger;
  onError: ErrorSink;
}

export function startConsumer({ backend, name, concurrency, handle, log, onError }: ConsumerOptions): Consumer {
  const running = new Set<Promise<JobResult>>();
  let closing: Promise<void> | undefined;

  const processor = createJobProcessor({
    handle(job) {
      const handling = handle(job).finally(() => running.delete(handling));
      running.add(handling);
      return handling;
    },
    closing: () => closing !== undefined,
    log,
  });

  async function handlersEnded(): Promise<void> {
    while (running.size > 0) await Promise.allSettled(running);
  }

  const backendWorker = backend.startWorker(name, processor, concurrency);
  backendWorker.worker.on('error', (error) => onError(`worker ${name}`, error));
  backendWorker.worker.on('stalled', (jobId) => {
    log.warn({ queue: name, jobId }, 'The worker that took this job is gone. Another worker takes the job.');
  });

  return {
    close() {
      closing ??= backendWorker.close(handlersEnded());
      return closing;
    },
  };
}
