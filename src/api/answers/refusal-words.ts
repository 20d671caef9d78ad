// Reads the meaning of a refusal from its words, whatever its status is.

import { isJsonObject, type JsonValue } from '../../lib/json.ts';
import type { CleanText } from './clean-text.ts';
import { type ErrorBody, type Problem, readProblems } from './decode.ts';

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

// Recognises a refusal that a platform sends with the status of a success: `{"success": false, "error": "sku invalid"}`.

/** Fields that state in true or false whether the request succeeded. */
const FLAGS = ['success', 'ok', 'succeeded'] as const;
const FAILED = /^(?:error|errored|fail|failed|failure)$/i;
/** Fields that hold the problems. */
const PROBLEMS = ['errors', 'error'] as const;

/** An answer that refuses the request although its status is a success. */
export interface SoftRefusal {
  problems: ErrorBody;
  /** True if a flag or a status states the failure. False if the answer only has problems. */
  isStated: boolean;
}

/**
 * The refusal in an answer with the status of a success; null for any other answer.
 *
 * @param isItem whether the answer is the written item itself. Then the status is that of the item, and problems beside
 *   it are no refusal.
 * @param isImport whether the request is a bulk import. Its words and problems may be about single rows.
 */
export function softRefusal(
  answer: JsonValue,
  { isItem, isImport, clean }: { isItem: boolean; isImport: boolean; clean: CleanText },
): SoftRefusal | null {
  if (!isJsonObject(answer)) return null;
  const member = (name: string): JsonValue | undefined => (Object.hasOwn(answer, name) ? answer[name] : undefined);
  const status = member('status');
  const isStated =
    FLAGS.some((name) => member(name) === false) ||
    (!isItem && !isImport && typeof status === 'string' && FAILED.test(status.trim()));
  // Beside a stated success, problems are remarks, or an object for problems without any.
  const saysDone = FLAGS.some((name) => member(name) === true);
  const hasProblems = !isItem && !isImport && !saysDone && PROBLEMS.some((name) => isProblem(member(name)));
  return isStated || hasProblems ? { problems: readProblems(answer, clean), isStated } : null;
}

/** Empty texts, lists and objects mean that there is no problem. */
function isProblem(value: JsonValue | undefined): boolean {
  if (value === undefined || value === null || typeof value === 'boolean' || typeof value === 'number') return false;
  if (typeof value === 'string') return value.trim() !== '';
  return Object.keys(value).length > 0;
}
