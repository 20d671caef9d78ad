import { z } from 'zod';
import { fault } from '../../domain/faults.ts';
import type { PdfResult } from '../../domain/ports/platform.ts';
import type { PlatformHandler } from '../handler.ts';

const PassportPdfRequest = z.strictObject({
  /** The product's id at the platform. */
  productId: z.union([z.string().min(1), z.number()]),
});
export type PassportPdfRequest = z.infer<typeof PassportPdfRequest>;

/**
 * Reads a product's passport as PDF, into the handler's bytes.
 *
 * @throws Fault `interrupted`
 */
export const passportPdf: PlatformHandler<PassportPdfRequest, PdfResult> = {
  name: 'passport-pdf',
  request: PassportPdfRequest,
  async handle({ productId }, { runtime, bytes, abort }) {
    const result = await runtime.platform.passportPdf(productId, bytes, abort);
    if (!result.ok && abort.aborted) throw fault('interrupted', 'Stopped before it was done.');
    return result;
  },
};
