import type { PlatformReader } from '../domain/ports/platform.ts';
import { canonicalJson } from '../lib/canonical-json.ts';
import type { Expectation } from './answers/classify.ts';
import { ENDPOINTS } from './endpoints.ts';
import { readPassportPdf } from './pdf.ts';
import { publicationShape } from './publication.ts';
import { reportShape } from './report.ts';
import { sendOnce } from './send-once.ts';
import type { Session } from './session.ts';

/** Reads what the platform has besides the catalogue, and creates reports. */
export function createReader(session: Session): PlatformReader {
  const { profile, clean, key } = session;
  const publications = publicationShape(profile, session);
  const reports = reportShape(profile, clean);
  const expectation: Expectation = { needsId: false, idPaths: profile.reports.idPaths, uniqueFields: [] };

  return {
    publications: (onPage, options) =>
      session.list({ endpoint: ENDPOINTS['publication.list'], shape: publications, onPage, ...options }),

    passportPdf: (productId, sink, signal) => readPassportPdf(session, productId, { sink, signal }),

    reports: (onPage, options) =>
      session.list({ endpoint: ENDPOINTS['report.list'], shape: reports, onPage, ...options }),

    createReport({ body, idempotencyKey }, signal) {
      const { method, path } = ENDPOINTS['report.create'];
      const write = { method, path, body: canonicalJson(body), idempotencyKey, expectation };
      return sendOnce(session, { ...write, exchange: session.inTurn, credentials: key, signal });
    },
  };
}
