import type { Readable } from 'node:stream';
import { sourceFault } from '../connector.ts';

/** The bytes with which each file of gzip begins (RFC 1952). */
const GZIP = [0x1f, 0x8b];

/**
 * The text of an answer to the request for `what`.
 *
 * @param fatal false for an answer that reports a failure, which may be in any encoding, because a proxy may have written it
 * @throws a `sourceFault` if the answer is too long, or is no text
 */
export async function textIn(
  stream: Readable,
  { what, bytesMax, fatal }: { what: string; bytesMax: number; fatal: boolean },
): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of stream as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > bytesMax) {
      stream.destroy();
      throw sourceFault(`The answer to the request for ${what} has more than ${bytesMax} bytes.`, {
        suggestion: 'Request smaller pages, or raise `limits.answerBytes` in the options of the source.',
      });
    }
    chunks.push(chunk);
  }
  const all = Buffer.concat(chunks);
  try {
    return new TextDecoder('utf-8', { fatal }).decode(all);
  } catch {
    if (all[0] === GZIP[0] && all[1] === GZIP[1]) {
      throw sourceFault(
        `The answer to the request for ${what} is compressed with gzip, and dpp-sync has asked for a plain one.`,
        { suggestion: 'Let the server or its proxy obey the header `Accept-Encoding: identity`.' },
      );
    }
    throw sourceFault(`The answer to the request for ${what} is not UTF-8.`, {
      suggestion: 'Check that `base` and the path of the stream name an API that answers with JSON.',
    });
  }
}
