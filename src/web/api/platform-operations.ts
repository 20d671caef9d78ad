import { PassThrough } from 'node:stream';
import { z } from 'zod';
import { createPlatformAdmin } from '../../admin/local-admin.ts';
import type { PlatformRequests } from '../../delivery/platform-requests.ts';
import type { Listing } from '../../domain/ports/target.ts';
import type { FileOperation } from '../../operations/operation.ts';
import { outcomeFault } from '../../operations/outcome-fault.ts';
import { passportPdf, publicationList, reportList } from '../../operations/platform.ts';
import { notFound } from '../web-fault.ts';
import { type ApiOperation, describedAs, NOTHING } from './operation.ts';

const NDJSON = 'application/x-ndjson';

/**
 * Sends a list of the platform: each page is a line with a JSON array. If the list cannot be read to its end, the
 * connection is closed before the end of the answer.
 */
function listOperation(
  operation: FileOperation<Record<string, never>, Listing>,
  { path, failure }: { path: string; failure: string },
): ApiOperation {
  const { id, ...described } = describedAs(operation, path);
  return {
    ...described,
    id,
    params: NOTHING,
    answer: { status: 200, contentType: NDJSON },
    async handle({ abort }, { platform }) {
      const check = (listing: Listing) => {
        if (listing.complete) return;
        throw outcomeFault(listing.outcome, { failure, cure: 'Check that the profile fits the API of the platform.' });
      };
      const chunks = await fileBytes(operation, {}, { platform, abort, check });
      return { file: { type: 'download', name: `${id}.ndjson`, contentType: NDJSON, chunks } };
    },
  };
}

/** The operations that read the platform itself at each request. */
export const PLATFORM_OPERATIONS: readonly ApiOperation[] = [
  listOperation(publicationList, {
    path: '/publications',
    failure: 'The publications cannot be read',
  }),
  listOperation(reportList, {
    path: '/reports',
    failure: 'The reports cannot be read',
  }),
  {
    ...describedAs(passportPdf, '/passports/:product/pdf'),
    params: z.strictObject({ product: z.string().describe('The key or the SKU, percent-encoded.') }),
    answer: { status: 200, contentType: 'application/pdf' },
    async handle({ params, abort }, { platform, reads }) {
      const { product } = params as { product: string };
      const item = await reads.itemDetail('product', product);
      if (item === null) throw notFound(`There is no product "${product}" in the ledger.`);
      const productId = item.remoteId;
      if (typeof productId !== 'string' && typeof productId !== 'number') {
        throw notFound(`The product "${product}" is not at the platform yet.`);
      }
      const chunks = await fileBytes(
        passportPdf,
        { productId },
        {
          platform,
          abort,
          check(result) {
            if (result.ok) return;
            throw outcomeFault(result.outcome, {
              failure: `The passport of ${product} cannot be read`,
              cure: 'Check whether the passport was initialised.',
            });
          },
        },
      );
      return { file: { type: 'download', name: 'passport.pdf', contentType: 'application/pdf', chunks } };
    },
  },
];

/**
 * Runs an operation that writes a document, and passes on its bytes at once. The operation waits for a slow reader.
 *
 * @param check throws if the result shows that there is no document or only a part of it
 * @returns when the first bytes have arrived, so that a failure before them can get its own answer. After a failure
 *   later, the connection is broken off, so that the reader does not take the document as complete.
 * @throws the error of the operation or the check before the first byte
 */
async function fileBytes<Request, Result>(
  operation: FileOperation<Request, Result>,
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
  const ended = admin.run(operation, request, { onBytes }).then((result) => {
    check(result);
    stream.end();
  });
  ended.catch((error: unknown) => stream.destroy(error instanceof Error ? error : new Error(String(error))));
  await Promise.race([begun, ended]);
  return stream;
}
