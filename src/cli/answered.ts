import { answerOf, type Operation } from '../operations/operation.ts';
import type { Output } from './text/output.ts';

/** Prints the answer of an operation: its document with `--json`, and otherwise these lines. Returns the exit code. */
export function answered<Asked, Result>(
  output: Output,
  { operation, asked, result }: { operation: Operation<Asked, Result>; asked: Asked; result: Result },
  lines: readonly string[],
): number {
  if (output.json) output.document(answerOf(operation, result, asked) as object);
  output.print(...lines);
  return operation.exitCode?.(result, asked) ?? 0;
}
