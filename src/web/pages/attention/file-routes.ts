import { randomBytes } from 'node:crypto';
import { dialectOf } from '../../../daemon/sources/open-source.ts';
import {
  type CorrectionFate,
  type CorrectionPlan,
  type PlannedRow,
  planCorrections,
  REASON_COLUMN,
  withoutReason,
} from '../../../daemon/uploads/plan-corrections.ts';
import { readUpload } from '../../../daemon/uploads/read-upload.ts';
import type { Cause } from '../../../domain/ports/ledger/dashboard-views.ts';
import type { Clock } from '../../../lib/clock.ts';
import { correctRows } from '../../../operations/corrections.ts';
import { type Html, html } from '../../html.ts';
import { card, confirmForm, dataTable, pageHead } from '../../parts.ts';
import {
  form,
  get,
  type PageContext,
  post,
  type Route,
  startTask,
  type WebAnswer,
  type WebRequest,
} from '../../server/route.ts';
import { counted } from '../../shown-values.ts';
import { tableDownload } from '../../table-files.ts';
import { badRequest, notFound } from '../../web-fault.ts';
import { causePath } from '../links.ts';
import { columnsOf, keysOf, noUploadReason, rowsOf, targetOf } from './causes.ts';

/** The largest file that is accepted. */
const UPLOAD_BYTES_MAX = 16 * 1024 * 1024;

/** The routes for downloading the rows of a cause and for uploading the corrected file. */
export function fileRoutes({ runtime, reads, tasks, clock, log }: PageContext): Route[] {
  const uploads = createUploads(clock);

  async function causeOf({ params }: WebRequest): Promise<Cause> {
    const cause = await reads.cause(params['id'] ?? '');
    if (cause === null) throw notFound('Nothing is stuck for this cause any more.');
    return cause;
  }

  async function download(request: WebRequest, format: 'csv' | 'xlsx'): Promise<WebAnswer> {
    const cause = await causeOf(request);
    const target = await targetOf(cause, runtime, request.abort);
    if (target === null) throw notFound('There are no rows of one stream of the config.');
    const { source, stream } = target;
    const rows = () => rowsOf(cause.id, target, runtime, request.abort);
    const columns = [...(await columnsOf(rows())), REASON_COLUMN];
    const about = [source.id, stream, cause.code, cause.field].filter((part) => part !== null);
    return tableDownload(about, columns, rows(), { format, dialect: dialectOf(source, stream) });
  }

  function uploadOf({ params, person }: WebRequest): Upload {
    const upload = uploads.get(params['upload'] ?? '');
    if (upload === null || upload.cause !== params['id'] || upload.who !== person.name) {
      throw notFound(
        'This upload is no longer kept: it was stored, it has waited for more than half an hour, newer uploads have replaced it, or the daemon was started again. Upload the file again if its rows are still stuck.',
      );
    }
    return upload;
  }

  async function upload(request: WebRequest): Promise<WebAnswer> {
    const { file, person, abort } = request;
    if (file === null || file.bytes.length === 0) throw badRequest('Choose a file that is not empty.');
    const cause = await causeOf(request);
    const target = await targetOf(cause, runtime, abort);
    const reason = noUploadReason(target);
    if (target === null || reason !== null) throw badRequest(reason ?? '');
    const { source, stream, key } = target;
    const rows = (await readUpload(file, { source, stream, log, signal: abort })).map(withoutReason);
    const mapper = await runtime.mappers.refresh(source.id);
    const isTable = source.connector.fixedColumns === true;
    const uploaded = rows.map(({ fields }) => fields);
    const members = await keysOf(cause.id, { target, uploaded }, runtime, abort);
    const asked = { source: source.id, stream, key, omit: source.omit, isTable, rows, members };
    const plan = await planCorrections(asked, { ledger: runtime.ledger, mapper });
    const kept = uploads.add({
      cause: cause.id,
      source: source.id,
      stream,
      fileName: file.name,
      who: person.name,
      plan,
    });
    return { type: 'redirect', to: `${causePath(cause.id)}/uploads/${kept.id}` };
  }

  async function confirm(request: WebRequest): Promise<WebAnswer> {
    const { source, stream, fileName, plan } = uploadOf(request);
    if (plan.corrections.length === 0) throw badRequest('Nothing in the file differs from what is stored.');
    const title = `Storing ${counted(plan.corrections.length, 'corrected row')} of ${source}/${stream} from ${fileName}`;
    const asked = { source, stream, rows: plan.corrections };
    const answer = await startTask(tasks, correctRows, asked, { person: request.person, title });
    uploads.take(request.params['upload'] ?? '');
    return answer;
  }

  return [
    get('/attention/:id/rows.csv', 'viewer', (request) => download(request, 'csv'), { fields: { names: [] } }),
    get('/attention/:id/rows.xlsx', 'viewer', (request) => download(request, 'xlsx'), { fields: { names: [] } }),
    post('/attention/:id/upload', 'editor', 'rows.upload', upload, { bodyBytesMax: UPLOAD_BYTES_MAX }),
    get('/attention/:id/uploads/:upload', 'editor', async (request) => {
      const kept = uploadOf(request);
      return { type: 'page', title: `Upload of ${kept.fileName}`, at: '/attention', body: uploadPage(kept, request) };
    }),
    form('/attention/:id/uploads/:upload', correctRows, confirm, { action: 'rows.store' }),
  ];
}

