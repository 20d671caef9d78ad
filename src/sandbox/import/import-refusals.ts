import type { JsonValue } from '../../lib/json.ts';
import { type Answer, refusal } from '../api/answer.ts';
import { nginxPage } from '../api/nginx-page.ts';
import type { ImportSettings } from '../settings/import-settings.ts';
import type { BadRow, GoodRow } from './import-rows.ts';

/** The answer to an import whose body is too large; undefined if it is not. */
export function refuseBytes(
  bodyText: string,
  { bytesMax, bytesMaxAnswer }: Pick<ImportSettings, 'bytesMax' | 'bytesMaxAnswer'>,
): Answer | undefined {
  if (bytesMax === null || Buffer.byteLength(bodyText) <= bytesMax) return undefined;
  const refused = refusal(413, 'Request entity too large.');
  return bytesMaxAnswer === 'nginx' ? { ...refused, document: nginxPage(413, 'Request Entity Too Large') } : refused;
}

/** The answer to an import with too many rows. `invalid` is the answer that the validation of the body has given. */
export function refuseRowCount(invalid: Answer, { rowsMax, rowsMaxStatus }: ImportSettings): Answer {
  if (rowsMaxStatus === 413) return refusal(413, `Request entity too large: an import has at most ${rowsMax} rows.`);
  return { ...invalid, status: rowsMaxStatus };
}

/**
 * Refuses an import because of its bad rows, in the form of Django REST Framework: a list with `{}` for each good row.
 * The list is at the same place in the answer as the rows in the request.
 */
export function refuseAll(
  rows: readonly (GoodRow | BadRow)[],
  { named, bare }: { named: boolean; bare: boolean },
): Answer {
  if (!named) return refusal(400, 'Invalid input.');
  const errors: JsonValue = rows.map((row) => (row.status === 'failed' ? row.errors : {}));
  return { status: 400, body: bare ? errors : { products: errors } };
}
