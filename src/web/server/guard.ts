import type { IncomingMessage } from 'node:http';
import { BlockList, isIP, isIPv6 } from 'node:net';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Logger } from '../../lib/logging/logging.ts';
import type { Access, Stranger } from '../access.ts';
import { BOARD_PATH } from '../board.ts';
import type { BoundedServers, WrongTokens } from '../limits.ts';
import type { FaultAnswer } from '../web-fault.ts';
import { type Answers, mayDo, wantsPage } from './answers.ts';
import { DRAFT_BYTES_MAX } from './drafts.ts';
import { BOARD_POLICY, isOwnPage, SECURITY_HEADERS } from './forged-requests.ts';
import type { Role, Visitor } from './route.ts';

interface Guard {
  isMeantHost(headers: FastifyRequest['headers']): boolean;
  visitorOf(request: FastifyRequest['raw']): Visitor;
  access: Access;
  servers: BoundedServers;
  wrongTokens: WrongTokens;
  answers: Answers;
}

/**
 * Refuses requests before their bodies are read. The refusal ends the connection, because the rest of the body is not
 * needed. Only a short form of a person whose login is over is read, so that it is kept through the login.
 */
export function addGuard(app: FastifyInstance, guard: Guard): void {
  const { access, servers, wrongTokens, answers } = guard;
  app.decorateRequest('visit', null);
  app.decorateRequest('visitor');

  const refuse = (
    request: FastifyRequest,
    reply: FastifyReply,
    status: number,
    message: string,
    link?: FaultAnswer['link'],
  ) =>
    answers.sendFault(request, reply.header('connection', 'close'), request.visit, {
      status,
      code: 'request',
      message,
      suggestion: null,
      ...(link === undefined ? {} : { link }),
    });

  app.addHook('onRequest', async (request, reply) => {
    const { headers, method } = request;
    const visitor = guard.visitorOf(request.raw);
    request.visitor = visitor;
    const path = request.url.split('?', 1)[0] ?? '';
    reply.headers(SECURITY_HEADERS);
    if (path === BOARD_PATH || path.startsWith(`${BOARD_PATH}/`)) {
      reply.header('content-security-policy', BOARD_POLICY);
    }
    if (!guard.isMeantHost(headers)) return refuse(request, reply, 421, FOREIGN_HOST);
    const role = roleOf(request);
    const found = access.recognise(visitor);
    if (found.ok) {
      request.visit = { person: found.person, session: found.session };
      servers.trust(request.raw.socket);
    } else if (role !== 'open') {
      if (found.refusal !== undefined) return refuse(request, reply, 403, found.refusal);
      await wrongTokens.note(visitor.ip, found);
      return found.retryAfterMs > 0
        ? refuse(request, retryAfter(reply, found), 429, 'Too many wrong tokens came from this address.')
        : askToLogIn(request, reply);
    }
    const person = request.visit?.person;
    const changes = method !== 'GET' && method !== 'HEAD';
    if (changes && person?.by !== 'token' && !isOwnPage(headers)) {
      return refuse(request, reply, 403, 'This request does not come from a page of this server.');
    }
    if (role !== 'open' && (person === undefined || !mayDo(person, role))) {
      return refuse(request, reply, 403, `Your role does not allow this. You need the role ${role}.`);
    }
    return undefined;
  });

  function askToLogIn(request: FastifyRequest, reply: FastifyReply) {
    const { method, url, headers } = request;
    if (method === 'GET' && wantsPage(request)) {
      return reply.header('connection', 'close').redirect(loginPath(url), 303);
    }
    if (wantsPage(request) && isOwnPage(headers)) {
      // What the person has typed is read, so that it is kept through the login. The form is not carried out.
      if (isShortForm(request)) return undefined;
      const link = { path: loginPath(answers.pageBefore(request) ?? '/'), name: 'Log in' };
      return refuse(request, reply, 401, LOGIN_OVER, link);
    }
    return refuse(
      request,
      reply.header('www-authenticate', 'Bearer realm="dpp-sync"'),
      401,
      'The token is missing or wrong, or there is no login.',
    );
  }
}

/** True for a form that is short enough to be kept through a login. */
function isShortForm({ headers, is404, routeOptions }: FastifyRequest): boolean {
  const isForm = /^application\/x-www-form-urlencoded\b/i.test(headers['content-type'] ?? '');
  const length = Number(headers['content-length'] ?? Number.NaN);
  return isForm && length <= DRAFT_BYTES_MAX && !is404 && routeOptions.config.keepsForm === true;
}

