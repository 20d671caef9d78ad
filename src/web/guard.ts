import type { IncomingHttpHeaders } from 'node:http';
import { isIP } from 'node:net';

/**
 * True when a request names a host that is meant: whoever listens on loopback alone is asked for under a loopback name
 * alone. A foreign name there means that a web page has pointed its own name at this machine (DNS rebinding).
 */
export function isMeantHost(listenHost: string, headers: IncomingHttpHeaders): boolean {
  if (!isLoopback(listenHost)) return true;
  const named = URL.parse(`http://${headers.host ?? ''}`)?.hostname;
  return named !== undefined && isLoopback(named);
}

export function isLoopback(host: string): boolean {
  const plain = host.replace(/^\[(.*)\]$/, '$1').toLowerCase();
  if (plain === 'localhost' || plain === '::1') return true;
  return isIP(plain) === 4 && plain.startsWith('127.');
}

/**
 * True when a browser says that its user's own page sends this request, and not another site's. The session's cookie is
 * `SameSite=Strict`, so this is the second line against forged requests.
 */
export function isOwnPage(headers: IncomingHttpHeaders): boolean {
  const site = headers['sec-fetch-site'];
  if (site !== undefined) return site === 'same-origin';
  // Over plain HTTP browsers leave that header out, but not this one.
  const { origin, host } = headers;
  return origin !== undefined && host !== undefined && URL.parse(origin)?.host === host.toLowerCase();
}

/** Headers of every answer. Styles within elements are what the queues' dashboard is made with; scripts are files alone. */
export const SECURITY_HEADERS = {
  'content-security-policy': [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self' 'unsafe-inline'",
    "img-src 'self' data:",
    "font-src 'self'",
    "connect-src 'self'",
    "base-uri 'self'",
    "form-action 'self'",
    "frame-ancestors 'none'",
  ].join('; '),
  'x-frame-options': 'DENY',
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'permissions-policy': 'camera=(), geolocation=(), microphone=()',
  // Pages show what only who has logged in may see.
  'cache-control': 'no-store',
} as const;
