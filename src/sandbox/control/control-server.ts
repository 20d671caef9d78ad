import { isUtf8 } from 'node:buffer';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { z } from 'zod';
import { Fault, messageOf } from '../../lib/errors.ts';
import { isLoopback } from '../../lib/loopback.ts';
import { type IssuedKey, KeyRequest, type KeyStore, SessionRequest } from '../access/keys.ts';
import { FaultRule, type Faults } from '../faults/faults.ts';
import type { ResourceId } from '../items/collection.ts';
import { Label } from '../items/fields.ts';
import { type ImportOptions, ImportSettings, Lies, RateLimit } from '../settings/settings.ts';
import { type OrganizationStore, PLANS, type Plan } from '../storage/storage.ts';
import type { SandboxSnapshot, SandboxStatistics } from './inspection.ts';

const BODY_BYTES_MAX = 1_048_576;
const REQUEST_TIMEOUT_MS = 15_000;
const CONNECTIONS_MAX = 64;

/**
 * The control endpoint of the sandbox, for tests in other languages and for people. It needs no key. Serves `/faults`
 * (GET shows, PUT replaces, POST appends, DELETE drops), `/stats`, `/inspect`, `/organizations`, `/keys`,
 * `/revocations`, `/tokens`, `/reviews`, `/rate-limit`, `/import` and `/lies`, all in JSON. It only listens on
 * 127.0.0.1, and refuses a request that names another host. Otherwise a web page that has pointed its own name at this
 * machine (DNS rebinding) could use it.
 */
