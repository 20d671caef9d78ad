import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Fault } from '../../lib/errors.ts';
import { isJsonObject } from '../../lib/json.ts';
import { type AuditParts, audited, outcomeOfStatus } from '../audited.ts';
import { badRequest, WebFault } from '../web-fault.ts';
import type { Answers, Visit } from './answers.ts';
import { type Draft, draftOf } from './drafts.ts';
import { refuseUnknownFields } from './fields.ts';
import { isForged, OLD_FORM } from './forged-requests.ts';
import type { Person, Role, Route, Visitor, WebAnswer, WebRequest } from './route.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Who may send requests to the route. Without it only operators may. */
    role?: Role | 'open';
    fields?: readonly string[] | undefined;
    /** True for a form that is kept through a login. Its handler then gets requests of strangers, and carries none out. */
    keepsForm?: boolean;
  }
  interface FastifyRequest {
    /** Set by the guard; null for a stranger. */
    visit: Visit | null;
    /** Set by the guard. */
    visitor: Visitor;
  }
}

export const BODY_BYTES_MAX = 64 * 1024;
/** The person that open routes get for a stranger. */
const STRANGER: Person = { name: '', role: 'viewer', by: 'token' };

export interface RouteParts extends AuditParts {
  answers: Answers;
  /** The page to log in, for a person whose form was not carried out. */
  askToLogIn(next: string, draft: Draft | null): WebAnswer;
  /** Why the ledger cannot be used any more; null while it can. */
  ledgerLost: () => Fault | null;
}

/**
 * Serves the routes. The guard has already decided who may send requests to each route: a stranger's form comes here only to be kept
 * through the login.
 */
export function addRoutes(app: FastifyInstance, routes: readonly Route[], parts: RouteParts): void {
  app.addContentTypeParser('application/x-www-form-urlencoded', { parseAs: 'string' }, (_request, body, done) => {
    // A larger body is that of a file, which comes in another form.
    if (body.length > BODY_BYTES_MAX) done(new WebFault(413, 'The form is larger than this server accepts.'));
    else done(null, new URLSearchParams(String(body)));
  });
  app.addContentTypeParser('multipart/form-data', { parseAs: 'buffer' }, (_request, body, done) => done(null, body));

  /** Answers a form of a page whose login is over. What the person has typed is shown again after the next login. */
  function notCarriedOut(request: FastifyRequest, reply: FastifyReply, { form }: WebRequest) {
    const page = parts.answers.pageBefore(request);
    const draft = draftOf(page, request.url, form);
    const session = request.visit?.session ?? null;
    if (request.visit === null) return parts.answers.send(request, reply, null, parts.askToLogIn(page ?? '/', draft));
    if (session === null || draft === null) throw new WebFault(403, OLD_FORM);
    session.draft = draft;
    return parts.answers.send(request, reply, request.visit, { type: 'redirect', to: draft.page });
  }

  for (const route of routes) {
    app.route({
      method: route.method,
      url: route.path,
      bodyLimit: route.bodyBytesMax ?? BODY_BYTES_MAX,
      config: { role: route.role, fields: route.fields?.names, keepsForm: !route.path.startsWith('/api/') },
      handler: async (request, reply) => {
        const lost = route.withoutLedger === true ? null : parts.ledgerLost();
        if (lost !== null) throw lost;
        const asked = await webRequest(request, reply);
        const isOpen = route.method === 'GET' || route.role === 'open';
        const token = request.headers['x-csrf-token'] ?? asked.form.get('csrf');
        if (!isOpen && isForged(request, token)) return notCarriedOut(request, reply, asked);
        if (route.fields !== undefined) refuseUnknownFields(route.method, asked, route.fields);
        const answer = route.method === 'GET' ? await route.handle(asked) : await carriedOut(route, asked, parts);
        return parts.answers.send(request, reply, request.visit, answer);
      },
    });
  }
}

async function webRequest(request: FastifyRequest, reply: FastifyReply): Promise<WebRequest> {
  const { visit, visitor, headers, body } = request;
  const abort = new AbortController();
  reply.raw.once('close', () => abort.abort());
  const type = headers['content-type'] ?? '';
  const { form, file } = await formOf(body, type);
  return {
    params: request.params as Record<string, string>,
    query: new URLSearchParams(request.url.split('?').slice(1).join('?')),
    form,
    file,
    json: /^application\/json\b/i.test(type) ? body : undefined,
    person: visit?.person ?? STRANGER,
    csrf: visit?.session?.csrf ?? '',
    headers,
    visitor,
    abort: abort.signal,
  };
}

