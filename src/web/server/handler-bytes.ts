import { PassThrough } from 'node:stream';
import type { PlatformHandler } from '../../admin/handler.ts';
import { createPlatformAdmin } from '../../admin/platform-admin.ts';
import type { PlatformRequests } from '../../delivery/platform-requests.ts';

/**
 * Runs a handler that writes a document, and passes on its bytes at once. The handler waits for a slow reader.
 *
 * @param check throws if the handler's result shows that there is no document or only a part of it
 * @returns when the first bytes have arrived, so that a failure before them can get its own answer. After a failure
 *   later, the connection is broken off, so that the reader does not take the document as complete.
 * @throws the error of the handler or the check before the first byte
 */
export async function handlerBytes<Request, Result>(
  handler: PlatformHandler<Request, Result>,
  request: Request,
  { platform, abort, check }: { platform: PlatformRequests; abort: AbortSignal; check: (result: Result) => void },
): Promise<AsyncIterable<Uint8Array>> {
  const stream = new PassThrough();
  // The reader of the stream gets the error, or it is thrown below.
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
