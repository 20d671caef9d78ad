// What people ask of the platform besides the sync: publications, passports as PDF, reports, keys. Nothing of it goes
// through the ledger.

import type { JsonObject } from '../../lib/json.ts';
import type { Outcome } from '../delivery/outcome.ts';
import type { Listing, ListOptions, OnPage, SendResult } from './target.ts';

/** An id of the API, in its JSON type. */
export type RemoteId = string | number;

/** One publication of a passport, as the platform lists it. What an entry does not say is null. */
export interface Publication {
  id: RemoteId | null;
  productId: RemoteId | null;
  sku: string | null;
  /** The status in the platform's own words. */
  status: string | null;
  /** Whether the passport can be seen by everybody, by the states that the profile names. */
  isPublic: boolean;
  /** As the platform writes it, a date and time of ISO 8601 as a rule. */
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
  /** The entry as the platform gave it; it may contain anything. */
  content: JsonObject;
}

/** Receives the bytes of a document. The next piece is read when the promise is fulfilled; a rejection ends the reading. */
export interface ByteSink {
  write(chunk: Uint8Array): Promise<void>;
}

/** Without `ok` the sink may have the beginning of a document, which is of no use. */
export type PdfResult = { ok: true; bytes: number } | { ok: false; outcome: Outcome };

/** What can be read of the platform, and the reports that it makes. */
export interface PlatformReader {
  /** Reads the complete list of publications, page by page. Two entries without ids are compared by all their members. */
  publications(onPage: OnPage<Publication>, options?: ListOptions): Promise<Listing>;
  /**
   * Reads a product's passport as PDF. Nothing reaches the sink unless the answer begins as a PDF does.
   *
   * @throws what the sink rejects with; RangeError for an id that cannot stand in a path: empty, `.` or `..`
   */
  passportPdf(productId: RemoteId, sink: ByteSink, signal?: AbortSignal): Promise<PdfResult>;
  reports(onPage: OnPage<Report>, options?: ListOptions): Promise<Listing>;
  /**
   * Asks for a report, once. The document does not show the body, so it is whatever a person gives. The scope that it takes
   * is `scopes.reportCreate` of the profile. The accepted outcome carries the report's id where the answer has one.
   */
  createReport(request: { body: JsonObject; idempotencyKey: string }, signal?: AbortSignal): Promise<SendResult>;
}

/** What takes an administrator's token. */
export interface PlatformAdmin {
  /**
   * Revokes an API key, once. The token goes into this request alone, which carries no API key, and is kept nowhere.
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
