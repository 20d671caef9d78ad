// One pass over the rows of a stream: which rows have come before, and the rows that their children give.

import { type Mark, markOf, type SeenTexts } from '../../lib/collections.ts';
import { isJsonObject, type JsonValue } from '../../lib/json.ts';
import { withAnySignal } from '../../lib/with-any-signal.ts';
import { readBulkRows } from './bulk-job.ts';
import { childRequest, parentValues, readChildren } from './child-rows.ts';
import { Shifted } from './page-places.ts';
import {
  type Asked,
  incomplete,
  isUndisturbed,
  keyTextOf,
  type RawPage,
  type RestRead,
  rawPages,
} from './read-pass.ts';
import { type RestAnswer, tooDeep } from './rest-client.ts';
import { isGone } from './tombstones.ts';

/** The rows of a pass, with what they show about its end. */
export interface PassPage {
  rows: PassRow[];
  answer: RestAnswer;
  total: number | null;
  isLast: boolean;
  /** How many different rows the pass has given so far. */
  count: number;
  /** The number of the answer, counted from 1. */
  number: number;
}

interface PassRow {
  fields: JsonValue;
  name: string | null;
  /** How long the row is as JSON. */
  length: number;
  /** What recognises the row of the list; null for one without a name. */
  mark: Mark | null;
  /** The pass has had the row of the list on an earlier page. */
  isRepeated: boolean;
  /** An earlier page has had another row with the same key. */
  isAmbiguous: boolean;
  /** An earlier pass has given the row of the list, or another row of the list has led to the same children. */
  isGiven: boolean;
  /** Why the parts of the row are unknown. */
  lack: string | null;
  /** A name that an object in the row has twice. */
  repeated: string | null;
}

const LIST_LACKS =
  'This element of the answer lacks the list that the path in `rows` of the stream names, so its rows are unknown.';
const NEW_ROW = { isRepeated: false, isAmbiguous: false, isGiven: false };

/**
 * Reads all pages once, and recognises rows that come again on a later page because they have moved. A row that comes again with other
 * content has changed, or it is another record with the same key. Nothing in the answers distinguishes these two.
 *
 * @param given the rows of all passes, of which none is given twice; null for changes, which are given as often as they come
 */
export async function* passOf(
  read: RestRead,
  asked: Asked,
  { seen, given }: { seen: SeenTexts; given: SeenTexts | null },
): AsyncGenerator<PassPage> {
  const { stream } = read;
  const leadsToRows = stream.each !== undefined && stream.each.into === undefined;
  let count = 0;
  let number = 0;
  const raw: AsyncIterable<RawPage> =
    stream.page.by === 'bulkJob'
      ? readBulkRows(read, asked)
      : rawPages(read, asked, { count: () => count, nameOf: (row) => (leadsToRows ? null : nameOf(read, row)) });
  for await (const { rows, answer, total, isLast, lacking, repeated: inRows } of raw) {
    number += 1;
    const own = new Set<string>();
    const listed = rows.map((row): PassRow => {
      const content = jsonOf(row, `page ${number} of ${read.name}`);
      const { length } = content;
      const named = nameOf(read, row);
      const isSecond = named !== null && own.has(named);
      // Two rows of one answer with the same key are no row that has moved, so both are given.
      const name = isSecond && !leadsToRows ? content : named;
      const lack = lacking?.has(row) === true ? LIST_LACKS : null;
      const repeated = inRows?.get(row) ?? null;
      if (name === null) return { fields: row, name, length, mark: null, ...NEW_ROW, lack, repeated };
      own.add(name);
      const mark = markOf(name, content);
      const before = seen.look(mark);
      const earlier = given?.look(mark);
      const isKnown = earlier === 'same' || earlier === 'other';
      const isOther = before === 'other';
      return {
        fields: row,
        name,
        length,
        mark,
        isRepeated: before === 'same' || (isOther && !leadsToRows),
        isAmbiguous: isOther && !leadsToRows,
        isGiven: isKnown || (leadsToRows && (isOther || isSecond)),
        lack,
        repeated,
      };
    });
    count += listed.filter(({ isRepeated }) => !isRepeated).length;
    const isAsked = ({ isRepeated, isGiven }: PassRow) => given === null || !(isRepeated || isGiven);
    for await (const part of withChildren(read, listed, isAsked)) {
      yield { rows: part.rows, answer, total, isLast, count, number };
      // Not before the rows were given: otherwise another pass would leave them out.
      for (const { mark } of part.of) {
        if (mark === null) continue;
        seen.add(mark);
        given?.add(mark);
      }
    }
  }
}

