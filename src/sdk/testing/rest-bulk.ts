import type { JsonObject, JsonValue } from '../../lib/json.ts';
import type { ApiPaging, ApiRequest } from './rest-api.ts';
import { withValue } from './rest-api.ts';
import type { ApiReply } from './rest-behaviour.ts';
import type { PageParts } from './rest-paging.ts';

export type BulkPaging = ApiPaging & { by: 'bulkJob' };

const JOB = 'kit-job-1';

/**
 * Answers the requests of a bulk job: its start, its state, its file. In `edit`, `next` is the address of the file, `total` the
 * number of lines, and `more` says that the job has failed.
 */
export function bulkAnswer(
  page: BulkPaging,
  request: ApiRequest,
  {
    base,
    rows,
    page: number,
    edit,
  }: {
    base: string;
    rows: readonly JsonObject[];
    page: number;
    edit: ((parts: PageParts, page: number) => void) | undefined;
  },
): ApiReply {
  const isFile = request.path.startsWith('/kit-file');
  const parts: PageParts = {
    rows: [...rows],
    next: `${base}/kit-file.jsonl`,
    more: false,
    total: rows.length,
    deltaSince: null,
  };
  edit?.(parts, number);
  if (isFile) return { text: parts.rows.map((row) => `${JSON.stringify(row)}\n`).join('') };
  if (!request.path.startsWith(page.status)) return { document: withValue(null, page.job, JOB) };
  let document: JsonValue = withValue(null, page.state, parts.more === true ? 'KIT_FAILED' : page.done);
  if (parts.next !== null) document = withValue(document, page.result, parts.next);
  if (page.count !== undefined && parts.total !== undefined) document = withValue(document, page.count, parts.total);
  return { document };
}
