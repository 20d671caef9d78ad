import { dialectOf } from '../../../daemon/sources/open-source.ts';
import { heldText } from '../../../domain/approval.ts';
import type { GoneRows, RunFilter } from '../../../domain/ports/ledger/dashboard-views.ts';
import type { Reads } from '../../../domain/ports/ledger/reads.ts';
import { Fault } from '../../../lib/errors.ts';
import type { JsonObject } from '../../../lib/json.ts';
import { refuseGuarded, stopRun, syncSources } from '../../../operations/runs.ts';
import { SHOWN } from '../../parts.ts';
import { filterValue, numberOf } from '../../server/fields.ts';
import {
  form,
  get,
  type Notice,
  type PageContext,
  type Route,
  startTask,
  type WebAnswer,
  type WebRequest,
} from '../../server/route.ts';
import { tableDownload } from '../../table-files.ts';
import type { Task } from '../../tasks.ts';
import { badRequest, notFound } from '../../web-fault.ts';
import { columnsOf } from '../attention/causes.ts';
import { acceptPath, runsPath } from '../links.ts';
import { acceptPage, type Waiting, waitingMark } from './accept-page.ts';
import type { HeldRunView } from './held-run.ts';
import { RUN_RESULTS, runPage, runsPage } from './runs-pages.ts';

const PAGE_ROWS = 50;
/** How long the API or the queue may be out of reach before a run that a person has started gives up waiting. */
const WAIT_MS = 60_000;

