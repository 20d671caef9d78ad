// The parts of a page or an endpoint of the web server. `routes.ts` lists all routes. The guard, the audit log and the
// tests use this list, so every route has a role.

import type { IncomingHttpHeaders, ServerResponse } from 'node:http';
import { operationContext } from '../../admin/local-admin.ts';
import type { WebRole } from '../../config/sections.ts';
import type { WebContext } from '../../daemon/daemon-servers.ts';
import type { PeopleLedger } from '../../domain/ports/ledger/care-ledger.ts';
import type { Reads } from '../../domain/ports/ledger/reads.ts';
import type { AnyOperation, Operation } from '../../operations/operation.ts';
import type { Html } from '../html.ts';
import type { Tasks } from '../tasks.ts';
import type { KnownFields } from './fields.ts';

export type Role = WebRole;

/** The data of a request that identify its sender. */
export interface Visitor {
  headers: IncomingHttpHeaders;
  /** The address from which the request came. */
  ip: string;
  /** The text in the header with which a trusted proxy names the person; null without it. It may be no name at all. */
  named: string | null;
}

/** Who has sent a request. */
export interface Person {
  /** The user's name, or `token`. */
  name: string;
  role: Role;
  /** How the person is known. A person with the token in a header needs no CSRF token. */
  by: 'session' | 'token' | 'proxy';
}

/** The result of a form, shown once on the next page. */
export interface Notice {
  text: string;
  tone: 'good' | 'bad' | 'warn';
}

export interface WebRequest {
  params: Record<string, string>;
  query: URLSearchParams;
  /** The fields of a form; empty for a GET. */
  form: URLSearchParams;
  /** The parsed body of a request with `application/json`; undefined if there is none. */
  json: unknown;
  /** An uploaded file of a multipart form, bounded in size; null if there is none. */
  file: { name: string; bytes: Uint8Array } | null;
  person: Person;
  /** The token in the field `csrf` of each form; `csrfField(request)` renders the field. */
  csrf: string;
  headers: IncomingHttpHeaders;
  /** From where the request came, and with what; behind a trusted proxy it has what the proxy reports. */
  visitor: Visitor;
  /** Aborted when the connection or the server is closed. */
  abort: AbortSignal;
}

export type WebAnswer =
  | {
      type: 'page';
      status?: number;
      title: string;
      body: Html;
      /** The path of the menu's entry that is marked, such as `/items`. */
      at: string;
      headers?: Record<string, string>;
    }
  /**
   * The answer to a form: the page to open, and the notice to show there. The notice is shown once. `session`: the
   * session that begins, or null if it ends.
   */
  | { type: 'redirect'; to: string; notice?: Notice; session?: string | null }
  | { type: 'download'; name: string; contentType: string; chunks: AsyncIterable<Uint8Array | string> }
  | { type: 'json'; status?: number; value: unknown; contentType?: string; headers?: Record<string, string> }
  | { type: 'text'; contentType: string; text: string }
  /** Server-sent events, which `open` writes after the headers. */
  | { type: 'events'; open(response: ServerResponse): void };

export interface Route {
  method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /** The path, with parameters such as `/items/:kind/:key`. */
  path: string;
  /** `open`: no login is needed. */
  role: Role | 'open';
  /** True for a route that also answers while the ledger is lost. Other routes then report the reason. */
  withoutLedger?: true;
  /** The name of the action in the audit log, such as `replay.start`. A GET has none. */
  action?: string;
  /** What the action is about, for the audit log. Only for a request that does not name it. */
  subject?: (request: WebRequest) => Promise<object>;
  /**
   * The fields of the address, or of the form of a POST. Other fields are refused. Leave it out for a route that neither
   * lists anything nor acts on everything that a filter selects: such a route ignores unknown fields.
   */
  fields?: KnownFields;
  /** The highest number of bytes of the body. The default is 64 KiB. */
  bodyBytesMax?: number;
  handle(request: WebRequest): Promise<WebAnswer>;
}

/** A route that only reads. */
export function get(path: string, role: Route['role'], handle: Route['handle'], more: Partial<Route> = {}): Route {
  return { method: 'GET', path, role, ...more, handle };
}

/** A route that does something, with the name of its action in the audit log. */
export function post(
  path: string,
  role: Role,
  action: string,
  handle: Route['handle'],
  more: Partial<Route> = {},
): Route {
  return { method: 'POST', path, role, action, ...more, handle };
}

/** The route of a form that runs an operation, with the role of the operation. */
export function form(
  path: string,
  { role, action, name }: Pick<AnyOperation, 'role' | 'action' | 'name'>,
  handle: Route['handle'],
  more: Partial<Route> = {},
): Route {
  return { method: 'POST', path, role, action: action ?? name, ...more, handle };
}

/** Starts an operation for a person, and answers with its page. */
export async function startTask<Asked, Result>(
  tasks: Tasks,
  operation: Operation<Asked, Result>,
  asked: Asked,
  { person, title }: { person: Person; title: string },
): Promise<WebAnswer> {
  const { id } = await tasks.start(operation, asked, { who: person.name, via: 'web', title });
  return { type: 'redirect', to: `/tasks/${id}` };
}

/** The parts of the daemon that routes use. */
export interface PageContext extends WebContext {
  /** The reader of the ledger, in another thread. */
  reads: Reads;
  /** The work that people have started. */
  tasks: Tasks;
  /** Stores notes, values of lookup tables, and the audit log. */
  people: PeopleLedger;
}

/** What an operation gets if a person uses it in the dashboard or by the admin API. */
export function forOperation(context: PageContext, { person, abort }: { person: Person; abort: AbortSignal }) {
  const { runtime, clock } = context;
  return operationContext({ runtime, clock, abort, who: person.name, goesOn: true, daemon: context });
}
