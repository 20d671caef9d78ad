import { Readable } from 'node:stream';

/** A request to a REST source and its answer, as `dpp-sync connector record` stores them. */
export interface Exchange {
  request: {
    method: string;
    /** The scheme and the host of the server. In a recording it is `RECORDED_ORIGIN`. */
    origin: string;
    /** The path and the query. */
    path: string;
    /** The text of the body; empty without one. */
    body: string;
  };
  answer: {
    status: number;
    /** Names in lower case. */
    headers: Record<string, string>;
    body: string;
  };
}

/** The address of each server in a recording. */
export const RECORDED_ORIGIN = 'https://recorded.invalid';

/** The headers of an answer on which a connector may depend. Others are not recorded. */
const HEADERS_KEPT =
  /^(?:content-type|date|age|link|retry-after|location|preference-applied|odata-version|dataserviceversion|x-.*(?:total|page|cursor|limit|remaining|reset).*)$/;

export function headersToRecord(
  headers: Readonly<Record<string, string | string[] | undefined>>,
): Record<string, string> {
  const kept: Record<string, string> = {};
  for (const [name, value] of Object.entries(headers)) {
    if (value !== undefined && HEADERS_KEPT.test(name)) kept[name] = [value].flat().join(', ');
  }
  return kept;
}

/** How much of a file is recorded. */
const RECORDED_BYTES_MAX = 5_000_000;

/** A file that becomes an exchange when it was read. Of a long one, the first lines are recorded. */
export function recordedFile(
  file: Readable,
  { origin, pathname, search }: URL,
  onExchange: (exchange: Exchange) => void,
): Readable {
  return Readable.from(
    (async function* () {
      const chunks: Buffer[] = [];
      let bytes = 0;
      try {
        for await (const chunk of file as AsyncIterable<Buffer>) {
          if (bytes < RECORDED_BYTES_MAX) chunks.push(chunk);
          bytes += chunk.length;
          yield chunk;
        }
      } finally {
        const text = Buffer.concat(chunks).toString();
        const body = bytes < RECORDED_BYTES_MAX ? text : text.slice(0, text.lastIndexOf('\n') + 1);
        const request = { method: 'GET', origin, path: `${pathname}${search}`, body: '' };
        onExchange({ request, answer: { status: 200, headers: {}, body } });
      }
    })(),
    { objectMode: false },
  );
}

/** What `dpp-sync connector record` writes for a stream: the requests of its reads with their answers, in order. */
export interface Recording {
  stream: string;
  /** A complete read, or its first pages. */
  snapshot: Exchange[];
  /** A read of the changes since then, for a stream that has changes. */
  changes: Exchange[];
}
