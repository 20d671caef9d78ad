import { z } from 'zod';
import type { JsonObject, JsonValue } from '../../lib/json.ts';

/** A distortion of a list, which a fault causes. */
export interface ListView {
  /** How many rows have moved from the beginning to the end. */
  moved: number;
  lagMs: number;
  /** Numbers in [0, 1) for another order; null to keep it. */
  random: (() => number) | null;
}

/** A request that was admitted: the caller is known and has the right to make it, and the body is JSON. */
export interface OperationRequest {
  organizationId: number;
  /** Path parameters by the name that the endpoint table gives them. */
  params: Record<string, string>;
  /** Scheme, host and path without the query, as the client has sent them. */
  url: () => string;
  query: URLSearchParams;
  /** The parsed body; an empty object when there was none. */
  body: unknown;
  /** The text of the body. */
  bodyText: string;
  /** Milliseconds since the Unix epoch. */
  now: number;
  /** The distortion with which a list is shown. */
  view?: ListView | undefined;
  /** An import stores this many rows and then fails with a 500. An import with fewer good rows succeeds. */
  failsAfterRows?: number | undefined;
}

/** A query parameter, as the published schema shows it. */
export interface QueryParameter {
  name: string;
  description: string;
  /** JSON Schema. */
  schema: JsonObject;
}

/** The work of the sandbox for one row of the endpoint table. */
export interface Operation {
  /** The schema that validates the body, and that the published schema shows. Reads have none. */
  accepts?: z.ZodType;
  /** Every query parameter that `execute` reads. */
  query?: readonly QueryParameter[];
  /** The natural key of the item that is written; undefined for reads, and if the request does not contain it. */
  naturalKey(request: OperationRequest): string | undefined;
  /** The natural keys of all items that the request is about, if it can be about several. */
  naturalKeys?(request: OperationRequest): string[];
  /** Runs inside a transaction that also holds the request's idempotency record. Returns refusals and never throws. */
  execute(request: OperationRequest): Answer;
}

/** The body of an operation that takes none: it must be absent or an empty object. */
export const NoBody = z.strictObject({});

/** A member of a body, if it is a text. */
export function textMember(body: unknown, name: string): string | undefined {
  const value = member(body, name);
  return typeof value === 'string' ? value : undefined;
}

/** A member of a body, of any type. */
export function member(body: unknown, name: string): unknown {
  return typeof body === 'object' && body !== null ? Reflect.get(body, name) : undefined;
}

/** A document that is not JSON. */
export interface Document {
  type: string;
  bytes: Buffer;
}

/** An HTTP answer before it is sent. A refusal is also an answer: bad input never throws here. */
export interface Answer {
  status: number;
  body: JsonValue;
  headers?: Record<string, string>;
  /** The document that is sent in place of the body. */
  document?: Document;
  /** Makes the document. Called outside of transactions, because it takes long, and only if the answer is sent. */
  draw?: () => Promise<Document>;
  /** The natural key of the request, if the operation already knows it. */
  naturalKey?: string;
  /**
   * The natural keys of the written items, if they differ from that of the request. A failure also has them if it came
   * after writes.
   */
  written?: string[];
  /** True if the request's writes happen after the answer. */
  writesLate?: true;
}

/** A refusal in the usual form of Django REST Framework. */
export function refusal(status: number, detail: string, headers?: Record<string, string>): Answer {
  return { status, body: { detail }, ...(headers && { headers }) };
}

/** Messages by field in the form of Django REST Framework: lists of texts, nested like the fields. */
export function invalid(errors: JsonObject): Answer {
  return { status: 400, body: errors };
}

/** A refusal by a business rule. `missing` names the missing things, in a form that can be looked up. */
export function conflict(detail: string, missing?: string[]): Answer {
  return { status: 409, body: { detail, ...(missing && { missing }) } };
}

export const NOT_FOUND: Answer = refusal(404, 'Not found.');

/** The page with which an nginx refuses a request itself, with `server_tokens off`. */
export function nginxPage(status: number, title: string): Document {
  const lines = [
    '<html>',
    `<head><title>${status} ${title}</title></head>`,
    '<body>',
    `<center><h1>${status} ${title}</h1></center>`,
    '<hr><center>nginx</center>',
    '</body>',
    '</html>',
    '',
  ];
  return { type: 'text/html', bytes: Buffer.from(lines.join('\r\n')) };
}
