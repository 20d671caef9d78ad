// The requests that only the platform answers.

import { z } from 'zod';
import { IDEMPOTENCY_KEY } from '../../domain/delivery/delivery.ts';
import type { Outcome } from '../../domain/delivery/outcome.ts';
import type { PdfResult } from '../../domain/ports/platform.ts';
import type { Listing, ListOptions, OnPage } from '../../domain/ports/target.ts';
import type { PlatformContext, PlatformHandler } from '../handler.ts';

const Nothing = z.strictObject({});

/** Reads the platform's list of publications, one line for each page. */
export const publicationList: PlatformHandler<z.infer<typeof Nothing>, Listing> = {
  name: 'publication-list',
  isRead: true,
  request: Nothing,
  handle: (_, context) =>
    readList(context, (onPage, options) => context.runtime.platform.publications(onPage, options)),
};

/** Reads the platform's list of reports, one line for each page. */
export const reportList: PlatformHandler<z.infer<typeof Nothing>, Listing> = {
  name: 'report-list',
  isRead: true,
  request: Nothing,
  handle: (_, context) => readList(context, (onPage, options) => context.runtime.platform.reports(onPage, options)),
};

const ReportCreateRequest = z.strictObject({
  body: z.record(z.string(), z.json()),
  idempotencyKey: z.string().regex(IDEMPOTENCY_KEY),
});
export type ReportCreateRequest = z.infer<typeof ReportCreateRequest>;

/** Asks the platform for a report, once. */
export const reportCreate: PlatformHandler<ReportCreateRequest, Outcome> = {
  name: 'report-create',
  request: ReportCreateRequest,
  async handle(request, { runtime, abort }) {
    const { outcome } = await runtime.platform.createReport(request, abort);
    return outcome;
  },
};

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

/** A page is handed over in pieces of at most this size. */
const PIECE_BYTES = 262_144;

/**
 * Reads a list of the platform into a handler's bytes: each page is a line, a JSON array of its entries. The next page
 * is read when the receiver has accepted this page.
 *
 * @throws the reason of `abort`
 */
async function readList<Entry>(
  { bytes, abort }: PlatformContext,
  read: (onPage: OnPage<Entry>, options: ListOptions) => Promise<Listing>,
): Promise<Listing> {
  const listing = await read(
    async (entries) => {
      const line = Buffer.from(`${JSON.stringify(entries)}\n`);
      for (let at = 0; at < line.length; at += PIECE_BYTES) await bytes.write(line.subarray(at, at + PIECE_BYTES));
    },
    { signal: abort },
  );
  if (!listing.complete) abort.throwIfAborted();
  return listing;
}
