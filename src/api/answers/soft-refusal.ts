// Recognises a refusal that a platform sends with the status of a success: `{"success": false, "error": "sku invalid"}`.

import { isJsonObject, type JsonValue } from '../../lib/json.ts';
import type { CleanText } from './clean-text.ts';
import { type ErrorBody, readProblems } from './decode.ts';

/** Fields that state in true or false whether the request succeeded. */
const FLAGS = ['success', 'ok', 'succeeded'] as const;
const FAILED = /^(?:error|errored|fail|failed|failure)$/i;
/** Fields that hold the problems. */
const PROBLEMS = ['errors', 'error'] as const;

/**
 * The problems of an answer that refuses the request although its status is a success; null for any other answer.
 *
 * @param isEcho whether the answer repeats the request. Then the status is that of the written item, and problems beside
 *   the item are no refusal.
 * @param isImport whether the request is a bulk import. Its words and problems may be about single rows.
 */
export function softRefusal(
  answer: JsonValue,
  { isEcho, isImport, clean }: { isEcho: boolean; isImport: boolean; clean: CleanText },
): ErrorBody | null {
  if (!isJsonObject(answer)) return null;
  const member = (name: string): JsonValue | undefined => (Object.hasOwn(answer, name) ? answer[name] : undefined);
  const status = member('status');
  const saysFailed =
    FLAGS.some((name) => member(name) === false) ||
    (!isEcho && !isImport && typeof status === 'string' && FAILED.test(status.trim()));
  // Beside a stated success, problems are remarks, or an object for problems without any.
  const saysDone = FLAGS.some((name) => member(name) === true);
  const hasProblems = !isEcho && !isImport && !saysDone && PROBLEMS.some((name) => isProblem(member(name)));
  return saysFailed || hasProblems ? readProblems(answer, clean) : null;
}

/** Empty texts, lists and objects mean that there is no problem. */
function isProblem(value: JsonValue | undefined): boolean {
  if (value === undefined || value === null || typeof value === 'boolean' || typeof value === 'number') return false;
  if (typeof value === 'string') return value.trim() !== '';
  return Object.keys(value).length > 0;
}
