import { PassThrough } from 'node:stream';
import type { PlatformHandler } from '../../admin/handler.ts';
import { createPlatformAdmin } from '../../admin/platform-admin.ts';
import type { PlatformRequests } from '../../delivery/platform-requests.ts';

/**
 * Runs a handler that writes a document, and gives its bytes as they come. The handler waits for a slow reader.
 *
 * @param check throws where the handler's result says that the document is none, or is not whole
 * @returns once the first bytes are there, so that a failure before them is an answer of its own. A failure after them ends the
 *   document in an error, which the reader sees as a broken connection and never as a whole document.
 * @throws what the handler or the check throws before the first byte
 */
export async function handlerBytes<Request, Result>(
  handler: PlatformHandler<Request, Result>,
  request: Request,
  { platform, abort, check }: { platform: PlatformRequests; abort: AbortSignal; check: (result: Result) => void },
): Promise<AsyncIterable<Uint8Array>> {
  const stream = new PassThrough();
  // The error reaches the reader of the stream, or is thrown below.
  stream.on('error', () => undefined);
  const begun = new Promise<void>((resolve) => {
    stream.once('readable', resolve);
  });
  const stop = new AbortController();
  stream.once('close', () => stop.abort());
  const admin = createPlatformAdmin({ platform, abort: AbortSignal.any([abort, stop.signal]) });
  const onBytes = (chunk: Uint8Array) =>
    new Promise<void>((resolve, reject) => {
      stream.write(chunk, (error) => (error ? reject(error) : resolve()));
    });
  const ended = admin.run(handler, request, { onBytes }).then((result) => {
    check(result);
    stream.end();
  });
  ended.catch((error: unknown) => stream.destroy(error instanceof Error ? error : new Error(String(error))));
  await Promise.race([begun, ended]);
  return stream;
}
