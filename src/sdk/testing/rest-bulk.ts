import type { JsonObject, JsonValue } from '../../lib/json.ts';
import type { ApiPaging, ApiRequest } from './rest-api.ts';
import { withValue } from './rest-api.ts';
import type { ApiReply } from './rest-behaviour.ts';
import type { PageParts } from './rest-paging.ts';

export type BulkPaging = ApiPaging & { by: 'bulkJob' };

const JOB = 'kit-job-1';
const FILE = '/kit-file.jsonl';

/** Bulk jobs have files at addresses that need no login. */
export const isFile = ({ path }: Pick<ApiRequest, 'path'>): boolean => path === FILE;

/** True for a request that asks how the job stands. */
export const asksState = ({ status }: BulkPaging, request: Pick<ApiRequest, 'path' | 'body'>): boolean =>
  typeof status === 'string' ? request.path.startsWith(status) : status(request);

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
  const parts: PageParts = {
    rows: [...rows],
    next: `${base}${FILE}`,
    more: false,
    total: rows.length,
    deltaSince: null,
  };
  edit?.(parts, number);
  if (isFile(request)) return { text: parts.rows.map((row) => `${JSON.stringify(row)}\n`).join('') };
  if (!asksState(page, request)) return { document: withValue(null, page.job, JOB) };
  let document: JsonValue = withValue(null, page.state, parts.more === true ? 'KIT_FAILED' : page.done);
  if (parts.next !== null) document = withValue(document, page.result, parts.next);
  if (page.count !== undefined && parts.total !== undefined) document = withValue(document, page.count, parts.total);
  return { document };
}
