import { timingSafeEqual } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { isIPv6 } from 'node:net';
import type { FastifyRequest } from 'fastify';
import { isLoopback } from '../../lib/loopback.ts';

/**
 * Checks the host that a request names. The config's hosts, the listening host and loopback names are allowed. Another
 * name may mean that a web page has pointed its own name at this machine (DNS rebinding), to use the access that its
 * visitor's browser has. Such a page cannot have a loopback name.
 */
export function createHostCheck(web: {
  host: string;
  allowedHosts: readonly string[];
}): (headers: IncomingHttpHeaders) => boolean {
  const allowed = new Set([web.host, ...web.allowedHosts].map(hostnameOf));
  return ({ host = '' }) => {
    const named = /[/?#@\\]/.test(host) ? undefined : URL.parse(`http://${host}`)?.hostname;
    return named !== undefined && (isLoopback(named) || allowed.has(named));
  };
}

/**
 * A name or address in the form of `URL.hostname`. A text that is not a host is returned unchanged, and no request can
 * name it.
 */
function hostnameOf(host: string): string {
  return URL.parse(`http://${isIPv6(host) ? `[${host}]` : host}`)?.hostname ?? host;
}

/**
 * True if a browser reports that a page of this server sends the request, and not a page of another site. This is a
 * second protection against forged requests, besides the session's cookie, which is `SameSite=Strict`.
 */
export function isOwnPage(headers: IncomingHttpHeaders): boolean {
  const site = headers['sec-fetch-site'];
  if (site !== undefined) return site === 'same-origin';
  // Over plain HTTP browsers do not send `sec-fetch-site`, but they send `origin`.
  const { origin, host } = headers;
  return origin !== undefined && host !== undefined && URL.parse(origin)?.host === host.toLowerCase();
}

const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "form-action 'self'",
  "frame-ancestors 'none'",
];

/** The policy for the board of the queues, whose pages have inline styles and load a font from this server. */
export const BOARD_POLICY = [...POLICY, "style-src 'self' 'unsafe-inline'", "font-src 'self'", "base-uri 'self'"].join(
  '; ',
);

/** Headers of every answer. */
export const SECURITY_HEADERS = {
  'content-security-policy': [...POLICY, "style-src 'self'", "base-uri 'none'"].join('; '),
  'x-frame-options': 'DENY',
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'same-origin',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'permissions-policy': 'camera=(), geolocation=(), microphone=()',
  // Pages show data that only people who have logged in may see.
  'cache-control': 'no-store',
} as const;

/** True for a change that lacks the CSRF token of its session. A program that sends its own token needs none. */
export function isForged({ visit }: FastifyRequest, token: unknown): boolean {
  if (visit?.person.by === 'token') return false;
  const given = Buffer.from(typeof token === 'string' ? token : '');
  const expected = Buffer.from(visit?.session?.csrf ?? '');
  return expected.length === 0 || given.length !== expected.length || !timingSafeEqual(given, expected);
}

export const OLD_FORM = 'This form is older than your login. Go back, load the page again, and send the form again.';
