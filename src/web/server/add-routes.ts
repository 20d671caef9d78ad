import { timingSafeEqual } from 'node:crypto';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { detailOf } from '../../admin/audit/detail.ts';
import type { PeopleLedger } from '../../domain/ports/ledger/people-ledger.ts';
import type { Fault } from '../../lib/errors.ts';
import type { Logger } from '../../lib/logging/logging.ts';
import type { SecretStore } from '../../lib/logging/secrets.ts';
import { type CurrentAction, withAction } from '../audit/current-action.ts';
import type { Answers, Visit } from './answers.ts';
import { answerOf } from './fault-status.ts';
import { refuseUnknownFields } from './known-fields.ts';
import { type FormBody, readMultipart } from './read-form.ts';
import type { Person, Role, Route, WebAnswer, WebRequest } from './route.ts';
import { WebFault } from './web-fault.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Who may send requests to the route. Without it only operators may. */
    role?: Role | 'open';
    fields?: readonly string[] | undefined;
  }
  interface FastifyRequest {
    /** Set by the guard; null for a stranger. */
    visit: Visit | null;
    /** Set by the guard: the address from which the request came. */
    client: string;
  }
}

export const BODY_BYTES_MAX = 64 * 1024;
/** The person that open routes get for a stranger. */
const STRANGER: Person = { name: '', role: 'viewer', by: 'token' };

export interface RouteParts {
  answers: Answers;
  people: Pick<PeopleLedger, 'beginAction' | 'endAction'>;
  log: Logger;
  secrets: SecretStore;
  /** Why the ledger cannot be used any more; null while it can. */
  ledgerLost: () => Fault | null;
}

/** Serves the routes. The guard has already decided who may send requests to each route. */
export function addRoutes(app: FastifyInstance, routes: readonly Route[], parts: RouteParts): void {
  app.addContentTypeParser('application/x-www-form-urlencoded', { parseAs: 'string' }, (_request, body, done) =>
    done(null, new URLSearchParams(String(body))),
  );
  app.addContentTypeParser('multipart/form-data', { parseAs: 'buffer' }, (_request, body, done) => done(null, body));
  for (const route of routes) {
    app.route({
      method: route.method,
      url: route.path,
      bodyLimit: route.bodyBytesMax ?? BODY_BYTES_MAX,
      config: { role: route.role, fields: route.fields?.names },
      handler: async (request, reply) => {
        const lost = route.withoutLedger === true ? null : parts.ledgerLost();
        if (lost !== null) throw lost;
        const asked = await webRequest(request, reply);
        if (isForged(request, route, asked)) throw new WebFault(403, OLD_FORM);
        if (route.fields !== undefined) refuseUnknownFields(route.method, asked, route.fields);
        const answer = route.method === 'GET' ? await route.handle(asked) : await audited(route, asked, parts);
        return parts.answers.send(request, reply, request.visit, answer);
      },
    });
  }
}

const OLD_FORM = 'This form is older than your login. Go back, load the page again, and send the form again.';

async function webRequest(request: FastifyRequest, reply: FastifyReply): Promise<WebRequest> {
  const { visit, client, headers, body } = request;
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
    ip: client,
    abort: abort.signal,
  };
}

async function formOf(body: unknown, type: string): Promise<FormBody> {
  if (body instanceof URLSearchParams) return { form: body, file: null };
  if (Buffer.isBuffer(body)) return readMultipart(body, type);
  return { form: new URLSearchParams(), file: null };
}

/** True for a request that changes something and lacks the CSRF token of its session. */
function isForged({ visit, headers }: FastifyRequest, { method, role }: Route, { form, csrf }: WebRequest): boolean {
  if (method === 'GET' || role === 'open' || visit?.person.by === 'token') return false;
  const given = Buffer.from(String(headers['x-csrf-token'] ?? form.get('csrf') ?? ''));
  const expected = Buffer.from(csrf);
  return expected.length === 0 || given.length !== expected.length || !timingSafeEqual(given, expected);
}

/** Writes the action to the audit log before it begins, and its result afterwards. */
async function audited(route: Route, request: WebRequest, { people, log, secrets }: RouteParts): Promise<WebAnswer> {
  const { action } = route;
  if (action === undefined || route.role === 'open') return route.handle(request);
  const { person, params, form, json, file } = request;
  const upload = file === null ? {} : { file: `${file.name}, ${file.bytes.length} bytes` };
  const id = await people.beginAction({
    who: person.name,
    via: route.path.startsWith('/api/') ? 'api' : 'web',
    action,
    detail: detailOf({ ...fieldsOf(form), ...(isObject(json) ? json : {}), ...params, ...upload }, secrets),
  });
  const entry: CurrentAction = { id, taken: false };
  const end = async (outcome: string) => {
    try {
      if (!entry.taken) await people.endAction(id, secrets.scrub(outcome));
    } catch (error) {
      log.warn({ err: error, action }, 'The end of an action could not be written to the audit log.');
    }
  };
  try {
    const answer = await withAction(entry, () => route.handle(request));
    await end(outcomeOf(answer));
    return answer;
  } catch (error) {
    await end(`Failed: ${answerOf(error).message ?? 'the log has the reason.'}`);
    throw error;
  }
}

function outcomeOf(answer: WebAnswer): string {
  if (answer.type === 'redirect' && answer.notice !== undefined) return answer.notice.text;
  const status = 'status' in answer ? (answer.status ?? 200) : 200;
  return status >= 400 ? `Refused with status ${status}.` : 'Done.';
}

function fieldsOf(form: URLSearchParams): Record<string, string[] | string> {
  return Object.fromEntries(
    [...new Set(form.keys())].map((name) => {
      const values = form.getAll(name);
      return [name, values.length === 1 ? (values[0] ?? '') : values];
    }),
  );
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