/** The routes for the list of runs, the page of each run, and the actions of operators. */
export function runsRoutes(context: PageContext): Route[] {
  const { runtime, reads, tasks, clock } = context;
  const configured = (source: string) => runtime.config.sources.find(({ id }) => id === source) ?? null;

  /** @throws WebFault for a source that the config does not have */
  function sourceOf(request: WebRequest): string {
    const source = request.form.get('source') ?? request.query.get('source') ?? '';
    if (configured(source) === null) throw badRequest('The config has no source with this name.');
    return source;
  }

  /** The run of a source that has not ended; null if there is none. */
  async function presentRun(source: string): Promise<number | null> {
    const [run] = await reads.lastRuns({ source, limit: 1 });
    return run !== undefined && run.endedAt === null ? run.id : null;
  }

  async function list({ query, person, csrf }: WebRequest): Promise<WebAnswer> {
    const listed = await reads.runs(filterOf(query), { after: query.get('after') ?? undefined, limit: PAGE_ROWS });
    const sources = runtime.config.sources.map(({ id, streams }) => ({ id, streams: streams.map(({ name }) => name) }));
    const running = new Map(
      await Promise.all(context.running().map(async (source) => [source, await presentRun(source)] as const)),
    );
    const view = { listed, query, sources, running, now: clock.now() };
    const body = runsPage({ ...view, operates: person.role === 'operator', csrf });
    return { type: 'page', title: 'Runs', body, at: '/runs' };
  }

  async function one({ params, person, csrf }: WebRequest): Promise<WebAnswer> {
    const id = /^\d{1,15}$/.test(params['id'] ?? '') ? Number(params['id']) : null;
    const run = id === null ? null : await reads.run(id);
    if (run === null) throw notFound('There is no run with this number. dpp-sync deletes old runs after a time.');
    const { total: changedItems } = await reads.items({ run: run.id }, { limit: 1 });
    const body = runPage({
      run,
      changedItems,
      isRunning: run.endedAt === null && context.running().includes(run.source),
      decidable: await decidableOf(run),
      refused: (await reads.refusedReads(run.source)).filter(({ runId }) => runId === run.id),
      isConfigured: configured(run.source) !== null,
      operates: person.role === 'operator',
      csrf,
      now: clock.now(),
    });
    return { type: 'page', title: `Run ${run.id} of ${run.source}`, body, at: '/runs' };
  }

  async function decidableOf({ id, source }: { id: number; source: string }): Promise<'export' | 'run' | null> {
    const held = runtime.held.of(source);
    if (held?.runId === id && held.decision?.decided !== 'approved') return 'run';
    return (await runtime.reads.guardedReads([source])).some(({ runId }) => runId === id) ? 'export' : null;
  }

  async function waiting(source: string): Promise<Waiting> {
    const [guarded, adopted] = [await reads.guardedReads([source]), await reads.adoptedChanges([source])];
    return { guarded, adopted, held: runtime.held.of(source) };
  }

  async function heldView(run: Waiting['held']): Promise<HeldRunView | null> {
    if (run === null) return null;
    try {
      return { run, plan: { outline: await runtime.held.outline(run) } };
    } catch (error) {
      if (!(error instanceof Fault)) throw error;
      return { run, plan: { problem: error.message } };
    }
  }

  /** The number of the run about which a person decides, for the audit log. */
  function heldRun(request: WebRequest): Promise<object> {
    const held = runtime.held.of(request.form.get('source') ?? '');
    return Promise.resolve(held === null ? {} : { run: held.runId });
  }

  async function acceptForm(request: WebRequest): Promise<WebAnswer> {
    const source = sourceOf(request);
    const { guarded, adopted, held } = await waiting(source);
    const body = acceptPage({
      source,
      guarded,
      adopted,
      held: await heldView(held),
      effects: await reads.goneEffects(source),
      refused: await reads.refusedReads(source),
      onMissing: configured(source)?.onMissing ?? 'flag',
      csrf: request.csrf,
    });
    return { type: 'page', title: `Decide about ${source}`, body, at: '/runs' };
  }

  /** The file with what is gone in a held read, so that a person can look at all of it before accepting the export. */
  async function goneFile(request: WebRequest, format: 'csv' | 'xlsx'): Promise<WebAnswer> {
    const source = configured(sourceOf(request));
    const stream = request.query.get('stream') ?? '';
    const of = filterValue(request.query, 'of', GONE_FILTER) ?? 'lost';
    if (source === null || !source.streams.some(({ name }) => name === stream))
      throw notFound('The config has no stream with this name.');
    const pages = () => gonePages(reads, { source: source.id, stream, of }, request.abort);
    const columns = [...(await columnsOf(pages())), ...GONE_COLUMNS];
    const dialect = dialectOf(source, stream);
    return tableDownload([source.id, stream, 'gone'], columns, pages(), { format, dialect });
  }

  /** The whole plan of the held run of a source, so that a person can look at all of it before approving the run. */
  async function heldPlan(request: WebRequest): Promise<WebAnswer> {
    const source = sourceOf(request);
    const run = runtime.held.of(source);
    if (run === null) throw notFound(`No run of ${source} is held.`);
    const chunks = await runtime.held.bytes(run);
    return { type: 'download', name: `${source}-run-${run.runId}.jsonl`, contentType: 'application/x-ndjson', chunks };
  }

  async function start(request: WebRequest): Promise<WebAnswer> {
    const source = sourceOf(request);
    const title = `Run of ${source}.`;
    for (const one of tasks.list()) {
      if (one.title === title && (await stillReads(one, source))) return { type: 'redirect', to: `/tasks/${one.id}` };
    }
    const asked = { sources: [source], accept: [], waitMs: WAIT_MS };
    return startTask(tasks, syncSources, asked, { person: request.person, title });
  }

  /**
   * True if the task runs and has not read the source to its end yet. A second run at the same time would find the same
   * rows, so a button that is pressed twice leads to the first run.
   */
  async function stillReads({ startedAt, endedAt }: Task, source: string): Promise<boolean> {
    const [run] = await reads.lastRuns({ source, limit: 1 });
    const wasRead = run !== undefined && run.startedAt >= startedAt && run.endedAt !== null;
    return endedAt === null && !wasRead;
  }

  async function acceptShown(request: WebRequest): Promise<WebAnswer> {
    const source = sourceOf(request);
    const shown = await waiting(source);
    if (request.form.get(SHOWN) !== waitingMark(shown)) {
      const text = 'What waits for your decision has changed since the page was loaded, so nothing was accepted.';
      return { type: 'redirect', to: acceptPath(source), notice: { text, tone: 'warn' } };
    }
    const { guarded, adopted, held } = shown;
    const approve = held === null ? [] : [held.runId];
    const title = [
      ...(guarded.length + adopted.length > 0 ? [`Acceptance of the export of ${source}.`] : []),
      ...(held === null ? [] : [`Approval of run ${held.runId} of ${source}: ${heldText(held)}.`]),
    ].join(' ');
    const asked = { sources: [source], accept: [source], approve, waitMs: WAIT_MS };
    return startTask(tasks, syncSources, asked, { person: request.person, title });
  }

  async function refuseShown(request: WebRequest): Promise<WebAnswer> {
    const source = sourceOf(request);
    const { held, ...shown } = await waiting(source);
    if (request.form.get(SHOWN) !== waitingMark({ held, ...shown })) {
      const text = 'What waits for your decision has changed since the page was loaded, so nothing was refused.';
      return { type: 'redirect', to: acceptPath(source), notice: { text, tone: 'warn' } };
    }
    const by = request.person.name;
    const runs = held === null ? [] : [held.runId];
    const run = await runtime.held.refuse(source, { by, at: clock.now(), runs });
    const refused = await runtime.ledger.refuse({ source, by });
    const texts = [
      ...(refused.length === 0
        ? []
        : [
            `The export of ${source} is refused: what was there stays. Nobody is asked again until an export lacks more.`,
          ]),
      ...(run === null
        ? []
        : [
            `Run ${run.runId} of ${source} is refused: nothing of it is stored. Nobody is asked again until a run would do something else.`,
          ]),
    ];
    const notice: Notice =
      texts.length === 0
        ? { text: `Nothing of ${source} waits for a decision, so nothing was refused.`, tone: 'warn' }
        : { text: texts.join(' '), tone: 'good' };
    return { type: 'redirect', to: acceptPath(source), notice };
  }

  async function stop(request: WebRequest): Promise<WebAnswer> {
    const source = sourceOf(request);
    const run = numberOf(request.form, 'run');
    const isMeant = run === undefined || (await presentRun(source)) === run;
    const what =
      run === undefined ? `No run of ${source} is in progress.` : `Run ${run} of ${source} has already ended.`;
    const notice: Notice =
      isMeant && runtime.stopRun(source)
        ? { text: `The run of ${source} ends after the page that it reads now.`, tone: 'good' }
        : { text: `${what} Nothing was stopped.`, tone: 'warn' };
    return { type: 'redirect', to: '/runs', notice };
  }

  return [
    get('/runs', 'viewer', list, { fields: LIST_FIELDS }),
    get('/runs/accept', 'operator', acceptForm),
    get('/runs/gone.csv', 'operator', (request) => goneFile(request, 'csv'), { fields: GONE_FIELDS }),
    get('/runs/gone.xlsx', 'operator', (request) => goneFile(request, 'xlsx'), { fields: GONE_FIELDS }),
    get('/runs/held.jsonl', 'operator', heldPlan, { fields: HELD_FIELDS }),
    get('/runs/:id', 'viewer', one),
    form('/runs/start', syncSources, start, { action: 'run.start' }),
    form('/runs/stop', stopRun, stop),
    form('/runs/accept', syncSources, acceptShown, { action: 'export.accept', subject: heldRun }),
    form('/runs/refuse', refuseGuarded, refuseShown, { subject: heldRun }),
  ];
}

