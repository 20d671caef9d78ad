import type { Queue } from 'bullmq';
import { isQueueFault } from '../../../domain/faults.ts';
import { type FailedJob, QUEUE_NAMES, type QueueName } from '../../../domain/ports/queues.ts';
import { pauseQueue, resumeQueue, retryDeliveries } from '../../../operations/queues.ts';
import { syncSources } from '../../../operations/runs.ts';
import {
  form,
  get,
  type PageContext,
  type Route,
  startTask,
  type WebAnswer,
  type WebRequest,
} from '../../server/route.ts';
import { counted } from '../../shown-values.ts';
import { badRequest, notFound } from '../../web-fault.ts';
import { type QueueView, queuesPage, readSource, shownDelivery } from './queues-page.ts';

const WAIT_MS = 60_000;
const FIELDS = { names: [], all: { path: '/queues', name: 'All queues' } };

/** The routes of the page about the queues, which shows the failed jobs. The board shows every job. */
export function queuesRoutes({ runtime, tasks }: PageContext): Route[] {
  const { queues } = runtime;

  async function views(): Promise<QueueView[] | null> {
    try {
      const paused = await queues.paused();
      return await Promise.all(
        QUEUE_NAMES.map(async (name) => ({
          name,
          counts: await queues.counts(name),
          paused: paused.includes(name),
          failed: await queues.failed(name),
        })),
      );
    } catch (error) {
      if (isQueueFault(error)) return null;
      throw error;
    }
  }

  async function page(request: WebRequest): Promise<WebAnswer> {
    return { type: 'page', title: 'Queues', at: '/queues', body: queuesPage(await views(), request) };
  }

  function queueOf({ params }: WebRequest): { name: QueueName; bull: Queue } {
    const name = QUEUE_NAMES.find((one) => one === params['queue']);
    const bull = queues.bullQueues.find((one) => one.name === name);
    if (name === undefined || bull === undefined) throw notFound('There is no queue with this name.');
    return { name, bull };
  }

  function retryDelivery({ person }: WebRequest, deliveries: number[], what: string): Promise<WebAnswer> {
    return startTask(tasks, retryDeliveries, { deliveries, waitMs: WAIT_MS }, { person, title: `Retry of ${what}` });
  }

  async function retryJobs(request: WebRequest, jobs: readonly FailedJob[]): Promise<WebAnswer> {
    const { name, bull } = queueOf(request);
    if (name === 'deliver') {
      const deliveries = [...new Set(jobs.flatMap((job) => shownDelivery(job) ?? []))];
      if (deliveries.length === 0) throw badRequest('These jobs name no delivery. They end without a person.');
      return retryDelivery(request, deliveries, counted(deliveries.length, 'delivery', 'deliveries'));
    }
    if (name === 'pull') {
      const sources = jobs.flatMap((job) => readSource(job) ?? []);
      const by = { person: request.person, title: `Repeated run of ${sources.join(', ')}` };
      return startTask(tasks, syncSources, { sources, accept: [], waitMs: WAIT_MS }, by);
    }
    for (const { id } of jobs) await (await bull.getJob(id))?.retry('failed');
    const text = `${counted(jobs.length, 'job')} ${jobs.length === 1 ? 'is' : 'are'} done again.`;
    return { type: 'redirect', to: '/queues', notice: { text, tone: 'good' } };
  }

  async function retryOne(request: WebRequest): Promise<WebAnswer> {
    const { name } = queueOf(request);
    const asked = request.form.get('delivery');
    if (name === 'deliver' && asked !== null) {
      const delivery = await runtime.reads.delivery(Number(asked));
      if (delivery?.needsPerson !== true) return nothingToRetry('The delivery no longer needs a person.');
      const { id, operation, naturalKey, key } = delivery;
      return retryDelivery(request, [id], `${operation} ${naturalKey ?? key}`);
    }
    const jobs = await queues.failed(name);
    const source = request.form.get('source');
    if (name === 'pull' && source !== null) {
      const job = jobs.find((one) => readSource(one) === source);
      return job === undefined
        ? nothingToRetry(`There is no failed run of ${source} any more.`)
        : retryJobs(request, [job]);
    }
    const job = jobs.find((one) => one.id === request.form.get('job'));
    return job === undefined
      ? nothingToRetry('The job is no longer a failed job: its work was done, or has failed again.')
      : retryJobs(request, [job]);
  }

  async function retryAll(request: WebRequest): Promise<WebAnswer> {
    const jobs = await queues.failed(queueOf(request).name);
    if (jobs.length > 0) return retryJobs(request, jobs);
    return { type: 'redirect', to: '/queues', notice: { text: 'There is no failed job any more.', tone: 'good' } };
  }

  async function setPaused(request: WebRequest, paused: boolean): Promise<WebAnswer> {
    const { name } = queueOf(request);
    await queues.setPaused(name, paused);
    runtime.engine.wake();
    const text = paused
      ? `The queue ${name} is paused. Its jobs wait until somebody resumes it.`
      : `The queue ${name} is resumed.`;
    return { type: 'redirect', to: '/queues', notice: { text, tone: paused ? 'warn' : 'good' } };
  }

  return [
    get('/queues', 'operator', page, { fields: FIELDS }),
    form('/queues/:queue/retry', retryDeliveries, retryOne, { action: 'queue.retry' }),
    form('/queues/:queue/retry-all', retryDeliveries, retryAll, { action: 'queue.retry_all', fields: FIELDS }),
    form('/queues/:queue/pause', pauseQueue, (request) => setPaused(request, true)),
    form('/queues/:queue/resume', resumeQueue, (request) => setPaused(request, false)),
  ];
}

function nothingToRetry(text: string): WebAnswer {
  return { type: 'redirect', to: '/queues', notice: { text: `${text} Nothing was retried.`, tone: 'warn' } };
}
