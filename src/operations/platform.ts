// The requests that only the platform answers.

import { z } from 'zod';
import { IDEMPOTENCY_KEY } from '../domain/delivery/delivery.ts';
import type { Outcome } from '../domain/delivery/outcome.ts';
import type { Listing, ListOptions, OnPage, PdfResult } from '../domain/ports/target.ts';
import { sha256Hex } from '../lib/hash.ts';
import { Json } from '../lib/json-schema.ts';
import { percentEncoded } from '../lib/text/percent.ts';
import { worked } from './documents.ts';
import type { FileOperation } from './operation.ts';
import type { PlatformContext } from './runtime.ts';

const Nothing = z.strictObject({});

/** Reads the platform's list of publications, one line for each page. */
export const publicationList: FileOperation<z.infer<typeof Nothing>, Listing> = {
  name: 'list-publications',
  kind: 'file',
  tag: 'platform',
  role: 'viewer',
  summary: 'Reads the publications of the platform, a page a line.',
  request: Nothing,
  result: worked(),
  run: (_, context) => readList(context, (onPage, options) => context.runtime.platform.publications(onPage, options)),
};

/** Reads the platform's list of reports, one line for each page. */
export const reportList: FileOperation<z.infer<typeof Nothing>, Listing> = {
  name: 'list-reports',
  kind: 'file',
  tag: 'platform',
  role: 'viewer',
  summary: 'Reads the reports of the platform, a page a line.',
  request: Nothing,
  result: worked(),
  run: (_, context) => readList(context, (onPage, options) => context.runtime.platform.reports(onPage, options)),
};

const ReportCreateRequest = z.strictObject({
  body: z.record(z.string(), Json),
  idempotencyKey: z.string().regex(IDEMPOTENCY_KEY),
});
export type ReportCreateRequest = z.infer<typeof ReportCreateRequest>;

/** Asks the platform for a report, once. */
export const reportCreate: FileOperation<ReportCreateRequest, Outcome> = {
  name: 'report-create',
  kind: 'work',
  tag: 'platform',
  role: 'operator',
  summary: 'Asks the platform for a report, once.',
  request: ReportCreateRequest,
  result: worked(),
  async run(request, { runtime, abort }) {
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
 * Reads a product's passport as PDF, and writes it to the operation's `bytes`.
 *
 * @throws the reason of `abort`
 */
export const passportPdf: FileOperation<PassportPdfRequest, PdfResult> = {
  name: 'passport-pdf',
  kind: 'file',
  tag: 'platform',
  role: 'viewer',
  summary: 'Reads the passport of a product as PDF.',
  request: PassportPdfRequest,
  result: worked(),
  async run({ productId }, { runtime, bytes, abort }) {
    const result = await runtime.platform.passportPdf(productId, bytes, abort);
    if (!result.ok) abort.throwIfAborted();
    return result;
  },
};

/** A page is handed over in pieces of at most this size. */
const PIECE_BYTES = 262_144;

/**
 * Reads a list of the platform into an operation's bytes: each page is a line, a JSON array of its entries. The next page
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

const NAME_LENGTH_MAX = 100;

/**
 * `passport-A-1.pdf`. Characters that some file systems do not allow are percent-encoded, so that two SKUs never have
 * the same file name. If the name becomes too long, a hash replaces its end.
 */
export function pdfName(sku: string): string {
  const name = percentEncoded(sku.toWellFormed()).replaceAll('~', '%7E');
  const short =
    name.length <= NAME_LENGTH_MAX ? name : `${name.slice(0, NAME_LENGTH_MAX)}-${sha256Hex(sku).slice(0, 8)}`;
  return `passport-${short}.pdf`;
}
