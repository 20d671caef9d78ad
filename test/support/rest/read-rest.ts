import type { JsonValue } from '../../../src/lib/json.ts';
import type { Connector, Page, SourceRow } from '../../../src/sdk/index.ts';
import type { Exchange } from '../../../src/sdk/rest/exchange.ts';

/** What a read of a stream gave. */
export interface RestReadResult {
  rows: SourceRow[];
  pages: Page[];
  /** The cursor of the last page. */
  cursor: JsonValue | undefined;
  warnings: string[];
  /** The lines of the log. */
  logged: string[];
  exchanges: Exchange[];
  error: (Error & { suggestion?: string }) | null;
}

/** Reads a stream of a connector as the program does. An error ends the read and is a part of the result. */
export async function readRest(
  connector: Connector,
  { options, stream, key = ['id'] }: { options: object; stream: object; key?: readonly string[] },
  {
    mode = 'snapshot',
    cursor = null,
    onPage,
    hasSecret,
    signal = new AbortController().signal,
  }: {
    mode?: 'snapshot' | 'changes';
    cursor?: JsonValue | null;
    onPage?: (number: number) => void;
    hasSecret?: (text: string) => boolean;
    signal?: AbortSignal;
  } = {},
): Promise<RestReadResult> {
  const logged: string[] = [];
  const note = (fields: object, message: string) => void logged.push(`${message} ${JSON.stringify(fields)}`);
  const log = { debug: note, info: note, warn: note, error: note };
  const exchanges: Exchange[] = [];
  const source = await connector.open(connector.options.parse(options), {
    resolvePath: (path) => path,
    log,
    hasSecret,
    onExchange: (exchange) => void exchanges.push(exchange),
  });
  const pages: Page[] = [];
  let error: RestReadResult['error'] = null;
  try {
    const request = { name: 'items', options: connector.streamOptions.parse(stream), key };
    for await (const page of source.pull({ ...request, mode, cursor, signal })) {
      pages.push(page);
      onPage?.(pages.length);
    }
  } catch (thrown) {
    error = thrown as Error;
  } finally {
    await source.close();
  }
  return {
    rows: pages.flatMap((page) => page.rows),
    pages,
    cursor: pages.at(-1)?.cursor,
    warnings: pages.flatMap((page) => page.warnings ?? []),
    logged,
    exchanges,
    error,
  };
}
