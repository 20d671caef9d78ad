import type { JsonObject, JsonValue } from '../../lib/json.ts';

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
