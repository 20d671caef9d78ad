// Reads the meaning of a refusal from its words, whatever its status is.

import type { ErrorBody, Problem } from './decode.ts';

/** Codes for an existing item, and the messages of Django, Rails, Laravel, Spring and databases. */
const EXISTS_CODES = /^(?:unique|not_unique|unique_together|already_exists|exists|duplicate\w*|taken)$/i;
const EXISTS_TEXT =
  /already (?:exists?|in use|been taken|taken|registered)|must be unique|unique set|duplicate|not unique/i;

/** By draft-ietf-httpapi-idempotency-key-header the answer is 409 while the first request with the key is processed. */
const KEY_TEXT = /idempoten/i;
const BUSY_TEXT = /in[ _-]?progress|in[ _-]?flight|outstanding|concurrent|processing|processed|pending|in[ _-]?use/i;

/** Whether the refusal of a create states that the item exists. */
export function alreadyExists({ problems }: ErrorBody, uniqueFields: readonly string[]): boolean {
  return problems.some((problem) => isDuplicate(problem, uniqueFields));
}

/**
 * Whether a create may have been refused because its item exists. Platforms use any words for this, or none. But if the
 * answer names fields and the natural key is not among them, the refusal is about those fields.
 */
export function mayExist({ problems }: ErrorBody, uniqueFields: readonly string[]): boolean {
  const named = problems.flatMap(({ field }) => (field === null ? [] : [field.slice(field.lastIndexOf('.') + 1)]));
  return named.length === 0 || named.some((field) => uniqueFields.includes(field));
}

function isDuplicate({ field, code, text }: Problem, uniqueFields: readonly string[]): boolean {
  if ((field !== null && !uniqueFields.includes(field)) || KEY_TEXT.test(`${code ?? ''} ${text}`)) return false;
  return (code !== null && EXISTS_CODES.test(code)) || EXISTS_TEXT.test(text);
}

/** Whether the refusal states that the first request with the same idempotency key is still being processed. */
export function isKeyBusy(error: ErrorBody): boolean {
  return error.problems.some(({ code, text }) => {
    const said = `${code ?? ''} ${text}`;
    return KEY_TEXT.test(said) && BUSY_TEXT.test(said);
  });
}
