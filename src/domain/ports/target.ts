import type { JsonObject, JsonValue } from '../../lib/json.ts';
import type { Operation, Scope } from '../delivery/operation.ts';
import type { Outcome, OutcomeDetail } from '../delivery/outcome.ts';
import type { RefRole } from '../item.ts';

/** The most requests in flight at once, and so the most open connections. */
export const REQUESTS_MAX = 256;

/** A write in canonical terms, with every ref resolved. */
export interface Write {
  operation: Operation;
  /** For an update: only the fields that change, null for those to clear. */
  payload: JsonObject;
  /** Remote ids by role, in their JSON types. */
  refs: Partial<Record<RefRole, JsonValue>>;
  /** The item's own remote id, for updates. */
  remoteId: JsonValue;
}

/** A write in the form in which it is sent. It is committed before it is sent, and never changed (I2). */
export interface EncodedWrite {
  /** Path below the base URL, beginning with a slash. */
  path: string;
  /** JSON text, which is sent unchanged; null for a request without a body. */
  body: string | null;
}

/** An import of several products as one request. */
export interface EncodedImport extends EncodedWrite {
  /** How many of the given members, from the first, are in the body. Members beyond the profile's limits are not. */
  memberCount: number;
}

/** A committed write that is to be sent. */
export interface SentWrite extends EncodedWrite {
  operation: Operation;
  idempotencyKey: string;
  /**
   * For an import: the natural keys of its members in the order of the body, null for a member without one. They are
   * needed to read the answer.
   */
  members?: readonly (string | null)[];
  /** True for an import of new products. The answer may then refuse one of them because it exists. */
  areNew?: boolean;
}

/**
 * An item in a listing, with the values that are needed to recognise it, to bind its id and to see whether a write took
 * effect.
 */
export interface RemoteItem {
  remoteId: JsonValue;
  naturalKey: string | null;
  /** The item's fields in the listing, by canonical name. Fields that no mapping can write are left out. */
  fields: JsonObject;
}

/** Kinds of items that the API can list. */
export type ListableKind = 'product' | 'material';

/** The result of `check` for one scope. */
export type ScopeAnswer = 'yes' | 'no' | 'unknown';

export interface Probe {
  /** Why the API refuses the key; null if the key works. */
  denied: { by: 'key' | 'plan' | 'scope'; detail: OutcomeDetail } | null;
  /** Whether the organisation's plan includes API access: 402 says no. */
  plan: ScopeAnswer;
  scopes: Record<Scope, ScopeAnswer>;
}

/** The DPP platform's API. */
export interface Target {
  /**
   * Encodes a write as path and bytes under the profile. Pure. A write of a passport only needs the product's remote
   * id.
   */
  encode(write: Write): EncodedWrite;
  /**
   * Encodes whole payloads of products as one import: the first always, and as many of the others as the profile's limits
   * allow. Pure.
   */
  encodeImport(members: readonly JsonObject[]): EncodedImport;
  /** Sends a committed write once. Failures of the API or the network are outcomes, so they throw nothing. */
  send(write: SentWrite, signal?: AbortSignal): Promise<SendResult>;
  /**
   * Reads a complete listing, page by page, and passes on each item once. A listing that cannot be completed ends with
   * `complete: false` and the reason, so that an incomplete list never proves an absence.
   */
  list(kind: ListableKind, onPage: OnPage<RemoteItem>, options?: ListOptions): Promise<Listing>;
  /** Asks once how many entries a listing has; null if the API does not count them. */
  count(kind: ListableKind, signal?: AbortSignal): Promise<Count>;
  /** Reads one page once, to find out whether the API is there. The content of the page does not matter. */
  ping(signal?: AbortSignal): Promise<Outcome>;
  /** Asks whether the key works and which scopes it has, without writing anything. */
  probe(signal?: AbortSignal): Promise<Probe>;
  /** Reads the API key from its source again, after a 401. True if the key has changed. */
  rereadKey(): Promise<boolean>;
  close(): Promise<void>;
}

export interface SendResult {
  outcome: Outcome;
  latencyMs: number;
  /** The limit that the answer states, in requests per second; null or absent if it states none. */
  advisedRate?: number | null;
}

/**
 * Receives the entries of one page. If it returns a promise, the next page is requested when the promise is fulfilled.
 *
 * @param position an opaque text: the listing can be resumed from it behind this page
 */
export type OnPage<Entry> = (entries: Entry[], position: string) => unknown;

export interface ListOptions {
  signal?: AbortSignal | undefined;
  /** The position from which an earlier listing is resumed, with the ids of all entries before this position. */
  from?: { position: string; ids: Iterable<string | number> } | undefined;
}

export type Count = { ok: true; count: number | null } | { ok: false; outcome: Outcome };

export type Listing =
  /** @param count how many entries the API counted when the listing began; null if it does not count */
  | { complete: true; count: number | null }
  /** @param moved set if entries changed while the list was read, so that reading it again may succeed */
  | { complete: false; outcome: Outcome; moved?: true };

/**
 * Gives each request that uses the API key its turn, at the learnt rate and below `target.maxRate`. A delivery gets its
 * turn from the admission (delivery/admission/admission.ts); every other request waits here.
 */
export interface Pacing {
  /** Waits until one request may be sent. */
  turn(signal?: AbortSignal): Promise<Turn>;
}

export type Turn =
  /** The request may be sent now. Call `ended` once, with what its answer means and the limit that the answer states. */
  | { granted: true; ended(outcome: Outcome, advisedRate: number | null): void }
  /** The caller has stopped the request, or the API asks to wait for more than a minute. `waitMs` is null after a stop. */
  | { granted: false; waitMs: number | null; message: string };

// Requests that people make to the platform besides the sync: publications, passports as PDF, reports, keys. The ledger
// does not take part in them.

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
