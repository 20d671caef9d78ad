import { z } from 'zod';
import type { PdfResult } from '../../domain/ports/platform.ts';
import type { PlatformHandler } from '../handler.ts';

const PassportPdfRequest = z.strictObject({
  /** The product's id at the platform. */
  productId: z.union([z.string().min(1), z.number()]),
});
export type PassportPdfRequest = z.infer<typeof PassportPdfRequest>;

/**
 * Reads a product's passport as PDF, and writes it to the handler's `bytes`.
 *
 * @throws the reason of `abort`
 */
export const passportPdf: PlatformHandler<PassportPdfRequest, PdfResult> = {
  name: 'passport-pdf',
  isRead: true,
  request: PassportPdfRequest,
  async handle({ productId }, { runtime, bytes, abort }) {
    const result = await runtime.platform.passportPdf(productId, bytes, abort);
    if (!result.ok) abort.throwIfAborted();
    return result;
  },
};
