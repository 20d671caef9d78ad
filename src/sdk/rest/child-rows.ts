import { isJsonObject, type JsonObject, type JsonValue, setMember } from '../../lib/json.ts';
import { sourceFault } from '../connector.ts';
import { formatDocumentPath, listAt, valueAt } from '../document-path.ts';
import { shownMembers } from './page-places.ts';
import { successorIn, totalIn } from './pages.ts';
import { MissingValue } from './placeholders.ts';
import { filled, incomplete, type RestRead } from './read-pass.ts';
import type { RestAnswer, RestRequest } from './rest-client.ts';
import type { RestEach } from './rest-options.ts';
import { signOfMore } from './signs-of-more.ts';

/** The rows that come from one row of the list. */
export interface ChildRows {
  /** The row itself, with the answer as a member, or the rows of the answer. */
  rows: JsonValue[];
  /** Why the parts of the row are unknown; null if they are known. */
  lack: string | null;
}

type Request = Pick<RestRequest, 'method' | 'url' | 'body' | 'headers'>;

/** The request for the children of a row. @throws a `sourceFault` if the row lacks a value of it */
export function childRequest(read: RestRead, each: RestEach, row: JsonObject): Request {
  try {
    return filled(each, { row }, read.client);
  } catch (error) {
    if (!(error instanceof MissingValue)) throw error;
    throw sourceFault(
      `A row of ${read.name} has no value for {{${error.placeholder}}} of \`each\`: ${JSON.stringify(row).slice(0, 200)}.`,
      {
        suggestion: 'Correct the placeholder, or request the member with the rows.',
      },
    );
  }
}

/** The columns that children get from the row for which they are requested. */
export function parentValues({ parent }: RestEach, row: JsonObject): [column: string, value: JsonValue][] {
  return Object.entries(parent).map(([column, path]) => [column, valueAt(row, path) ?? null]);
}

/** Requests the children of one row. */
export async function readChildren(read: RestRead, each: RestEach, row: JsonObject): Promise<ChildRows> {
  const { client, name, stream, signal } = read;
  const request = childRequest(read, each, row);
  const what = `${request.url.pathname} (\`each\` of ${name})`;
  const answer = await client.request({ ...request, what, onError: stream.onError, accepts: [404, 410] }, signal);
  if (answer.status >= 400) {
    return {
      rows: [row],
      lack: `The server does not have the object that this row names (${answer.status}), so its parts are unknown.`,
    };
  }
  const successor = successorIn(answer);
  if (successor !== null) {
    throw incomplete(
      `The answer for ${what} has another page in ${successor}, and \`each\` reads one.`,
      'Ask for more rows in one answer, or read these rows as a stream of their own.',
    );
  }
  const list = listAt(answer.document, each.rows);
  if (list !== undefined) assertWhole(list.length, { each, answer, what });
  if (each.into !== undefined) {
    const value = list ?? (each.rows.length === 0 ? answer.document : valueAt(answer.document, each.rows));
    const fields = { ...row };
    setMember(fields, each.into, value ?? null);
    const lack = `The answer for the parts of this row has nothing at ${formatDocumentPath(each.rows)}, so they are unknown. It has ${shownMembers(answer.document)}.`;
    return { rows: [fields], lack: value === undefined ? lack : null };
  }
  if (list === undefined) {
    throw sourceFault(
      `The answer for ${what} has no list at ${formatDocumentPath(each.rows)}. It has ${shownMembers(answer.document)}.`,
      { suggestion: 'Correct `each.rows` of the stream, or the request of `each`.' },
    );
  }
  const parent = parentValues(each, row);
  const rows = list.map((child): JsonValue => {
    if (!isJsonObject(child)) return child;
    const fields = { ...child };
    for (const [column, value] of parent) setMember(fields, column, value);
    return fields;
  });
  return { rows, lack: null };
}

/** @throws a `sourceFault` if an answer does not have all children of a row */
function assertWhole(
  count: number,
  { each, answer, what }: { each: RestEach; answer: RestAnswer; what: string },
): void {
  const { size, total, rows } = each;
  const part = (reason: string) =>
    incomplete(
      `The answer for ${what} ${reason}, and \`each\` reads one answer.`,
      'Ask for more rows in one answer, or read these rows as a stream of their own.',
    );
  if (size !== undefined && count >= size) throw part(`has ${count} rows, which is a full page`);
  const stated = totalIn(answer, total, what, '`each.total`');
  if (stated !== null && stated !== count) throw part(`has ${count} rows, and the server states ${stated}`);
  if (total !== undefined && stated === null) {
    throw incomplete(
      `The answer for ${what} does not state the number of all rows, so nothing shows that it is whole.`,
      'Correct `each.total` of the stream, or the parameter with which the API states the number.',
    );
  }
  const counts = size === undefined && total === undefined;
  const sign = signOfMore(answer.document, rows, { count, counts });
  if (sign === null) return;
  throw incomplete(
    `The answer for ${what} has ${count} rows, and more rows seem to exist because of ${sign}. \`each\` reads one answer.`,
    'Ask for more rows in one answer, or read these rows as a stream of their own. If a number has another meaning, write `size` or `total` in `each`.',
  );
}
