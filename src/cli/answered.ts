import { answerOf, type Operation } from '../operations/operation.ts';
import type { Output } from './text/output.ts';

type Answers<Result> = Pick<Operation<unknown, Result>, 'document' | 'exitCode' | 'result'>;

/** Prints the answer of an operation: its document with `--json`, and otherwise these lines. Returns the exit code. */
export function answered<Result>(
  output: Output,
  { operation, result }: { operation: Answers<Result>; result: Result },
  lines: readonly string[],
): number {
  const exitCode = operation.exitCode?.(result) ?? 0;
  if (output.json) output.document(documentOf(answerOf(operation, result)));
  output.print(...lines);
  return exitCode;
}

/** A list is a member of its document, so that each document has `ok`. */
function documentOf(answer: unknown): object {
  return Array.isArray(answer) ? { ok: true, list: answer } : (answer as object);
}
