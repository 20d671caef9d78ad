import type { z } from 'zod';
import type { PlatformRequests } from '../../delivery/platform-requests.ts';
import type { PageContext, Person, Role, WebAnswer } from '../server/route.ts';
import type { Task } from '../tasks.ts';
import type { Operation } from './schemas.ts';

/** The parts of the daemon that operations of the admin API use. */
export interface ApiContext extends PageContext {
  /** Requests to the platform that need no ledger. */
  platform: PlatformRequests;
}

/** A checked request. */
export interface ApiRequest<Params, Query, Body> {
  params: Params;
  query: Query;
  body: Body;
  person: Person;
  abort: AbortSignal;
}

/** The answer of an operation: a JSON document with its schema, or a file. */
export type ApiAnswer<Value> =
  | { value: Value; status?: number; headers?: Record<string, string> }
  | { file: WebAnswer };

export interface ApiOperation {
  method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /** The path under `/api/v1`, with parameters such as `/items/:kind/:key`. */
  path: string;
  /** The OpenAPI `operationId`. */
  id: string;
  summary: string;
  tag: Tag;
  role: Role;
  /**
   * The entry for the audit log. Leave it out for an operation that starts a task, because the task writes its own
   * entry.
   */
  action?: string;
  params: z.ZodObject;
  query: z.ZodObject;
  /** Null if the operation takes no body. */
  body: z.ZodType | null;
  /** The status of success with its schema, or the content type of a file. */
  answer: { status: number; schema: z.ZodType } | { status: number; contentType: string };
  handle(request: ApiRequest<unknown, unknown, unknown>, context: ApiContext): Promise<ApiAnswer<unknown>>;
}

export const TAGS = ['ledger', 'attention', 'work', 'platform', 'daemon'] as const;
export type Tag = (typeof TAGS)[number];

/** Declares an operation, so that the compiler compares its answer with the schema in the documentation. */
export function defineOperation<
  Params extends z.ZodObject,
  Query extends z.ZodObject,
  Body extends z.ZodType | null,
  Answer extends z.ZodType,
>(
  operation: Omit<ApiOperation, 'params' | 'query' | 'body' | 'answer' | 'handle'> & {
    params: Params;
    query: Query;
    body: Body;
    answer: { status: number; schema: Answer };
    handle(
      request: ApiRequest<z.output<Params>, z.output<Query>, Body extends z.ZodType ? z.output<Body> : undefined>,
      context: ApiContext,
    ): Promise<ApiAnswer<z.output<Answer>>>;
  },
): ApiOperation {
  return operation as ApiOperation;
}

/** A task as the admin API shows it. */
export function shown(task: Task): z.output<typeof Operation> {
  const { id, name, title, who, startedAt, endedAt, progress, outcome } = task;
  return { id, name, title, who, startedAt, endedAt, progress: progress === null ? null : { ...progress }, outcome };
}

/** The answer of an operation that has started a task. */
export function started(task: Task) {
  return { status: 202, value: shown(task), headers: { location: `/api/v1/operations/${task.id}` } };
}
