import { isDeepStrictEqual } from 'node:util';
import { isJsonObject, type JsonValue } from '../../lib/json.ts';
import { formatPeriod } from '../../lib/text/amounts.ts';
import { type ConnectorHost, type OpenSource, type StreamTarget, sourceFault } from '../connector.ts';
import { formatDocumentPath, valueAt } from '../document-path.ts';
import { asksGraphql, withErrorsOfGraphql } from './graphql-errors.ts';
import { type Asked, type RawPage, type RestRead, rawPages } from './read-pass.ts';
import { readAll, readChanges, withPagesOfChanges } from './read-stream.ts';
import { createRestClient, Unavailable } from './rest-client.ts';
import type { RestSource, RestStream } from './rest-options.ts';
import { formatSince } from './since.ts';
import { isGone } from './tombstones.ts';

const COLUMNS_SHOWN = 12;

/** Opens a REST source. Nothing is requested before a stream is checked or read. */
export function openRestSource<StreamOptions>(
  source: RestSource,
  streamOf: (options: StreamOptions) => RestStream,
  host: ConnectorHost,
): OpenSource<StreamOptions> {
  const { onExchange, log } = host;
  const client = createRestClient(source, {
    onExchange,
    resolvePath: (path) => host.resolvePath(path),
    warn: (text) => log.warn({}, text),
  });
  const readOf = (target: StreamTarget<StreamOptions>): RestRead => {
    const stream = streamOf(target.options);
    assertKey(target, stream);
    return {
      name: target.name,
      stream,
      key: target.key,
      client: asksGraphql(stream) ? withErrorsOfGraphql(client) : client,
      pagesMax: source.limits.pages,
      concurrent: source.limits.concurrent,
      signal: target.signal,
    };
  };
  return {
    async check(target) {
      target.signal.throwIfAborted();
      return await checkRead(readOf(target));
    },
    async *pull(request) {
      const { signal } = request;
      signal.throwIfAborted();
      const read = readOf(request);
      try {
        for await (const page of request.mode === 'changes' ? readChanges(read, request.cursor) : readAll(read)) {
          signal.throwIfAborted();
          yield page;
        }
      } catch (error) {
        signal.throwIfAborted();
        throw error;
      }
    },
    close: () => client.close(),
  };
}

function assertKey({ name, key }: StreamTarget<unknown>, { changes }: RestStream): void {
  const named = Object.keys(changes?.gone?.key ?? {});
  if (changes?.gone !== undefined && key.length > 0 && !isDeepStrictEqual(new Set(named), new Set(key))) {
    throw sourceFault(
      `The stream ${name} has the key ${key.join(', ')}, and \`changes.gone.key\` names ${named.join(', ')}, so the record that is gone could not be found.`,
      { suggestion: 'Name the same columns in both.' },
    );
  }
  if (key.length > 0) return;
  throw sourceFault(`The stream ${name} has no \`key\`, so rows that move from page to page could not be recognised.`, {
    suggestion: 'Name the columns that identify a row, such as `key: [id]`.',
  });
}

/** Requests the first page, and shows what it has. */
async function checkRead(read: RestRead) {
  const { stream, name } = read;
  const { changes, reconcile } = stream;
  const asked = firstRequest(read);
  if (asked === null) return { found: `a bulk job at ${stream.get || '/'}; it is started by a pull only` };
  for await (const { rows, total, answer } of asked) {
    const columns = [...new Set(rows.flatMap((row) => (isJsonObject(row) ? Object.keys(row) : [])))];
    const shown = columns.slice(0, COLUMNS_SHOWN).join(', ');
    const more = columns.length > COLUMNS_SHOWN ? ', …' : '';
    const of = total === null ? '' : ` of ${total}`;
    const count = `${rows.length}${of} rows on the first page`;
    const into = stream.each?.into === undefined ? [] : [stream.each.into];
    const hasOwn = stream.each === undefined || into.length > 0;
    const missing = hasOwn && rows.length > 0 ? read.key.filter((column) => !columns.includes(column)) : [];
    const warnings = [
      ...missing.map((column) => `The rows of ${name} have no ${column}, which \`key\` names.`),
      ...(changes?.blindTo ?? []).map((what) => `The changes of ${name} do not show ${what}.`),
      ...(changes !== undefined && reconcile !== undefined && (changes.blindTo ?? []).length > 0
        ? [`The complete read of every ${formatPeriod(reconcile)} shows it.`]
        : []),
      ...(changes !== undefined &&
      'by' in changes &&
      rows.length > 0 &&
      rows.every((row) => valueAt(row, changes.by) === undefined)
        ? [`The rows of ${name} have no ${formatDocumentPath(changes.by)}, which \`changes.by\` names.`]
        : []),
      ...weakProof(read, rows),
      ...(rows.length > 0 && rows.every((row) => isGone(read, row))
        ? [`Every row on the first page of ${name} counts as gone. Check \`changes.gone.at\`.`]
        : []),
      ...(changes !== undefined && 'by' in changes && answer.headers['date'] === undefined
        ? ['The server sends no header Date, without which changes cannot be read.']
        : []),
    ];
    return {
      found: columns.length === 0 ? count : `${count}, columns ${shown}${more}`,
      ...(hasOwn && columns.length > 0 ? { columns: [...columns, ...into] } : {}),
      ...(warnings.length === 0 ? {} : { warnings }),
    };
  }
  return { found: 'no answer' };
}

/** A warning if the pages of a stream end without anything that a cut read would contradict. */
function weakProof({ name, stream: { page } }: RestRead, rows: readonly JsonValue[]): string[] {
  if (page.by === 'bulkJob' || page.total !== undefined) return [];
  const cure = 'so that a read that was cut off is noticed.';
  if (page.by === 'keyset' && rows.some((row) => typeof valueAt(row, page.after) === 'string')) {
    return [
      `Only the server knows the order of the texts at ${formatDocumentPath(page.after)}. Check that the request of ${name} sorts by them, or declare \`page.total\`, ${cure}`,
    ];
  }
  const isLinked = page.by === 'nextLink' || page.by === 'header' || (page.by === 'cursor' && page.end === 'nullToken');
  if (!isLinked || page.size !== undefined) return [];
  return [
    `Only an answer without a next page shows the end of ${name}. If the API can, declare \`page.size\` or \`page.total\`, ${cure}`,
  ];
}

/** A time before all changes, with which a request for changes gives any rows. */
const LONG_AGO = Date.UTC(1980, 0, 1);

/** The request that shows most about a stream without starting a job; null if there is none. */
function firstRequest(read: RestRead): AsyncIterable<RawPage> | null {
  const { page, changes } = read.stream;
  if (page.by !== 'bulkJob') return pagesOf(read, { kind: 'all' });
  const ofChanges = changes !== undefined && 'by' in changes ? changes : null;
  if (ofChanges?.page === undefined || ofChanges.page.by === 'bulkJob') return null;
  return pagesOf(withPagesOfChanges(read), { kind: 'since', since: formatSince(LONG_AGO, ofChanges) });
}

async function* pagesOf(read: RestRead, asked: Asked): AsyncGenerator<RawPage> {
  try {
    yield* rawPages(read, asked, { count: () => 0, nameOf: () => null });
  } catch (error) {
    throw error instanceof Unavailable ? error.fault : error;
  }
}
