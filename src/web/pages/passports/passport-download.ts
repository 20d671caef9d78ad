import { passportPdf } from '../../../admin/handlers/passport-pdf.ts';
import { outcomeFault } from '../../../daemon/faults/outcome-fault.ts';
import type { RemoteId } from '../../../domain/ports/platform.ts';
import type { PageContext } from '../../server/page-context.ts';
import type { WebAnswer } from '../../server/route.ts';
import { notFound, WebFault } from '../../server/web-fault.ts';

/** The largest PDF that is read from the platform (I9). */
const BYTES_MAX = 32 * 1024 * 1024;

/**
 * The passport of a product as PDF, read from the platform.
 *
 * @throws WebFault if the platform has no such product or gives no PDF
 */
export async function passportPdfAnswer(
  key: string,
  abort: AbortSignal,
  { runtime }: Pick<PageContext, 'runtime'>,
): Promise<WebAnswer> {
  const product = runtime.views.item('product', key);
  const id = product?.remoteId ?? null;
  if (product === null || (typeof id !== 'string' && typeof id !== 'number')) {
    throw notFound('The platform does not have this product.');
  }
  const pdf = await read(id, abort, runtime);
  return {
    type: 'download',
    name: `passport-${fileName(product.naturalKey ?? product.key)}.pdf`,
    contentType: 'application/pdf',
    chunks: chunksOf(pdf),
  };
}

async function* chunksOf(chunks: readonly Uint8Array[]): AsyncIterable<Uint8Array> {
  yield* chunks;
}

/** Reads the whole document, because the status of an error can only be sent before the first byte. */
async function read(id: RemoteId, abort: AbortSignal, runtime: PageContext['runtime']): Promise<Uint8Array[]> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  const sink = {
    async write(chunk: Uint8Array): Promise<void> {
      bytes += chunk.length;
      if (bytes > BYTES_MAX) throw new WebFault(502, 'The PDF of the platform is larger than 32 MB.');
      chunks.push(Uint8Array.from(chunk));
    },
  };
  const result = await passportPdf.handle({ productId: id }, { runtime, bytes: sink, abort });
  if (result.ok) return chunks;
  abort.throwIfAborted();
  throw outcomeFault(result.outcome, {
    failure: 'The PDF cannot be read',
    cure: 'A passport has to be initialised before the platform makes a PDF of it.',
  });
}

/** A file name that every file system and every header accepts. */
function fileName(key: string): string {
  return key.replace(/[^\w.-]+/g, '_').slice(0, 80);
}
