// Recognises a refusal that a platform sends with the status of a success: `{"success": false, "error": "sku invalid"}`.

import { isJsonObject, type JsonValue } from '../../lib/json.ts';
import type { CleanText } from './clean-text.ts';
import { type ErrorBody, readProblems } from './decode.ts';

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