async function formOf(body: unknown, type: string): Promise<FormBody> {
  if (body instanceof URLSearchParams) return { form: body, file: null };
  if (Buffer.isBuffer(body)) return readMultipart(body, type);
  return { form: new URLSearchParams(), file: null };
}

async function carriedOut(route: Route, asked: WebRequest, parts: RouteParts): Promise<WebAnswer> {
  const { action } = route;
  if (action === undefined || route.role === 'open') return route.handle(asked);
  const { person, params, form, json, file } = asked;
  const upload = file === null ? {} : { file: `${file.name}, ${file.bytes.length} bytes` };
  const subject = await route.subject?.(asked);
  const request = { ...fieldsOf(form), ...(isJsonObject(json) ? json : {}), ...params, ...subject, ...upload };
  const via = route.path.startsWith('/api/') ? 'api' : 'web';
  const work = () => route.handle(asked);
  return await audited({ who: person.name, via, action, request }, parts, { work, outcomeOf });
}

function outcomeOf(answer: WebAnswer): string {
  if (answer.type === 'redirect' && answer.notice !== undefined) return answer.notice.text;
  return outcomeOfStatus('status' in answer ? (answer.status ?? 200) : 200);
}

/** The fields of a form, with a list for a field that comes several times. One pass, because the client chooses the names. */
function fieldsOf(form: URLSearchParams): Record<string, string[] | string> {
  const fields = Map.groupBy(form, ([name]) => name);
  return Object.fromEntries(
    [...fields].map(([name, pairs]) => [
      name,
      pairs.length === 1 ? (pairs[0]?.[1] ?? '') : pairs.map(([, value]) => value),
    ]),
  );
}

/** The fields and the file of a form. */
export interface FormBody {
  form: URLSearchParams;
  file: { name: string; bytes: Uint8Array } | null;
}

const PARTS_MAX = 200;

/** Reads a form with a file. The server has already bounded the size of the body. */
export async function readMultipart(body: Buffer, contentType: string): Promise<FormBody> {
  const boundary = boundaryOf(contentType);
  assertFewParts(body, boundary);
  const read = await parsed(body, boundary);
  const form = new URLSearchParams();
  let file: FormBody['file'] = null;
  for (const [name, value] of read) {
    if (typeof value === 'string') form.append(name, value);
    else if (value.name !== '')
      file = { name: plainName(value.name), bytes: new Uint8Array(await value.arrayBuffer()) };
  }
  return { form, file };
}

/** The text that separates the parts. Its characters need no escapes, so that it is read in one way only. */
function boundaryOf(contentType: string): string {
  const [, quoted, plain] =
    /;\s*boundary=(?:"([\w'()+,./:=? -]{1,70})"|([\w'()+.-]{1,70}))\s*(?:;|$)/i.exec(contentType) ?? [];
  const boundary = quoted ?? plain;
  if (boundary === undefined) throw unreadable();
  return boundary;
}

/** Counts the delimiters of the parts, because parsing many small parts would occupy the thread for seconds. */
function assertFewParts(body: Buffer, boundary: string): void {
  const delimiter = `--${boundary}`;
  let at = body.indexOf(delimiter);
  // The last delimiter ends the form.
  for (let count = 0; at !== -1; count += 1) {
    if (count > PARTS_MAX) throw badRequest('The form has too many fields.');
    at = body.indexOf(delimiter, at + delimiter.length);
  }
}

async function parsed(body: Buffer, boundary: string): Promise<FormData> {
  try {
    // The header is replaced, so that the parser looks for the delimiters that were counted.
    const headers = { 'content-type': `multipart/form-data; boundary="${boundary}"` };
    return await new Response(new Uint8Array(body), { headers }).formData();
  } catch (error) {
    if (error instanceof TypeError) throw unreadable();
    throw error;
  }
}

function unreadable(): Error {
  return badRequest('The form cannot be read. Send it again.');
}

/** The last part of a path, without characters that are invisible or refer to other folders. */
function plainName(name: string): string {
  const last = name.split(/[/\\]/).at(-1) ?? '';
  return last.replace(/[\p{Cc}\p{Cf}]/gu, '').slice(0, 200);
}
