import type { z } from 'zod';
import type { Listed, ListPage } from '../domain/ports/ledger/dashboard-views.ts';
import { documentOf } from '../operations/documents.ts';
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
  if (output.json) output.document(documentWithOk(answerOf(operation, result)));
  output.print(...lines);
  return exitCode;
}

/** A list is a member of its document, so that each document has `ok`. */
function documentWithOk(answer: unknown): object {
  return Array.isArray(answer) ? { ok: true, list: answer } : (answer as object);
}

const PAGE_ROWS = 500;

/**
 * The pages of a list without its total, until it has this many rows. A list may have more rows than fit into memory.
 *
 * @param most Infinity for all rows
 */
export async function* pagesOf<Row>(
  read: (page: ListPage) => Promise<Listed<Row>>,
  most: number,
): AsyncGenerator<Listed<Row>> {
  let left = most;
  let after: string | undefined;
  do {
    const page = await read({ after, limit: Math.min(PAGE_ROWS, left), counts: false });
    yield page;
    left -= page.rows.length;
    after = page.next ?? undefined;
  } while (after !== undefined && left > 0);
}

/** A line of a list with `--json`: the document of the row that the API gives too. */
export function rowDocument<Row extends z.ZodType>(schema: Row, row: z.output<Row>): object {
  return documentOf(schema, row) as object;
}
