import { isJsonObject, type JsonObject, type JsonValue, setMember } from '../../lib/json.ts';
import { sourceFault } from '../connector.ts';
import { formatDocumentPath, type PathStep, valueAt } from '../document-path.ts';
import { type JoinedLists, joinedLists } from './joined-lists.ts';
import { listMissing, shownMembers } from './page-places.ts';
import { totalIn } from './pages.ts';
import { MissingValue } from './placeholders.ts';
import { filled, incomplete, type RestRead } from './read-pass.ts';
import { repeatedInRows } from './repeated-in-rows.ts';
import type { RestAnswer, RestRequest } from './rest-client.ts';
import type { RestEach } from './rest-options.ts';
import { signOfMore, successorIn } from './signs-of-more.ts';

/** A row that comes from a row of the list: that row, with the answer as a member, or a row of the answer. */
export interface ChildRow {
  fields: JsonValue;
  /** Why its parts are unknown; null if they are known. */
  lack: string | null;
  /** A name that an object in it has twice; null if there is none. */
  repeated: string | null;
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
export async function readChildren(read: RestRead, each: RestEach, row: JsonObject): Promise<ChildRow[]> {
  const { client, name, stream, signal } = read;
  const request = childRequest(read, each, row);
  const what = `${request.url.pathname} (\`each\` of ${name})`;
  const answer = await client.request({ ...request, what, onError: stream.onError, accepts: [404, 410] }, signal);
  if (answer.status >= 400) {
    const lack = `The server does not have the object that this row names (${answer.status}), so its parts are unknown.`;
    return [{ fields: row, lack, repeated: null }];
  }
  const successor = successorIn(answer);
  if (successor !== null) {
    throw incomplete(
      `The answer for ${what} has another page in ${successor}, and \`each\` reads one.`,
      'Ask for more rows in one answer, or read these rows as a stream of their own.',
    );
  }
  const list = joinedLists(answer.document, each.rows);
  if (list !== undefined) assertWhole(list, { each, answer, what });
  if (each.into !== undefined) return [withMember(row, { into: each.into, rows: each.rows, answer, list })];
  if (list === undefined) {
    throw sourceFault(`The answer for ${what} ${listMissing(answer.document, each.rows)}`, {
      suggestion: 'Correct `each.rows` of the stream, or the request of `each`.',
    });
  }
  const parent = parentValues(each, row);
  const inRows = repeatedInRows(answer, list.rows, { what, fail: incomplete });
  return list.rows.map((child) => {
    const lack = list.lacking.has(child) ? LIST_LACKS : null;
    const repeated = inRows.get(child) ?? null;
    if (!isJsonObject(child)) return { fields: child, lack, repeated };
    const fields = { ...child };
    for (const [column, value] of parent) setMember(fields, column, value);
    return { fields, lack, repeated };
  });
}

const LIST_LACKS = 'An element of the answer lacks the list that `each.rows` names, so its rows are unknown.';

/** The row with the answer as a member. */
function withMember(
  row: JsonObject,
  {
    into,
    rows,
    answer: { document, repeated: inAnswer },
    list,
  }: { into: string; rows: readonly PathStep[]; answer: RestAnswer; list: JoinedLists | undefined },
): ChildRow {
  const repeated = inAnswer[0]?.name ?? null;
  const value = list?.rows ?? (rows.length === 0 ? document : valueAt(document, rows));
  const fields = { ...row };
  setMember(fields, into, value ?? null);
  const absent = `The answer for the parts of this row has nothing at ${formatDocumentPath(rows)}, so they are unknown. It has ${shownMembers(document)}.`;
  if (value === undefined) return { fields, lack: absent, repeated };
  return { fields, lack: list !== undefined && list.lacking.size > 0 ? LIST_LACKS : null, repeated };
}

/** @throws a `sourceFault` if an answer does not have all children of a row */
function assertWhole(
  { rows: { length: count }, elements, cut }: JoinedLists,
  { each, answer, what }: { each: RestEach; answer: RestAnswer; what: string },
): void {
  const { size, total, rows } = each;
  const part = (reason: string) =>
    incomplete(
      `The answer for ${what} ${reason}, and \`each\` reads one answer.`,
      'Ask for more rows in one answer, or read these rows as a stream of their own.',
    );
  if (cut !== null)
    throw part(`lacks elements of an inner list of ${formatDocumentPath(rows)}, as its member ${cut} shows`);
  if (size !== undefined && elements >= size) throw part(`has ${elements} rows, which is a full page`);
  const stated = totalIn(answer, total, what, '`each.total`');
  if (stated !== null && stated !== count) throw part(`has ${count} rows, and the server states ${stated}`);
  if (total !== undefined && stated === null) {
    throw incomplete(
      `The answer for ${what} does not state the number of all rows, so nothing shows that it is whole.`,
      'Correct `each.total` of the stream, or the parameter with which the API states the number.',
    );
  }
  const counts = size === undefined && total === undefined;
  const sign = signOfMore(answer, rows, { count: elements, counts });
  if (sign === null) return;
  throw incomplete(
    `The answer for ${what} has ${elements} rows, and more rows seem to exist because of ${sign}. \`each\` reads one answer.`,
    'Ask for more rows in one answer, or read these rows as a stream of their own. If a number has another meaning, write `size` or `total` in `each`.',
  );
}
