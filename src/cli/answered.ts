import { answerOf, type Operation } from '../operations/operation.ts';
import type { Output } from './text/output.ts';

/** Prints the answer of an operation: its document with `--json`, and otherwise these lines. Returns the exit code. */
export function answered<Asked, Result>(
  output: Output,
  { operation, asked, result }: { operation: Operation<Asked, Result>; asked: Asked; result: Result },
  lines: readonly string[],
): number {
  const exitCode = operation.exitCode?.(result, asked) ?? 0;
  if (output.json) output.document(documentOf(answerOf(operation, result, asked)));
  output.print(...lines);
  return exitCode;
}

/** A list is a member of its document, so that each document has `ok`. */
function documentOf(answer: unknown): object {
  return Array.isArray(answer) ? { ok: true, list: answer } : (answer as object);
}
