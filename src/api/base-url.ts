import { fault } from '../domain/faults.ts';
import { isLoopback } from '../lib/loopback.ts';

/** The address of the API: one origin, and the path above all endpoints. */
export interface BaseUrl {
  /** Scheme, host and port. */
  origin: string;
  /** The path without a trailing slash; empty if the API is at the root. */
  prefix: string;
}

/**
 * Reads the base URL. Every request has the key in a header, so only https is accepted, except for an address of this
 * machine.
 *
 * @throws Fault `config.invalid`
 */
export function parseBaseUrl(text: string): BaseUrl {
  const url = URL.parse(text);
  if (url === null) throw invalid('target.baseUrl is not a URL.');
  if (url.username !== '' || url.password !== '') {
    throw invalid('target.baseUrl carries a user name or password; the API key belongs in target.apiKey.');
  }
  if (url.search !== '' || url.hash !== '') throw invalid('target.baseUrl has a query or fragment.');
  const secure = url.protocol === 'https:' || (url.protocol === 'http:' && isLoopback(url.hostname));
  if (!secure) throw invalid(`target.baseUrl uses ${url.protocol}//, which would send the API key unprotected.`);
  return { origin: url.origin, prefix: url.pathname.replace(/\/+$/, '') };
}

function invalid(message: string) {
  return fault('config.invalid', message, {
    path: 'target.baseUrl',
    suggestion: 'Give the address of the API as https://host; http:// is accepted on loopback only.',
  });
}
