// Requests that people make to the platform besides the sync: publications, passports as PDF, reports, keys. The ledger
// does not take part in them.

import type { JsonObject } from '../../lib/json.ts';
import type { Outcome } from '../delivery/outcome.ts';
import type { Listing, ListOptions, OnPage, SendResult } from './target.ts';

/** An id of the API, in its JSON type. */
export type RemoteId = string | number;

/** One publication of a passport in the platform's list. A value that the entry does not have is null. */
export interface Publication {
  id: RemoteId | null;
  productId: RemoteId | null;
  sku: string | null;
  /** The status in the platform's own words. */
  status: string | null;
  /** True if everybody can see the passport, according to the states that the profile names. */
  isPublic: boolean;
  /** The time in the platform's form, usually ISO 8601. */
  publishedAt: string | null;
  withdrawnAt: string | null;
  /** The address of the public passport: always http or https. */
  url: string | null;
}

export interface Report {
  id: RemoteId;
  type: string | null;
  status: string | null;
  createdAt: string | null;
  /** The unchanged entry of the platform. It may contain anything. */
  content: JsonObject;
}

/** Receives the bytes of a document. The next piece is read when the promise is fulfilled; a rejection ends the reading. */
export interface ByteSink {
  write(chunk: Uint8Array): Promise<void>;
}

/** If `ok` is false, the sink may have received the beginning of a document, which cannot be used. */
export type PdfResult = { ok: true; bytes: number } | { ok: false; outcome: Outcome };

/** Reads the platform, and asks it for reports. */
export interface PlatformReader {
  /** Reads the complete list of publications, page by page. Two entries without ids are compared by all their members. */
  publications(onPage: OnPage<Publication>, options?: ListOptions): Promise<Listing>;
  /**
   * Reads a product's passport as PDF. The sink gets nothing unless the answer begins like a PDF.
   *
   * @throws the error with which the sink rejects; RangeError for an id that cannot stand in a path: empty, `.` or `..`
   */
  passportPdf(productId: RemoteId, sink: ByteSink, signal?: AbortSignal): Promise<PdfResult>;
  reports(onPage: OnPage<Report>, options?: ListOptions): Promise<Listing>;
  /**
   * Asks for a report, once. The API document does not define the body, so a person gives it. The request needs the
   * scope `scopes.reportCreate` of the profile. The accepted outcome has the report's id if the answer has one.
   */
  createReport(request: { body: JsonObject; idempotencyKey: string }, signal?: AbortSignal): Promise<SendResult>;
}

/** Requests that need an administrator's token. */
export interface PlatformAdmin {
  /**
   * Revokes an API key, once. The token is sent only with this request, which has no API key, and is stored nowhere.
   * `denied` by `key`: the token is not valid. `denied` by `scope`: its role is not sufficient. `refused` with 404: the
   * organisation has no such key.
   *
   * @throws RangeError for an id that cannot stand in a path: empty, `.` or `..`
   */
  revokeKey(
    request: { keyId: RemoteId; token: string; idempotencyKey: string },
    signal?: AbortSignal,
  ): Promise<SendResult>;
}
