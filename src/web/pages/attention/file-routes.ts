import { dialectOf } from '../../../daemon/sources/stream-dialect.ts';
import { planCorrections, REASON_COLUMN, withoutReason } from '../../../daemon/uploads/plan-corrections.ts';
import { readUpload } from '../../../daemon/uploads/read-upload.ts';
import type { Cause } from '../../../domain/ports/ledger/dashboard-views.ts';
import { correctRows } from '../../../operations/correct-rows.ts';
import { csvFile } from '../../files/csv-file.ts';
import { xlsxFile } from '../../files/xlsx-file.ts';
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
import { badRequest, notFound } from '../../web-fault.ts';
import { causePath } from '../links.ts';
import { columnsOf, keysOf, noUploadReason, rowsOf, targetOf } from './cause-rows.ts';
import { createUploads, type Upload, uploadPage } from './uploads.ts';

/** The largest file that is accepted. */
const UPLOAD_BYTES_MAX = 16 * 1024 * 1024;
const XLSX = 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet';

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
    const about = [source.id, stream, cause.code, cause.field].filter((part) => part !== null).map(fileNamePart);
    const name = `${about.join('-')}.${format}`;
    if (format === 'xlsx') {
      return { type: 'download', name, contentType: XLSX, chunks: xlsxFile(columns, rows()) };
    }
    const dialect = dialectOf(source, stream);
    const contentType = `text/csv; charset=${dialect.encoding}; header=present`;
    return { type: 'download', name, contentType, chunks: csvFile(columns, rows(), dialect) };
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

/** A word of a file's name: letters, digits, `_` and `-`. */
function fileNamePart(text: string): string {
  return text.replaceAll(/[^\p{L}\p{N}_-]+/gu, '-').slice(0, 60);
}
