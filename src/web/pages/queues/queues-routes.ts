import type { Queue } from 'bullmq';
import { stuckDeliveryOf } from '../../../delivery/failed-jobs.ts';
import { isQueueFault } from '../../../domain/faults.ts';
import { isSubjectKind } from '../../../domain/item.ts';
import { type FailedJob, QUEUE_NAMES, type QueueCounts, type QueueName } from '../../../domain/ports/queues.ts';
import { isJsonObject } from '../../../lib/json.ts';
import { pauseQueue, resumeQueue, retryDeliveries } from '../../../operations/queues.ts';
import { syncSources } from '../../../operations/runs.ts';
import { BOARD_PATH } from '../../board.ts';
import { type Html, html } from '../../html.ts';
import { card, confirmForm, csrfField, dataTable, emptyState, pageHead, withCode } from '../../parts.ts';
import {
  form,
  get,
  type PageContext,
  type Route,
  startTask,
  type WebAnswer,
  type WebRequest,
} from '../../server/route.ts';
import { counted, countLink, formatCount } from '../../shown-values.ts';
import { badRequest, notFound } from '../../web-fault.ts';
import { attentionPath, itemPath } from '../links.ts';

const WAIT_MS = 60_000;
const FIELDS = { names: [], all: { path: '/queues', name: 'All queues' } };

/** The routes of the page about the queues, which shows the failed jobs. The board shows every job. */
export function queuesRoutes({ runtime, reads, tasks }: PageContext): Route[] {
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
    const { count } = (await reads.items({ state: 'attention' }, { limit: 1 })).total;
    return { type: 'page', title: 'Queues', at: '/queues', body: queuesPage(await views(), count, request) };
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
      const deliveries = deliveriesOf(jobs);
      if (deliveries.length === 0) throw badRequest('These jobs name no delivery. They end without a person.');
      return retryDelivery(request, deliveries, counted(deliveries.length, 'delivery', 'deliveries'));
    }
    if (name === 'pull') {
      const sources = sourcesOf(jobs);
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

  /** What "Retry all" is about: the deliveries or the sources of the failed jobs. */
  async function failedSubject({ params }: WebRequest): Promise<object> {
    const name = QUEUE_NAMES.find((one) => one === params['queue']);
    const jobs = name === undefined ? [] : await queues.failed(name);
    if (name === 'deliver') return { deliveries: deliveriesOf(jobs) };
    return name === 'pull' ? { sources: sourcesOf(jobs) } : { jobs: jobs.length };
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
    form('/queues/:queue/retry-all', retryDeliveries, retryAll, {
      action: 'queue.retry_all',
      subject: failedSubject,
      fields: FIELDS,
    }),
    form('/queues/:queue/pause', pauseQueue, (request) => setPaused(request, true)),
    form('/queues/:queue/resume', resumeQueue, (request) => setPaused(request, false)),
  ];
}

function nothingToRetry(text: string): WebAnswer {
  return { type: 'redirect', to: '/queues', notice: { text: `${text} Nothing was retried.`, tone: 'warn' } };
}

interface QueueView {
  name: QueueName;
  counts: QueueCounts;
  paused: boolean;
  failed: readonly FailedJob[];
}

const TITLES: Record<QueueName, { title: string; means: string }> = {
  pull: { title: 'Runs', means: 'Each job is a run of one source.' },
  map: { title: 'Mapping', means: 'Each job maps one page of changed rows, or the stored rows of a source.' },
  deliver: {
    title: 'Deliveries',
    means: 'Each job sends writes to the platform. The failed jobs are the writes that need a person.',
  },
};
const FAILED_SHOWN = 100;
/** Jobs come and go without an event, and the failed jobs follow the ledger a second later. So an open page is loaded again. */
const RENEWABLE_IN_MS = 2000;

/**
 * The page with the contents of the queues, and the failed jobs with their reasons. `queues` is null while the queue is
 * out of reach.
 *
 * @param stuck how many writes need a person
 */
function queuesPage(queues: readonly QueueView[] | null, stuck: number, request: WebRequest): Html {
  const board = html`<a class="button plain" href="${BOARD_PATH}/">All jobs (bull-board)</a>`;
  const head = pageHead('Queues', {
    actions: board,
    lead: 'Nothing can be lost here: the ledger has all the work. Use this page only if support asks you to.',
  });
  return html`${head}
<div id="queues" data-live data-renewable-in="${RENEWABLE_IN_MS}">${queues === null ? OUT_OF_REACH : html`<div class="columns">${queues.map((queue) => countsCard(queue, request))}</div>`}</div>
<div id="failed" data-live>${queues === null ? null : [failedCards(queues, request), unshownNote(queues, stuck)]}</div>`;
}

const OUT_OF_REACH = card(
  null,
  html`<p class="bad">The queue is out of reach. Everything stays due. The work continues automatically when the queue is back.</p>`,
);