export function createControlServer(parts: ControlParts) {
  const routes = createControlRoutes(parts);

  const answer = async (request: IncomingMessage): Promise<ControlAnswer> => {
    const host = URL.parse(`http://${request.headers.host ?? ''}`)?.hostname ?? '';
    if (!isLoopback(host))
      return problem(403, 'The control endpoint answers only to the names of the loopback address.');
    const path = request.url?.split('?')[0] ?? '';
    const name = `${request.method ?? ''} ${path}`;
    const route = Object.hasOwn(routes, name) ? routes[name] : undefined;
    if (!route) return problem(404, `The control endpoint has no ${request.method ?? ''} ${path.slice(0, 100)}.`);
    const body = await readBody(request);
    if (body === null) return problem(413, 'The body is too large.');
    if (!isUtf8(body)) return problem(400, 'The body is not UTF-8.');
    const text = body.toString();
    // A web page can send this type to another origin only after the browser has asked for permission, and this server
    // never gives it.
    if (text !== '' && mediaTypeOf(request) !== 'application/json') {
      return problem(415, 'The body must be application/json.');
    }
    try {
      return route(text === '' ? undefined : JSON.parse(text));
    } catch (error) {
      if (error instanceof z.ZodError) return problem(400, problemsOf(error));
      if (error instanceof SyntaxError || error instanceof Fault) return problem(400, messageOf(error));
      throw error;
    }
  };

  const timeouts = { requestTimeout: REQUEST_TIMEOUT_MS, headersTimeout: REQUEST_TIMEOUT_MS };
  const server = createServer(timeouts, (request, response) => {
    answer(request).then(
      (result) => send(response, result),
      (error: unknown) => send(response, problem(500, messageOf(error))),
    );
  });
  server.maxConnections = CONNECTIONS_MAX;
  return {
    listen: (port: number): Promise<AddressInfo> =>
      new Promise((resolve, reject) => {
        server.once('error', reject);
        server.listen(port, '127.0.0.1', () => {
          server.off('error', reject);
          resolve(server.address() as AddressInfo);
        });
      }),
    close: (): Promise<void> =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

/** Reads a body; null if it is too large. The rest of such a body is not read. */
async function readBody(request: IncomingMessage): Promise<Buffer | null> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > BODY_BYTES_MAX) return null;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

function mediaTypeOf({ headers }: IncomingMessage): string | undefined {
  return headers['content-type']?.split(';')[0]?.trim().toLowerCase();
}

function send(response: ServerResponse, { status, body }: ControlAnswer): void {
  response.writeHead(status, { 'content-type': 'application/json' });
  response.end(`${JSON.stringify(body, null, 2)}\n`);
}

/** The functions of a sandbox that change and show it, for its process and for the control endpoint. */
export interface Steering {
  /** Creates a random key. Its full value is not stored and cannot be read again. */
  issueKey(request: KeyRequest): IssuedKey;
  /** Makes sure that a key which the caller has chosen is accepted, now and after a restart with the same file. */
  ensureKey(request: KeyRequest & { key: string }): IssuedKey;
  /** Revokes a key; false if there is no such key. */
  revokeKey(id: ResourceId): boolean;
  /** Signs a user in and returns the token for `Authorization: Bearer`, which only the revocation of keys accepts. */
  openSession(request: SessionRequest): string;
  /** Sets the plan of an organisation. Only `enterprise` may use the API; the other plan gets 402. */
  setPlan(organization: string, plan: Plan): void;
  setRateLimit(limit: RateLimit): void;
  /**
   * Replaces the settings of the bulk import; settings that are left out get their defaults. Imports that wait to be
   * stored keep their settings.
   *
   * @throws ZodError when a setting is wrong
   */
  setImport(options: ImportOptions): void;
  /**
   * Replaces the lies. A lie that remembers earlier requests begins again.
   *
   * @throws ZodError when a lie is unknown, or needs storage in memory
   */
  setLies(lies: Lies): void;
  /** Approves a passport, so that it passes the review gate. False if the organisation has no passport for that SKU. */
  approvePassport(organization: string, sku: string): boolean;
  faults: Faults;
  /** Counts of requests and writes, without their contents. After the sandbox is closed, the counts are final. */
  statistics(): SandboxStatistics;
  /** The contents and the counts. Reads all data, so do not call it often. */
  inspect(): SandboxSnapshot;
}

/** The parts of the sandbox that the control endpoint shows and changes. */
export interface ControlParts extends Steering {
  organizations: OrganizationStore;
  keys: KeyStore;
}

interface ControlAnswer {
  status: number;
  body: unknown;
}

/** A route. It gets the body, which is undefined if there was none. */
type ControlRoute = (body: unknown) => ControlAnswer;

const Approval = z.strictObject({ organization: Label, sku: z.string().min(1) });
const Organization = z.strictObject({ name: Label, plan: z.enum(PLANS).default('enterprise') });
const Key = KeyRequest.extend({ key: z.string().optional() });
const Revocation = z.strictObject({ id: z.union([z.int(), z.string()], 'Expected the id of a key.') });

/**
 * The routes by method and path. A route that changes something requires a body. So a web page cannot use it unless the
 * browser has first asked this server for permission.
 *
 * @throws ZodError from a route whose body is wrong, Fault from a route that cannot fulfil the request
 */
export function createControlRoutes(parts: ControlParts): Record<string, ControlRoute> {
  const { faults, organizations, keys } = parts;
  const addAll = (body: unknown): void => {
    for (const rule of parseControl(z.array(FaultRule), Array.isArray(body) ? body : [body])) faults.add(rule);
  };
  const showFaults = (): ControlAnswer => done({ faults: faults.list(), unused: faults.unused() });

  return {
    'GET /faults': showFaults,
    'PUT /faults': (body) => {
      const rules = parseControl(z.array(FaultRule), body);
      faults.clear();
      addAll(rules);
      return showFaults();
    },
    'POST /faults': (body) => {
      addAll(body);
      return showFaults();
    },
    'DELETE /faults': () => {
      faults.clear();
      return showFaults();
    },
    'GET /stats': () => done(parts.statistics()),
    'GET /inspect': () => done(parts.inspect()),
    'POST /reviews': (body) => {
      const { organization, sku } = parseControl(Approval, body);
      return parts.approvePassport(organization, sku) ? done({}) : problem(404, 'There is no such passport.');
    },
    'GET /organizations': () => done({ organizations: organizations.list().map(({ name, plan }) => ({ name, plan })) }),
    'POST /organizations': (body) => {
      const organization = parseControl(Organization, body);
      parts.setPlan(organization.name, organization.plan);
      return done(organization);
    },
    'GET /keys': () => done({ keys: keys.list() }),
    'POST /keys': (body) => {
      const { key, ...request } = parseControl(Key, body);
      return done(key === undefined ? parts.issueKey(request) : parts.ensureKey({ ...request, key }));
    },
    'POST /revocations': (body) => {
      return parts.revokeKey(parseControl(Revocation, body).id) ? done({}) : problem(404, 'There is no such key.');
    },
    'POST /tokens': (body) => done({ token: parts.openSession(parseControl(SessionRequest, body)) }),
    'PUT /rate-limit': (body) => {
      const limit = parseControl(RateLimit, body);
      parts.setRateLimit(limit);
      return done(limit);
    },
    'PUT /import': (body) => {
      const settings = parseControl(ImportSettings, body);
      parts.setImport(settings);
      return done(settings);
    },
    'PUT /lies': (body) => {
      const lies = parseControl(Lies, body);
      parts.setLies(lies);
      return done({ lies });
    },
  };
}

function done(body: unknown): ControlAnswer {
  return { status: 200, body };
}

/** A refusal with a message. */
function problem(status: number, detail: string): ControlAnswer {
  return { status, body: { detail } };
}

/** One answer names at most this many problems. */
const PROBLEMS_MAX = 10;

const TYPES: Readonly<Record<string, string>> = {
  string: 'a text',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  array: 'a list',
  object: 'an object',
};

/** Parses a body of the control endpoint. @throws ZodError with messages for people */
function parseControl<T>(schema: z.ZodType<T>, body: unknown): T {
  return schema.parse(body, { error: wordsOf });
}

/** The problems of a body in one line, each after its place. */
function problemsOf({ issues }: z.ZodError): string {
  const shown = issues.slice(0, PROBLEMS_MAX).map(({ path, message }) => `${placeOf(path)}: ${message}`);
  const more = issues.length - shown.length;
  return `${shown.join(' ')}${more > 0 ? ` And ${more} more.` : ''}`;
}

function placeOf(path: PropertyKey[]): string {
  if (path.length === 0) return 'The body';
  return path
    .map((part, at) => (typeof part === 'number' ? `[${part}]` : `${at > 0 ? '.' : ''}${String(part)}`))
    .join('');
}

/** Makes the message of an issue. With undefined the issue keeps its own message. */
function wordsOf(issue: z.core.$ZodRawIssue): string | undefined {
  if (issue.input === undefined && issue.code !== 'custom') return 'This field is required.';
  switch (issue.code) {
    case 'invalid_type':
      return `Expected ${TYPES[issue.expected] ?? issue.expected}.`;
    case 'invalid_value':
      return `Expected one of ${issue.values.map(String).join(', ')}.`;
    case 'invalid_union':
      return Array.isArray(issue['options']) ? `Expected one of ${issue['options'].join(', ')}.` : undefined;
    case 'unrecognized_keys':
      return `Unknown: ${issue.keys.slice(0, PROBLEMS_MAX).join(', ').slice(0, 200)}.`;
    case 'too_small':
      return `Expected ${issue.inclusive === false ? 'more than' : 'at least'} ${issue.minimum}${unitOf(issue.origin)}.`;
    case 'too_big':
      return `Expected ${issue.inclusive === false ? 'less than' : 'at most'} ${issue.maximum}${unitOf(issue.origin)}.`;
    case 'custom':
    case 'invalid_element':
    case 'invalid_format':
    case 'invalid_key':
    case 'not_multiple_of':
      return undefined;
  }
}

function unitOf(origin: string): string {
  if (origin === 'string') return ' characters';
  return origin === 'array' ? ' elements' : '';
}
