import { z } from 'zod';
import type { PlatformRequests } from '../../delivery/platform-requests.ts';
import { TaskDocument } from '../../operations/documents.ts';
import { OPERATIONS } from '../../operations/list.ts';
import { type AnyOperation, answerOf, type Tag } from '../../operations/operation.ts';
import { forOperation, type PageContext, type Person, type Role, type WebAnswer } from '../server/route.ts';
import type { Task } from '../tasks.ts';
import { notFound } from '../web-fault.ts';

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

export const NOTHING = z.strictObject({});

/**
 * Makes the address of an operation in the admin API. Work answers at once and goes on; every other operation answers with its
 * document.
 */
export function apiOperation(operation: AnyOperation): ApiOperation {
  const { name, kind, summary, request, overHttp = request, result, at = `POST /operations/${name}` } = operation;
  const [method = '', path = ''] = at.split(' ');
  const described = { ...describedAs(operation, path), method: method as ApiOperation['method'] };
  if (kind === 'work') {
    return {
      ...described,
      params: NOTHING,
      body: overHttp,
      answer: { status: 202, schema: TaskDocument },
      async handle({ body, person }, { tasks }) {
        return started(await tasks.start(operation, body, { who: person.name, via: 'api', title: summary }));
      },
    };
  }
  const whole = overHttp as z.ZodObject;
  const named = path.match(/(?<=:)\w+/g) ?? [];
  const mask: Record<string, true> = Object.fromEntries(named.map((one) => [one, true]));
  const rest = whole.omit(mask as object);
  const hasBody = method !== 'GET' && Object.keys(rest.shape).length > 0;
  return {
    ...described,
    ...(kind === 'act' ? { action: operation.action ?? name } : {}),
    params: whole.pick(mask as object),
    query: hasBody ? NOTHING : rest,
    body: hasBody ? rest : null,
    answer: { status: 200, schema: operation.exitCode === undefined ? result : withOk(result) },
    async handle({ params, query, body, person, abort }, context) {
      const asked = Object.assign({}, params, query, body);
      const value = await operation.run(asked, forOperation(context, { person, abort }));
      if (value === null && operation.absent !== undefined) throw notFound(operation.absent(asked));
      const exitCode = operation.exitCode?.(value);
      return { value: exitCode === undefined ? value : { ok: exitCode === 0, ...(value as object) } };
    },
  };
}

function withOk(result: z.ZodType): z.ZodType {
  return (result as z.ZodObject).extend({ ok: z.boolean().describe('True if the command ends with exit code 0.') });
}

/** An operation as the OpenAPI document describes it. */
export function describedAs(
  { name, summary, tag, role }: Pick<AnyOperation, 'name' | 'summary' | 'tag' | 'role'>,
  path: string,
) {
  const id = name.replace(/-(\w)/g, (_, letter: string) => letter.toUpperCase());
  return { method: 'GET' as const, path, id, summary, tag, role, query: NOTHING, body: null };
}

/** A task as the admin API shows it. */
export function shown(task: Task): z.output<typeof TaskDocument> {
  const { id, name, title, who, startedAt, endedAt, progress, outcome: ended } = task;
  // The result of an old task is dropped.
  const operation = OPERATIONS.find((one) => one.name === name);
  const outcome =
    ended?.ok === true && ended.result !== null && operation !== undefined
      ? { ...ended, result: answerOf(operation, ended.result) }
      : ended;
  return { id, name, title, who, startedAt, endedAt, progress: progress === null ? null : { ...progress }, outcome };
}

/** The answer of an operation that has started a task. */
export function started(task: Task) {
  return { status: 202, value: shown(task), headers: { location: `/api/v1/operations/${task.id}` } };
}