/** The writes that need a person and that no failed job shows yet. During an outage their jobs wait behind those that are due. */
function unshownNote(queues: readonly QueueView[], stuck: number): Html | null {
  const unshown = stuck - (queues.find(({ name }) => name === 'deliver')?.failed.length ?? 0);
  if (unshown <= 0) return null;
  const need = unshown === 1 ? 'write needs a person and has' : 'writes need a person and have';
  return html`<p class="warn">${formatCount(unshown)} more ${need} no failed job yet. <a href="${attentionPath()}">Needs attention</a> has all of them.</p>`;
}

function failedCards(queues: readonly QueueView[], request: WebRequest): Html {
  const failed = queues.filter((queue) => queue.failed.length > 0);
  return failed.length === 0
    ? card('Failed jobs', emptyState('No job has failed.'))
    : html`${failed.map((queue) => failedCard(queue, request))}`;
}

function countsCard({ name, counts, paused }: QueueView, request: WebRequest): Html {
  const { title, means } = TITLES[name];
  const action = `/queues/${name}/${paused ? 'resume' : 'pause'}`;
  const standing = paused ? html`<span class="badge warn">paused</span>` : html`<span class="badge good">open</span>`;
  const figures = (['waiting', 'active', 'failed'] as const).map(
    (state) => html`<li>${countLink(counts[state], `${BOARD_PATH}/queue/${name}?status=${state}`, state)}</li>`,
  );
  return card(html`${title} ${standing}`, [
    html`<p class="quiet">${means}</p>`,
    html`<ul class="standing">${figures}</ul>`,
    html`<form method="post" action="${action}">${csrfField(request)}<button class="plain" aria-label="${paused ? 'Resume' : 'Pause'} ${title}">${paused ? 'Resume' : 'Pause'}</button></form>`,
  ]);
}

function failedCard({ name, failed, counts }: QueueView, request: WebRequest): Html {
  const total = Math.max(counts.failed, failed.length);
  const shown = failed.slice(0, FAILED_SHOWN);
  const rows = shown.map((job) => [
    nameOf(job),
    withCode(job.reason),
    html`<form method="post" action="/queues/${name}/retry">${csrfField(request)}${subjectField(name, job)}<button class="plain" aria-label="Retry ${job.name}">Retry</button></form>`,
  ]);
  const all =
    failed.length < 2
      ? null
      : confirmForm(request, {
          action: `/queues/${name}/retry-all`,
          button: `Retry all ${formatCount(failed.length)}`,
          text: name === 'deliver' ? RETRY_DELIVERIES : 'dpp-sync does each of these jobs again.',
        });
  const rest = total - rows.length;
  return card(`Failed: ${TITLES[name].title.toLowerCase()}`, [
    all === null ? null : html`<div class="row">${all}</div>`,
    dataTable({
      caption: `Failed jobs of ${TITLES[name].title.toLowerCase()}`,
      columns: [{ name: 'job' }, { name: 'why' }, { name: html`<span class="unseen">what to do</span>` }],
      rows,
      keys: shown.map((job) => [name, ...subjectOf(name, job)].join(' ')),
    }),
    rest > 0
      ? html`<p class="quiet">${counted(rest, 'further one')} ${rest === 1 ? 'is' : 'are'} not shown.</p>`
      : null,
  ]);
}

const RETRY_DELIVERIES =
  'The stored records are mapped again with the present mapping, and the items that pass are sent as new revisions. The next page shows the result of each.';

/** The source that a failed job reads; null for another job. */
function readSource({ data }: FailedJob): string | null {
  return typeof data['source'] === 'string' ? data['source'] : null;
}

/** The deliveries of failed jobs, each once. */
function deliveriesOf(jobs: readonly FailedJob[]): number[] {
  return [...new Set(jobs.flatMap((job) => stuckDeliveryOf(job) ?? []))];
}

function sourcesOf(jobs: readonly FailedJob[]): string[] {
  return jobs.flatMap((job) => readSource(job) ?? []);
}

/**
 * What Retry is about: the name and the value of its field. A delivery that is refused again gets a new job, and so does
 * a source that cannot be read again, so the page names the delivery or the source and not the job.
 */
function subjectOf(name: QueueName, job: FailedJob): [field: string, value: string] {
  const delivery = stuckDeliveryOf(job);
  if (name === 'deliver' && delivery !== null) return ['delivery', String(delivery)];
  const source = readSource(job);
  return name === 'pull' && source !== null ? ['source', source] : ['job', job.id];
}

function subjectField(name: QueueName, job: FailedJob): Html {
  const [field, value] = subjectOf(name, job);
  return html`<input type="hidden" name="${field}" value="${value}" />`;
}

function nameOf({ name, data }: FailedJob): Html | string {
  const { item } = data;
  if (!isJsonObject(item)) return name;
  const { kind, key } = item;
  return typeof key === 'string' && isSubjectKind(kind) ? html`<a href="${itemPath(kind, key)}">${name}</a>` : name;
}
