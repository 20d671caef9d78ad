import type { JsonObject, JsonValue } from '../lib/json.ts';

/** An HTTP answer before it is sent. Every refusal is one too: bad input never throws here. */
export interface Answer {
  status: number;
  body: JsonValue;
  headers?: Record<string, string>;
}

/** A refusal in the usual form of Django REST Framework. */
export function refusal(status: number, detail: string, headers?: Record<string, string>): Answer {
  return { status, body: { detail }, ...(headers && { headers }) };
}

/** Messages by field, as Django REST Framework writes them: lists of texts, nested where the field is. */
export function invalid(errors: JsonObject): Answer {
  return { status: 400, body: errors };
}

export const NOT_FOUND: Answer = refusal(404, 'Not found.');
