import { isDeepStrictEqual } from 'node:util';
import { type ConnectorHost, type OpenSource, type StreamTarget, sourceFault } from '../connector.ts';
import { checkRead } from './check-read.ts';
import { asksGraphql, withErrorsOfGraphql } from './graphql-errors.ts';
import type { RestRead } from './read-pass.ts';
import { readAll, readChanges } from './read-stream.ts';
import { createRestClient } from './rest-client.ts';
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
