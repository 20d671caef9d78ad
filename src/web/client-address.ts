import type { IncomingHttpHeaders } from 'node:http';
import { BlockList, isIP, isIPv6 } from 'node:net';

/** A request, as far as it shows from where it came. */
interface Sent {
  headers: IncomingHttpHeaders;
  socket: { remoteAddress?: string | undefined };
}

/**
 * Finds the address from which a request came. `X-Forwarded-For` is read from the right, because each proxy appends the
 * address that it has seen, and the client may have written anything to the left of it. So an address is only believed
 * if a trusted proxy has appended it.
 *
 * @param trustedProxies addresses, and ranges such as `10.0.0.0/8`
 */
export function createClientAddress(trustedProxies: readonly string[]): (request: Sent) => string {
  const trusted = new BlockList();
  for (const one of trustedProxies) {
    const [address = '', bits] = one.split('/');
    const family = isIPv6(address) ? 'ipv6' : 'ipv4';
    if (bits === undefined) trusted.addAddress(address, family);
    else trusted.addSubnet(address, Number(bits), family);
  }
  return ({ headers, socket }) => {
    let address = addressIn(socket.remoteAddress ?? '') ?? '';
    const hops = String(headers['x-forwarded-for'] ?? '').split(',');
    while (address !== '' && trusted.check(address, isIPv6(address) ? 'ipv6' : 'ipv4')) {
      const before = addressIn(hops.pop() ?? '');
      if (before === null) break;
      address = before;
    }
    return address;
  };
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
