import type { JsonObject, JsonValue } from '../../lib/json.ts';

/** A document that is not JSON. */
export interface Document {
  type: string;
  bytes: Buffer;
}

/** An HTTP answer before it is sent. Every refusal is one too: bad input never throws here. */
export interface Answer {
  status: number;
  body: JsonValue;
  headers?: Record<string, string>;
  /** Sent in place of the body. */
  document?: Document;
  /**
   * Makes the document. It is called outside of transactions, because it takes long, and only for an answer that is sent.
   */
  draw?: () => Promise<Document>;
  /** The request's natural key, from an operation that has it at hand. */
  naturalKey?: string;
  /** Natural keys of what was written, where the request's own is not the one. A failure has them that came after writes. */
  written?: string[];
  /** True where the request's writes happen after the answer. */
  writesLate?: true;
}

/** A refusal in the usual form of Django REST Framework. */
export function refusal(status: number, detail: string, headers?: Record<string, string>): Answer {
  return { status, body: { detail }, ...(headers && { headers }) };
}

/** Messages by field, as Django REST Framework writes them: lists of texts, nested where the field is. */
export function invalid(errors: JsonObject): Answer {
  return { status: 400, body: errors };
}

/** A business rule that stands in the way; `missing` names what would have to be there, in a form that can be looked up. */
export function conflict(detail: string, missing?: string[]): Answer {
  return { status: 409, body: { detail, ...(missing && { missing }) } };
}

export const NOT_FOUND: Answer = refusal(404, 'Not found.');