/** The columns of a file with what is gone that its rows do not have. */
const PRODUCTS_COLUMN = 'dpp-sync: products that use it';
const COUNT_COLUMN = 'dpp-sync: how many products';
const PUBLIC_COLUMN = 'dpp-sync: how many are public';
const GONE_COLUMNS = [COUNT_COLUMN, PUBLIC_COLUMN, PRODUCTS_COLUMN];
const GONE_PAGE = 200;

async function* gonePages(
  reads: Reads,
  asked: { source: string; stream: string; of: 'lost' | 'released' },
  abort: AbortSignal,
): AsyncGenerator<JsonObject[]> {
  let afterId: number | null = 0;
  while (afterId !== null) {
    abort.throwIfAborted();
    const { rows, lastId }: GoneRows = await reads.goneRows({ ...asked, afterId, limit: GONE_PAGE });
    yield rows.map(({ fields, products, productCount, publicCount }) => {
      const more = productCount - products.length;
      const named = `${products.join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
      return { ...fields, [COUNT_COLUMN]: productCount, [PUBLIC_COLUMN]: publicCount, [PRODUCTS_COLUMN]: named };
    });
    afterId = lastId;
  }
}

const ALL = { path: runsPath(), name: 'All runs' };
const GONE_FILTER = { values: ['lost', 'released'] as const, all: ALL };
const GONE_FIELDS = { names: ['source', 'stream', 'of'], all: ALL };
const HELD_FIELDS = { names: ['source'], all: ALL };
const RESULT_FILTER = { values: RUN_RESULTS, all: ALL };
const LIST_FIELDS = { names: ['source', 'stream', 'result', 'after'], all: ALL };

/** @throws WebFault for an unknown result */
function filterOf(query: URLSearchParams): RunFilter {
  const result = filterValue(query, 'result', RESULT_FILTER);
  return { source: query.get('source') || undefined, stream: query.get('stream') || undefined, result };
}
