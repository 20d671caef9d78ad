// What proxies in front of the dashboard say about a request: the address of its client, and the name of its person.

import type { IncomingMessage } from 'node:http';
import { BlockList, isIP, isIPv6 } from 'node:net';
import type { Logger } from '../../lib/logging/logging.ts';
import type { Visitor } from './route.ts';

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