function jsonOf(value: JsonValue, what: string): string {
  try {
    return JSON.stringify(value);
  } catch (error) {
    throw error instanceof RangeError ? tooDeep(what) : error;
  }
}

/** What distinguishes a row of the list: its key, or what its children depend on if they are the rows of the stream. */
function nameOf(read: RestRead, row: JsonValue): string | null {
  const { each } = read.stream;
  if (!isJsonObject(row)) return null;
  // A row without its key is recognised by its content.
  if (each === undefined || each.into !== undefined) return keyTextOf(row, read.key) ?? JSON.stringify(row);
  const { url, body } = childRequest(read, each, row);
  return JSON.stringify([url.href, body ?? null, parentValues(each, row)]);
}

/** Gives the rows of an answer with what `each` requests for them, as many at a time as there are requests at once. */
async function* withChildren(
  read: RestRead,
  listed: readonly PassRow[],
  isAsked: (row: PassRow) => boolean,
): AsyncGenerator<{ rows: PassRow[]; of: readonly PassRow[] }> {
  const { each } = read.stream;
  if (each === undefined) {
    yield { rows: [...listed], of: listed };
    return;
  }
  for (let at = 0; at === 0 || at < listed.length; at += read.concurrent) {
    const of = listed.slice(at, at + read.concurrent);
    const rows = await allOrNone(read.signal, of, async (row, signal): Promise<PassRow[]> => {
      const { fields } = row;
      if (!isJsonObject(fields) || isGone(read, fields) || !isAsked(row)) return [row];
      const children = await readChildren({ ...read, signal }, each, fields);
      return children.map((child) => ({
        ...row,
        ...child,
        repeated: child.repeated ?? row.repeated,
        length: jsonOf(child.fields, read.name).length,
      }));
    });
    yield { rows: rows.flat(), of };
  }
}

/** Does work for each element at once. If it fails for one of them, the work for the others is stopped before the error is thrown. */
async function allOrNone<Element, Result>(
  signal: AbortSignal,
  elements: readonly Element[],
  work: (element: Element, signal: AbortSignal) => Promise<Result>,
): Promise<Result[]> {
  const stop = new AbortController();
  return await withAnySignal([signal, stop.signal], async (any) => {
    const begun = elements.map((element) => work(element, any));
    try {
      return await Promise.all(begun);
    } catch (error) {
      stop.abort(error);
      await Promise.allSettled(begun);
      throw error;
    }
  });
}

/**
 * @param totals the numbers of rows that the answers have stated
 * @throws Shifted if the pass has given another number of different rows than the server states
 */
export function assertTotal(read: RestRead, totals: readonly number[], last: PassPage | null): void {
  const { page } = read.stream;
  if (!('total' in page) || page.total === undefined || last === null || last.answer.status >= 400) return;
  const [first, stated] = [totals[0], totals.at(-1)];
  if (first === undefined || stated === undefined) {
    throw incomplete(
      `The answers for ${read.name} do not state the number of all rows, so nothing shows that the read is complete.`,
      'Correct `page.total` of the stream, or the parameter with which the API states the number.',
    );
  }
  // Beside such a read rows may come and go.
  const [lowest, highest] = isUndisturbed(read.stream)
    ? [Math.min(first, stated), Math.max(first, stated)]
    : [stated, stated];
  if (last.count >= lowest && last.count <= highest) return;
  throw new Shifted(`${last.count} different rows came, and the server states ${stated}`);
}
