import { isJsonObject, type JsonObject, type JsonValue, setMember } from '../../lib/json.ts';
import { sourceFault } from '../connector.ts';
import { formatDocumentPath, listAt, valueAt } from '../document-path.ts';
import { successorIn } from './pages.ts';
import { MissingValue } from './placeholders.ts';
import { filled, incomplete, type RestRead } from './read-pass.ts';
import type { RestRequest } from './rest-client.ts';
import type { RestEach } from './rest-options.ts';

/** The rows that come from one row of the list. */
export interface ChildRows {
  /** The row itself, with the answer as a member, or the rows of the answer. */
  rows: JsonValue[];
  /** The server did not have the object that the row names. */
  isAbsent: boolean;
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
  const what = `${request.url.pathname} of ${name}`;
  const answer = await client.request({ ...request, what, onError: stream.onError, accepts: [404, 410] }, signal);
  if (answer.status >= 400) return { rows: [row], isAbsent: true };
  const successor = successorIn(answer);
  if (successor !== null) {
    throw incomplete(
      `The answer for ${what} has another page in ${successor}, and \`each\` reads one.`,
      'Ask for more rows in one answer, or read these rows as a stream of their own.',
    );
  }
  if (each.into !== undefined) {
    const value = each.rows.length === 0 ? answer.document : valueAt(answer.document, each.rows);
    const fields = { ...row };
    setMember(fields, each.into, value ?? null);
    return { rows: [fields], isAbsent: false };
  }
  const list = listAt(answer.document, each.rows);
  if (list === undefined) {
    throw sourceFault(`The answer for ${what} has no list at ${formatDocumentPath(each.rows)}.`, {
      suggestion: 'Correct `each.rows` of the stream, or the request of `each`.',
    });
  }
  const parent = parentValues(each, row);
  const rows = list.map((child): JsonValue => {
    if (!isJsonObject(child)) return child;
    const fields = { ...child };
    for (const [column, value] of parent) setMember(fields, column, value);
    return fields;
  });
  return { rows, isAbsent: false };
}
