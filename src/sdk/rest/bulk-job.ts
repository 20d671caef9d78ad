// Bulk jobs: the server writes all rows into a file, and its state shows when the file is complete.

import { systemClock } from '../../lib/clock.ts';
import { isJsonObject, type JsonValue, memberOf, parseExactly, repeatedNames } from '../../lib/json.ts';
import { formatPeriod } from '../../lib/text/amounts.ts';
import { sourceFault } from '../connector.ts';
import { formatDocumentPath, valueAt } from '../document-path.ts';
import { textOf } from './placeholders.ts';
import { type Asked, filled, incomplete, type RawPage, type RestRead } from './read-pass.ts';
import { repeatedInRows } from './repeated-in-rows.ts';
import { mergeParts } from './request-parts.ts';
import type { RestAnswer, RestRequest } from './rest-client.ts';
import type { RestPage } from './rest-options.ts';

type BulkPage = RestPage & { by: 'bulkJob' };

const ROWS_AT_ONCE = 500;
const LINE_BYTES_MAX = 16_000_000;

/**
 * Starts a job, waits for its end and reads its file. The end is proved by the state of the job, and by the number of lines if the
 * server states it.
 */
export async function* readBulkRows(read: RestRead, asked: Asked): AsyncGenerator<RawPage> {
  const page = read.stream.page as BulkPage;
  const { started, ended } = await finishedJob(read, page, asked);
  const count = page.count === undefined ? null : countIn(ended, page.count, read.name);
  const address = valueAt(ended.document, page.result) ?? null;
  if (address === null) {
    if (count !== null && count > 0) throw jobFault(read, `is complete and has ${count} lines, and no file`);
    yield { rows: [], answer: started, total: null, isLast: true };
    return;
  }
  if (typeof address !== 'string') throw jobFault(read, `has ${JSON.stringify(address)} as the address of its file`);
  let lines = 0;
  let rows: JsonValue[] = [];
  const repeated = new Map<JsonValue, string>();
  for await (const { line, name } of linesOf(read, address, count === null)) {
    lines += 1;
    if (name !== undefined) repeated.set(line, name);
    const isChild = page.parent !== undefined && isJsonObject(line) && memberOf(line, page.parent) !== undefined;
    if (isChild !== page.children) continue;
    rows.push(line);
    if (rows.length < ROWS_AT_ONCE) continue;
    yield { rows, answer: started, total: null, isLast: false, repeated };
    rows = [];
    repeated.clear();
  }
  if (count !== null && count !== lines) throw jobFault(read, `has ${count} lines, and its file has ${lines}`);
  yield { rows, answer: started, total: null, isLast: true, repeated };
}

function jobFault({ name }: RestRead, what: string): Error {
  return incomplete(
    `The bulk job of ${name} ${what}.`,
    'Pull again. If this happens each time, ask the owner of the API.',
  );
}

async function finishedJob(
  read: RestRead,
  page: BulkPage,
  asked: Asked,
): Promise<{ started: RestAnswer; ended: RestAnswer }> {
  const { stream, client, name, signal } = read;
  const { changes, onError } = stream;
  const more = asked.kind === 'since' && changes !== undefined && 'by' in changes ? changes : null;
  const parts = {
    query: mergeParts(stream.query, more?.query) as typeof stream.query,
    body: mergeParts(stream.body, more?.body) as typeof stream.body,
    headers: mergeParts(stream.headers, more?.headers) as typeof stream.headers,
  };
  const values = asked.kind === 'since' ? { since: asked.since } : {};
  const start = filled({ ...stream, ...parts }, values, client);
  // A repeated start could begin a second job, so a start without an answer is not repeated.
  const ask = async (asked: Omit<RestRequest, 'accepts'>): Promise<RestAnswer> => {
    const answer = await client.request(asked, signal);
    repeatedInRows(answer, [], { what: asked.what, fail: incomplete });
    return answer;
  };
  const started = await ask({ ...start, what: `the bulk job of ${name}`, onError: 'incomplete' });
  const job = valueAt(started.document, page.job) ?? null;
  if (typeof job !== 'string' && typeof job !== 'number') {
    throw sourceFault(
      `The answer to the start of the bulk job of ${name} has no id at ${formatDocumentPath(page.job)}.`,
      {
        suggestion: 'Correct `page.job` of the stream, or its request.',
      },
    );
  }
  const begin = systemClock.ticks();
  for (;;) {
    const request = filled(page.status, { job }, client);
    const answer = await ask({ ...request, what: `the state of the bulk job of ${name}`, onError });
    const state = valueAt(answer.document, page.state) ?? null;
    const text = textOf(state);
    if (page.done.includes(text)) return { started, ended: answer };
    if (!page.running.includes(text)) {
      const reason = page.reason === undefined ? null : (valueAt(answer.document, page.reason) ?? null);
      throw jobFault(read, `has ended with the state ${text}${reason === null ? '' : ` (${textOf(reason)})`}`);
    }
    if (systemClock.ticks() - begin > page.wait)
      throw jobFault(read, `has not ended within ${formatPeriod(page.wait)}`);
    await systemClock.sleep(page.poll, signal);
  }
}

function countIn(answer: RestAnswer, path: NonNullable<BulkPage['count']>, name: string): number | null {
  const text = textOf(valueAt(answer.document, path) ?? null);
  if (/^\d{1,15}$/.test(text)) return Number(text);
  throw sourceFault(`The bulk job of ${name} has ${text} as the number of its lines, at ${formatDocumentPath(path)}.`, {
    suggestion: 'Correct `page.count` of the stream.',
  });
}

interface Line {
  line: JsonValue;
  /** A name that an object in the line has twice. */
  name: string | undefined;
}

/** @param needsLength true if nothing else shows that the file is whole */
async function* linesOf(read: RestRead, address: string, needsLength: boolean): AsyncGenerator<Line> {
  const { client, name, signal } = read;
  const what = `The file of the bulk job of ${name}`;
  const body = await client.openResult(address, { what, needsLength }, signal);
  const decoder = new TextDecoder('utf-8', { fatal: true });
  let number = 0;
  let rest = '';
  const parsed = (text: string): Line => {
    try {
      const line = parseExactly(text);
      return { line, name: repeatedNames(text, line)[0]?.name };
    } catch {
      throw jobFault(read, `has a file whose line ${number} is not JSON`);
    }
  };
  try {
    for await (const chunk of body as AsyncIterable<Buffer>) {
      const lines = `${rest}${decoder.decode(chunk, { stream: true })}`.split('\n');
      rest = lines.pop() ?? '';
      if (rest.length > LINE_BYTES_MAX)
        throw jobFault(read, `has a file with a line of more than ${LINE_BYTES_MAX} characters`);
      for (const line of lines) {
        number += 1;
        if (line.trim() !== '') yield parsed(line);
      }
    }
    rest += decoder.decode();
  } catch (error) {
    signal.throwIfAborted();
    throw client.faultOf(`${what} could not be read to its end`, error);
  } finally {
    body.destroy();
  }
  number += 1;
  if (rest.trim() !== '') yield parsed(rest);
}
