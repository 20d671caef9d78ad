import type { z } from 'zod';
import type { WebRole } from '../config/sections.ts';
import { documentOf } from './documents.ts';
import type { OperationContext, PlatformContext } from './runtime.ts';

export const TAGS = ['ledger', 'attention', 'work', 'platform', 'daemon'] as const;
export type Tag = (typeof TAGS)[number];

/**
 * One request of a person or a program. Commands, the socket of a daemon, the admin API and the forms of the dashboard all
 * run the same operations. If a daemon holds the ledger, it runs the operation of a command; otherwise the command runs
 * it. An operation prints nothing.
 */
export interface Operation<Asked, Result, Context = OperationContext> {
  /** The name on the wire and in the audit log: lower-case words joined by hyphens. In camel case it is the id in the OpenAPI document. */
  name: string;
  /**
   * `look` changes nothing and answers soon, and the audit log has no entry of it. `act` changes something and answers at once.
   * `work` takes long, so the API and the dashboard show its progress. `file` changes nothing, and gives a document piece by piece.
   */
  kind: 'look' | 'act' | 'work' | 'file';
  tag: Tag;
  role: WebRole;
  /** One sentence for the OpenAPI document. */
  summary: string;
  /** Method and path under `/api/v1`, such as `GET /items/:kind/:key`; `POST /operations/NAME` for work. */
  at?: `${'GET' | 'POST' | 'PUT' | 'DELETE'} /${string}`;
  /** The name in the audit log, if it is not the name of the operation. */
  action?: string;
  /** Checks a request that comes from another process. */
  request: z.ZodType<Asked>;
  /** What the admin API takes in its place, if a request may name files of this machine. */
  overHttp?: z.ZodType<Asked>;
  /** The document of the result. */
  result: z.ZodType<Result>;
  /** The document of the result, which `--json` prints and the API answers. Without this function it follows from `result`. */
  document?(result: Result): object;
  /** The exit code of the command that runs the operation. Without this function no command runs it alone, and its document has no `ok`. */
  exitCode?(result: Result): number;
  /**
   * The result in lines for people, for an operation that is a command of its own. Its flags are the members of the request.
   * If the lines need the width or the colours of a terminal, the command has a file in `cli/` that makes them.
   */
  say?(result: Result, asked: Asked): readonly string[];
  /** The examples in the help of that command, and what the help says about it. */
  help?: string;
  /** The message for a result that is null because nothing has the name that the request gives. */
  absent?(asked: Asked): string;
  /** The values of a request that the audit log keeps; all of them without this function. */
  detail?(asked: Asked): object;
  /**
   * @returns a plain JSON value, so that it is the same from this process and from the daemon
   * @throws Fault
   */
  run(asked: Asked, context: Context): Promise<Result>;
}

export type AnyOperation = Operation<unknown, unknown>;
export type FileOperation<Asked, Result> = Operation<Asked, Result, PlatformContext>;

/** Declares an operation, so that the compiler compares its answer with the schema in the documentation. */
export function defineOperation<
  Asked extends z.ZodType,
  Described extends z.ZodType,
  Result extends z.output<Described>,
  Context = OperationContext,
>(
  operation: Omit<Operation<z.output<Asked>, Result, Context>, 'request' | 'result' | 'run'> & {
    request: Asked;
    result: Described;
    run(asked: z.output<Asked>, context: Context): Promise<Result | null>;
  },
): Operation<z.output<Asked>, Result, Context> {
  return operation as unknown as Operation<z.output<Asked>, Result, Context>;
}

/** The document with which commands and the admin API answer. */
export function answerOf<Result>(
  operation: Pick<Operation<unknown, Result>, 'document' | 'exitCode' | 'result'>,
  result: Result,
): unknown {
  const answer = operation.document?.(result) ?? documentOf(operation.result, result);
  const exitCode = operation.exitCode?.(result);
  return exitCode === undefined ? answer : { ok: exitCode === 0, ...(answer as object) };
}