/** A corrected file that a person has uploaded but not yet confirmed. */
interface Upload {
  id: string;
  cause: string;
  source: string;
  stream: string;
  fileName: string;
  /** The person who has uploaded the file. Only this person may confirm it. */
  who: string;
  plan: CorrectionPlan;
}

const UPLOADS_MAX = 10;
const KEPT_MS = 30 * 60_000;

/**
 * The uploads that wait in memory for a person's confirmation. Their number and their age are bounded (I9). Nothing is
 * stored before the confirmation.
 */
function createUploads(clock: Clock) {
  const kept = new Map<string, { upload: Upload; at: number }>();

  function get(id: string): Upload | null {
    const found = kept.get(id);
    return found === undefined || clock.ticks() - found.at > KEPT_MS ? null : found.upload;
  }

  return {
    add(given: Omit<Upload, 'id'>): Upload {
      const upload = { ...given, id: randomBytes(16).toString('hex') };
      kept.set(upload.id, { upload, at: clock.ticks() });
      for (const [id, { at }] of kept) {
        if (kept.size > UPLOADS_MAX || clock.ticks() - at > KEPT_MS) kept.delete(id);
      }
      return upload;
    },
    get,
    /** Removes and returns an upload, so that it is confirmed only once. */
    take(id: string): Upload | null {
      const upload = get(id);
      kept.delete(id);
      return upload;
    },
  };
}

const ROWS_SHOWN = 300;
const VALUE_CHARACTERS = 60;
const NO_DIFFERENCE = 'Nothing in the file differs from what is stored, so there is nothing to do.';

const FATES: Record<CorrectionFate, { name: string; tone: string; order: number }> = {
  refused: { name: 'not stored', tone: 'bad', order: 0 },
  fails: { name: 'still fails', tone: 'warn', order: 1 },
  excluded: { name: 'excluded by the mapping', tone: 'idle', order: 2 },
  passes: { name: 'passes', tone: 'good', order: 3 },
  unchanged: { name: 'unchanged', tone: 'idle', order: 4 },
};

/** The page that shows the changes of each row of an uploaded file, before anything is stored. */
function uploadPage(upload: Upload, request: { csrf: string }): Html {
  const { plan, fileName, source, stream, cause } = upload;
  const count = (fate: CorrectionFate) => plan.rows.filter((row) => row.fate === fate).length;
  const counts = (Object.keys(FATES) as CorrectionFate[])
    .filter((fate) => count(fate) > 0)
    .map(
      (fate) =>
        html`<li><span class="badge ${FATES[fate].tone}">${FATES[fate].name}</span> ${counted(count(fate), 'row')}</li>`,
    );
  const stored = plan.corrections.length;
  const shown = [...plan.rows].sort((a, b) => FATES[a.fate].order - FATES[b.fate].order).slice(0, ROWS_SHOWN);
  const rest = plan.rows.length - shown.length;
  return html`${pageHead(`What ${fileName} would change`)}
${card(null, [
  html`<ul class="standing">${counts}</ul>`,
  plan.unknownColumns.length === 0
    ? null
    : html`<p class="warn">The stream ${source}/${stream} has no column ${plan.unknownColumns.join(', ')}. The values in these columns are not stored.</p>`,
  stored === 0
    ? html`<p>${count('refused') === 0 ? NO_DIFFERENCE : 'There is nothing that can be stored.'} <a href="${causePath(cause)}">Back to the cause</a></p>`
    : html`${confirmForm(request, { action: `${causePath(cause)}/uploads/${upload.id}`, button: `Store ${counted(stored, 'row')}` })}
<p class="quiet">These rows replace the rows of ${source}/${stream} with the same key, and are mapped and sent. If the next export of the source still has the old rows, they replace the uploaded rows.</p>`,
])}
${card('Rows', [
  dataTable({
    caption: 'Rows of the file',
    columns: [
      { name: 'key' },
      { name: 'line', number: true },
      { name: 'what happens' },
      { name: 'changes' },
      { name: 'why' },
    ],
    rows: shown.map(rowCells),
  }),
  rest > 0 ? html`<p class="quiet">${counted(rest, 'further row')} ${rest === 1 ? 'is' : 'are'} not shown.</p>` : null,
])}`;
}

function rowCells({ key, line, fate, changes, problems }: PlannedRow) {
  const { name, tone } = FATES[fate];
  const changed = changes.map(
    ({ column, from, to }) => html`<li><span class="mono">${column}</span>: ${value(from)} → ${value(to)}</li>`,
  );
  return [
    html`<span class="key">${key ?? '(no key)'}</span>`,
    line,
    html`<span class="badge ${tone}">${name}</span>`,
    changed.length === 0 ? null : html`<ul class="plain">${changed}</ul>`,
    problems.join(' '),
  ];
}

function value(text: string): Html {
  if (text === '') return html`<span class="quiet">(empty)</span>`;
  return html`<code>${text.length > VALUE_CHARACTERS ? `${text.slice(0, VALUE_CHARACTERS)}…` : text}</code>`;
}
