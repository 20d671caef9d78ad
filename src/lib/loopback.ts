import { isIPv4 } from 'node:net';

/** True for the names and addresses of this machine itself, in the form of `URL.hostname`. */
export function isLoopback(hostname: string): boolean {
  if (hostname === 'localhost' || hostname === '[::1]' || hostname === '::1') return true;
  return isIPv4(hostname) && hostname.startsWith('127.');
}
