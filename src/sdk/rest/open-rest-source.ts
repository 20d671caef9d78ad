import { isDeepStrictEqual } from 'node:util';
import { type ConnectorHost, type OpenSource, type StreamTarget, sourceFault } from '../connector.ts';
import { refusalIn } from './answer-faults.ts';
import { checkRead } from './check-read.ts';
import type { RestRead } from './read-pass.ts';
import { readAll, readChanges } from './read-stream.ts';
import { createRestClient, type RestClient } from './rest-client.ts';
import type { RestSource, RestStream } from './rest-options.ts';
import { writtenSecrets } from './written-secrets.ts';

/** Opens a REST source. Nothing is requested before a stream is checked or read. */
export function openRestSource<StreamOptions>(
  source: RestSource,
  streamOf: (options: StreamOptions) => RestStream,
  host: ConnectorHost,
): OpenSource<StreamOptions> {
  const { onExchange, hasSecret, log } = host;
  const client = createRestClient(source, {
    onExchange,
    hasSecret,
    resolvePath: (path) => host.resolvePath(path),
    warn: (text) => log.warn({}, text),
  });
  const readOf = (target: StreamTarget<StreamOptions>): RestRead => {
    const stream = streamOf(target.options);
    assertKey(target, stream);
    writtenSecrets(stream).forEach(client.hide);
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

// GraphQL answers 200 to a request of which a part has failed. Then data may be null or a part of the rows, and `errors` says so.

/** True for a stream whose rows or changes come from GraphQL. */
function asksGraphql({ page, changes }: RestStream): boolean {
  const own = changes !== undefined && 'by' in changes ? changes.page : undefined;
  return page.by === 'graphql' || own?.by === 'graphql';
}

/** The same client, for which an answer with `errors` is a failure. Failures that `failure` names are found before. */
function withErrorsOfGraphql(client: RestClient): RestClient {
  return {
    ...client,
    async request(asked, signal) {
      const answer = await client.request(asked, signal);
      const refused = refusalIn(answer.document, [{ at: ['errors'] }]);
      if (refused === null) return answer;
      throw sourceFault(
        `The answer to the request for ${asked.what} has \`errors\`, so data may be missing in it: ${client.clean(refused.text).slice(0, SHOWN_MAX)}`,
        {
          suggestion:
            'Correct the request of the stream. If the server only means that there were too many requests, name its code in `failure.again` of the source.',
        },
      );
    },
  };
}

const SHOWN_MAX = 500;