export const LOGIN_OVER =
  'Your login is over: you have logged out, its time has ended, or the daemon was started again. The form was not carried out. Log in, look at it, and send it again: what you have typed is kept.';

/** The page to log in, which then leads to a page of this server. */
function loginPath(next: string): string {
  return `/login?next=${encodeURIComponent(next)}`;
}

const FOREIGN_HOST =
  'The request names a host that this server does not know. To open the dashboard under that name, add the name to web.allowedHosts in the config.';

/** The role for requests outside of the route table, such as those to the board of the queues. */
export const DEFAULT_ROLE: Role = 'operator';

/** Who may send the request. */
function roleOf(request: FastifyRequest): Role | 'open' {
  if (request.is404) return 'viewer';
  return request.routeOptions.config.role ?? DEFAULT_ROLE;
}

function retryAfter(reply: FastifyReply, { retryAfterMs }: Stranger): FastifyReply {
  return reply.header('retry-after', Math.ceil(retryAfterMs / 1000));
}

// What proxies in front of the dashboard say about a request: the address of its client, and the name of its person.

/** A request, as far as it shows from where it came. */
type Sent = Pick<IncomingMessage, 'headers' | 'headersDistinct'> & { socket: { remoteAddress?: string | undefined } };

/**
 * Decides what is believed of the headers with which proxies describe a client.
 *
 * @param web `trustedProxies`: addresses, and ranges such as `10.0.0.0/8`; `userHeader`: null if no proxy names people
 */
export function createProxies(
  { trustedProxies, userHeader }: { trustedProxies: readonly string[]; userHeader: string | null },
  log: Pick<Logger, 'warn'>,
): (request: Sent) => Visitor {
  const isTrusted = createTrust(trustedProxies);
  let hasWarned = false;

  function nameIn({ headersDistinct }: Sent, address: string): string | null {
    // Several headers are several values, so they are no name of a user.
    const named = userHeader === null ? undefined : headersDistinct[userHeader.toLowerCase()]?.join(', ');
    if (named === undefined) return null;
    if (isTrusted(address)) return named;
    if (!hasWarned) {
      hasWarned = true;
      log.warn(
        { address },
        `A request from ${address} has the header ${userHeader}, and this address is not in web.trustedProxies. The header is ignored, now and in later requests. If it is the address of your proxy, add it to web.trustedProxies.`,
      );
    }
    return null;
  }

  return (request) => {
    const peer = addressIn(request.socket.remoteAddress ?? '') ?? '';
    return { headers: request.headers, ip: clientOf(request, peer, isTrusted), named: nameIn(request, peer) };
  };
}

function createTrust(trustedProxies: readonly string[]): (address: string) => boolean {
  const trusted = new BlockList();
  for (const one of trustedProxies) {
    const [address = '', bits] = one.split('/');
    const family = isIPv6(address) ? 'ipv6' : 'ipv4';
    if (bits === undefined) trusted.addAddress(address, family);
    else trusted.addSubnet(address, Number(bits), family);
  }
  return (address) => address !== '' && trusted.check(address, isIPv6(address) ? 'ipv6' : 'ipv4');
}

/**
 * Finds the address from which a request came. `X-Forwarded-For` is read from the right, because each proxy appends the
 * address that it has seen, and the client may have written anything to the left of it. So an address is only believed
 * if a trusted proxy has appended it.
 *
 * @param peer the address of the connection
 */
function clientOf({ headers }: Sent, peer: string, isTrusted: (address: string) => boolean): string {
  let address = peer;
  const hops = String(headers['x-forwarded-for'] ?? '').split(',');
  while (isTrusted(address)) {
    const before = addressIn(hops.pop() ?? '');
    if (before === null) break;
    address = before;
  }
  return address;
}

/**
 * The address in a hop, without a port and a zone, so that one client always has the same text. An IPv4 address within
 * IPv6 becomes plain IPv4. Null if the text is no address.
 */
function addressIn(hop: string): string | null {
  const text = hop.trim();
  const host = /^\[(.*)\](?::\d+)?$/.exec(text)?.[1] ?? /^([\d.]+):\d+$/.exec(text)?.[1] ?? text;
  const address = host.replace(/%.*$/, '').replace(/^::ffff:(?=\d+\.)/i, '');
  return isIP(address) === 0 ? null : address.toLowerCase();
}
